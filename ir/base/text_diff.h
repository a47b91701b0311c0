// Differences of texts.
#ifndef TENON_IR_BASE_TEXT_DIFF_H_
#define TENON_IR_BASE_TEXT_DIFF_H_

#include <string>
#include <string_view>

namespace tenon {

// Returns the lines that differ in unified format, as `diff -u` and `patch` know it, with `around`
// equal lines before and behind. Empty if the texts are equal. `before_name` and `after_name` stand
// in the head. A last line without its new line counts as one with it.
//
// The result is short, not shortest: the time is linear in the lines, times 512 at most.
std::string UnifiedDiff(std::string_view before, std::string_view after,
                        std::string_view before_name, std::string_view after_name,
                        size_t around = 3);

}  // namespace tenon

#endif  // TENON_IR_BASE_TEXT_DIFF_H_
