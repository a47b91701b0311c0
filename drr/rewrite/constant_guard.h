// Guard against constants that their type cannot hold.
#ifndef TENON_DRR_REWRITE_CONSTANT_GUARD_H_
#define TENON_DRR_REWRITE_CONSTANT_GUARD_H_

#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "ir/core/constants/number_range.h"
#include "ir/core/operation.h"
#include "pass/evaluator.h"

namespace tenon::drr {

// Checks the operations that one application of a rule creates. Float arithmetic on constants alone
// gives another constant of the program. The rule must not fire if an element of it is infinite or
// NaN while the elements it is made of are finite. The same holds if it is subnormal while they are
// zero or normal, and if a product or quotient underflows to zero. Without an evaluator only the
// numbers of Splat are checked.
//
// One guard serves many applications: what follows from constants is worked out once. So its owner
// tells it of every change of the program.
class ConstantGuard {
 public:
  // `evaluator` may be null.
  explicit ConstantGuard(Evaluator* evaluator) : evaluator_(evaluator) {}

  // Returns what is wrong with the result of `op`, an operation that the rule creates; empty if
  // nothing is.
  std::string Check(const Operation& op);

  // `op` is about to be erased, with what is inside it.
  void Erasing(const Operation* op);
  // Users of `was` are about to read `now`.
  void Replaced(Value was, Value now);
  // `op` has got other operands or attributes.
  void Modified(const Operation* op);

 private:
  using Operands = absl::InlinedVector<Attribute, 4>;

  // True if no kernel computes `op`, or if it does not follow from constants alone.
  bool Varies(const Operation& op);
  bool Varies(Value value);
  // The elements that `op`, which does not vary, has. Null if no kernel computes them.
  Attribute ValueOf(const Operation& op);
  bool OperandsOf(const Operation& op, Operands& operands);
  void Forget();
  Attribute Compute(const Operation& op, const Operands& operands);
  Attribute WithExpectedZeros(const Operation& op, const Operands& operands);
  static bool IsHarmlessProduct(const Operation& op, const Operands& operands);

  Evaluator* evaluator_;
  absl::flat_hash_map<const Operation*, bool> varies_;       // constants themselves are left out
  absl::flat_hash_map<const Operation*, Attribute> values_;  // of those that do not vary
};

// Returns "infinite or NaN" or "subnormal" if `result`, which `op` computes of constants, has such
// an element, and none of those that it is made of is one. Null if there is none. An operation that
// is not elementwise makes each element of all elements of its operands. `result` and `operands`
// are elements; operands that are not floats count as finite and normal.
const char* WhyNotMadeOfSuch(const Operation& op, std::span<const Attribute> operands,
                             Attribute result);

// Returns what is wrong with `number`, which a rule computes for a constant or attribute of
// `dtype`; empty if nothing is. `read` has the numbers of the program that it is made of. If one of
// those is infinite, NaN or subnormal in `dtype`, `number` may be, too.
std::string WhyNotHeld(DType dtype, double number, const std::vector<double>& read);

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_CONSTANT_GUARD_H_
