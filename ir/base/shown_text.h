// Text from files and models made safe for messages, tables and JSON.
#ifndef TENON_IR_BASE_SHOWN_TEXT_H_
#define TENON_IR_BASE_SHOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "ir/base/limits.h"

namespace tenon {

// The longest name in a message, in bytes.
inline constexpr size_t kLongestShownName = 256;

// Escapes each byte that could change a terminal or the order of its text, as `\1B`. These are
// control characters except new line and tab, direction marks, characters without width, and bytes
// that are not UTF-8.
std::string ShownText(std::string_view text);

// The same; shortens lines of more than `most` bytes, and words longer than a name but no paths.
std::string ShownMessage(std::string_view message, size_t most = kMaxMessage);

// The same for one name or token: escapes new line and tab, too, and shortens a name longer than
// kLongestShownName in its middle.
std::string ShownName(std::string_view name);

// Returns a JSON string in ASCII, with quotes. A byte that is not UTF-8 becomes U+FFFD.
std::string JsonQuoted(std::string_view text);

}  // namespace tenon

#endif  // TENON_IR_BASE_SHOWN_TEXT_H_
