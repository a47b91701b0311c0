// The numbers that a rule computes: every one must be a number that its type holds.
#ifndef TENON_DRR_CONSTANT_GUARD_H_
#define TENON_DRR_CONSTANT_GUARD_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/core/number_range.h"
#include "ir/core/operation.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// Looks at the operations that one application of a rule makes. Where such an operation does
// arithmetic on floats that are all constants, its result is a constant of the program too. The
// rule must not fire in three cases. The result is infinite or NaN, and the constants that it is
// made of are finite. It is subnormal, and they are zero or normal. Or a product or quotient is
// too small for the type, and becomes zero.
// Without an evaluator nothing is known of such results: only the numbers of Splat are checked.
class ConstantGuard {
 public:
  // `evaluator` may be null.
  explicit ConstantGuard(Evaluator* evaluator) : evaluator_(evaluator) {}

  // What is wrong with what `op` computes; empty if nothing is. `op` is one that the rule makes.
  std::string Check(const Operation& op);

 private:
  struct Known {
    const Operation* op;
    Attribute value;
  };
  using Operands = absl::InlinedVector<Attribute, 4>;

  // The elements of a value that follows from constants alone; null of others, and where no kernel
  // computes them.
  Attribute ValueOf(Value value);
  bool OperandsOf(const Operation& op, Operands& operands);
  Attribute Compute(const Operation& op, const Operands& operands);
  Attribute WithExpectedZeros(const Operation& op, const Operands& operands);
  static bool IsHarmlessProduct(const Operation& op, const Operands& operands);

  Evaluator* evaluator_;
  std::vector<Known> known_;
};

// Says what is wrong with a number that a rule computes for a constant or an attribute of `dtype`.
// The text is empty if nothing is wrong. `read` are the numbers of the program that it is made of:
// where one of them is infinite, NaN or subnormal in `dtype`, so may the number be.
std::string WhyNotHeld(DType dtype, double number, const std::vector<double>& read);

}  // namespace tenon::drr

#endif  // TENON_DRR_CONSTANT_GUARD_H_
