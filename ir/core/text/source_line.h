// Showing the place of a message in its text.
#ifndef TENON_IR_CORE_TEXT_SOURCE_LINE_H_
#define TENON_IR_CORE_TEXT_SOURCE_LINE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"

namespace tenon {

// Returns `line` and below it a line with "^" under byte `column`, which counts from 0. Of a long
// line it keeps what is near. Escapes as ShownName does; a tab becomes a space.
std::string SourceLine(std::string_view line, size_t column);

// Sets Diagnostic::source of `diagnostic` and its notes where they have none and their location is
// in `file`, whose contents are `text`.
void AddSourceLines(const Context& context, std::string_view file, std::string_view text,
                    Diagnostic& diagnostic);

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_SOURCE_LINE_H_
