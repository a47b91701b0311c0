// "Did you mean …?" for misspelt names.
#ifndef TENON_IR_CORE_SUGGEST_H_
#define TENON_IR_CORE_SUGGEST_H_

#include <span>
#include <string>
#include <string_view>

namespace tenon {

// The candidate nearest to `name` by edit distance if it is near at all; empty otherwise. Of
// equally near ones the first.
std::string_view Nearest(std::string_view name, std::span<const std::string> candidates);
// "; did you mean 'x'?", or nothing.
std::string DidYouMean(std::string_view name, std::span<const std::string> candidates);

}  // namespace tenon

#endif  // TENON_IR_CORE_SUGGEST_H_
