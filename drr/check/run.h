// Evaluating a function of an instance, with all values in between.
#ifndef TENON_DRR_CHECK_RUN_H_
#define TENON_DRR_CHECK_RUN_H_

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/check/instance.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// One evaluated op.
struct RunStep {
  const Operation* op = nullptr;
  std::vector<Attribute> operands, results;
};

// One evaluation.
struct Run {
  std::vector<Attribute> results;  // the values that the function returns
  std::vector<RunStep> computed;   // in order of the ops, without constants
  std::vector<Attribute> constants;
  // Marks the entries of `computed` that follow from constants alone.
  std::vector<bool> is_constant;
};

// The elements of a tensor constant, which it must not outlive: faster for many than those of
// Attribute.
class ElementReader {
 public:
  explicit ElementReader(Attribute elements)
      : dtype_(elements.type().dtype()),
        first_(elements.raw_bytes().data()),
        step_(elements.is_splat() ? 0 : SizeOf(dtype_)) {}
  // Element `i`, which must be there.
  double operator[](int64_t i) const {
    const std::byte* at = first_ + static_cast<size_t>(i) * step_;
    if (dtype_ != DType::kF32) return LoadAsDouble(dtype_, at);
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

 private:
  DType dtype_;
  const std::byte* first_;
  size_t step_;
};

// Returns `numbers` as the argument number `argument` of `function`, in its type. ArgumentsOf
// returns all arguments of an instance.
Attribute ArgumentOf(Operation* function, size_t argument, const Numbers& numbers);
std::vector<Attribute> ArgumentsOf(const Instance& instance);

// Returns the number of the type that is next to `value`.
double Rounded(DType dtype, double value);

// Returns the number as text; every NaN is "nan".
std::string NumberText(double value);
// Returns one comment line per argument, to be printed before a program.
std::string InputsText(const std::vector<Attribute>& arguments);

// Evaluates `function` with `evaluator`. Returns the first error of the evaluator.
absl::StatusOr<Run> Evaluate(Operation* function, const std::vector<Attribute>& arguments,
                             Evaluator& evaluator);

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_RUN_H_
