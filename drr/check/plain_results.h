// Results of a program on plain numbers, and how near those of a rewritten one must be.
#ifndef TENON_DRR_CHECK_PLAIN_RESULTS_H_
#define TENON_DRR_CHECK_PLAIN_RESULTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/check/instance.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// What a program returns, element by element.
struct PlainResults {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<DimExpr>> shapes;
  int64_t operations = 0;  // of the program, each of which rounds
};

// The distance from 1 to the next number of a float type.
double EpsilonOf(DType dtype);

// Runs the instance with its arguments.
absl::StatusOr<PlainResults> EvaluatePlain(const Instance& instance, Evaluator& evaluator);

// The largest finite number among the arguments.
double LargestArgument(const Instance& instance);

// Empty if `result` is as near to `real` as the law wants, given how far `source` is.
// `argument`: the largest number that goes in; what is tiny against it may be lost to cancellation.
// If the source has more than 16 operations, more is allowed in proportion: that it is near itself
// may be luck.
std::string ComparePlain(const PlainResults& real, const PlainResults& source,
                         const PlainResults& result, double argument, DType dtype,
                         bool has_attributes);

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_PLAIN_RESULTS_H_
