// What passes may ask of an execution layer they must not include: implemented by the executor and
// handed in through PassContext.
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
  // `operands`: one Elements attribute per operand. `symbols` (may be empty) binds dimension
  // symbols in attributes. One Elements attribute per result. Unimplemented if no reference kernel
  // serves the op; InvalidArgument if the kernel refuses the values (division by zero).
  virtual absl::StatusOr<std::vector<Attribute>> Evaluate(
      const Operation& op, std::span<const Attribute> operands,
      const std::function<std::optional<int64_t>(std::string_view)>& symbols = {}) = 0;
};

// Is there a kernel for an op on the target?
class TargetQuery {
 public:
  virtual ~TargetQuery() = default;
  // Empty if one exists; otherwise why not. `op` may be detached.
  virtual std::string WhyNoKernel(const Operation& op) const = 0;
};

}  // namespace tenon

#endif  // TENON_PASS_EVALUATOR_H_
