// Text from files and models as people see it: in messages, tables and JSON.
#ifndef TENON_IR_CORE_SHOWN_TEXT_H_
#define TENON_IR_CORE_SHOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "ir/core/limits.h"

namespace tenon {

// Longest name in a message, in bytes.
inline constexpr size_t kLongestShownName = 256;

// Escapes what could change a terminal or the order of its text, as `\1B` for each byte: control
// characters but new lines and tabs, marks of direction, characters without width, bytes that are
// no UTF-8. Other text stays as it is.
std::string ShownText(std::string_view text);

// The same for a message, with an ellipsis in each line that has more than `most` bytes.
std::string ShownMessage(std::string_view message, size_t most = kMaxMessage);

// The same for one name or token: new lines and tabs are escaped too, and a name longer than
// kLongestShownName has an ellipsis in its middle.
std::string ShownName(std::string_view name);

// A JSON string with its quotes, in ASCII. A byte that is no UTF-8 becomes U+FFFD.
std::string JsonQuoted(std::string_view text);

}  // namespace tenon

#endif  // TENON_IR_CORE_SHOWN_TEXT_H_
