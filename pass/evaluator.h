// Interfaces through which passes use the execution layer, which they must not include. The
// executor implements them; PassContext hands them in.
#ifndef TENON_PASS_EVALUATOR_H_
#define TENON_PASS_EVALUATOR_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon {

// Runs one op on constants with the reference kernels, so that results do not depend on the
// machine. Thread-safe.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Returns one Elements attribute per result of `op`. `operands` has one Elements attribute per
  // operand. `symbols` gives values of dimension symbols in the attributes of `op`; it may be
  // empty. Unimplemented if no reference kernel supports the op. InvalidArgument if the kernel
  // refuses the values, such as a division by zero.
  virtual absl::StatusOr<std::vector<Attribute>> Evaluate(
      const Operation& op, std::span<const Attribute> operands,
      const std::function<std::optional<int64_t>(std::string_view)>& symbols = {}) = 0;
  // True if what Evaluate does with `op` does not depend on the operations before, such as on a
  // budget. Where passes run in several threads, other operations wait until their turn.
  virtual bool InAnyOrder(const Operation& /*op*/) const { return false; }
};

// Tells whether the target has a kernel for an op. Thread-safe.
class TargetQuery {
 public:
  virtual ~TargetQuery() = default;
  // Returns an empty string if there is a kernel, and the reason otherwise. `op` may be detached.
  virtual std::string WhyNoKernel(const Operation& op) const = 0;
};

}  // namespace tenon

#endif  // TENON_PASS_EVALUATOR_H_
