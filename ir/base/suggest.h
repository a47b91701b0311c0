// Suggestions for misspelled names.
#ifndef TENON_IR_BASE_SUGGEST_H_
#define TENON_IR_BASE_SUGGEST_H_

#include <span>
#include <string>
#include <string_view>

namespace tenon {

// Returns the candidate nearest to `name` by edit distance: the first of equally near ones, empty
// if none is near. The result points into `candidates`.
std::string_view Nearest(std::string_view name, std::span<const std::string> candidates);
// Returns "; did you mean 'x'?", or an empty string.
std::string DidYouMean(std::string_view name, std::span<const std::string> candidates);
// The same for an op: one of the same name in another dialect is the nearest, and `relu` is the
// name of `ten.relu`.
std::string DidYouMeanOp(std::string_view name, std::span<const std::string> candidates);

}  // namespace tenon

#endif  // TENON_IR_BASE_SUGGEST_H_
