// The executor's implementation of the interfaces in pass/evaluator.h.
#ifndef TENON_EXECUTOR_EVALUATOR_H_
#define TENON_EXECUTOR_EVALUATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/thread_pool.h"
#include "pass/evaluator.h"

namespace tenon {

// Runs the reference kernels of `registry` on one thread, so that results do not depend on the
// machine. Thread-safe. Returns ResourceExhausted for an operation of more than 2^36 steps or if
// there is no memory; other errors as for Evaluator.
class ReferenceEvaluator : public Evaluator {
 public:
  // `registry` must not be null.
  explicit ReferenceEvaluator(std::shared_ptr<const kernels::KernelRegistry> registry)
      : registry_(std::move(registry)) {}
  absl::StatusOr<std::vector<Attribute>> Evaluate(
      const Operation& op, std::span<const Attribute> operands,
      const std::function<std::optional<int64_t>(std::string_view)>& symbols = {}) override;

 private:
  std::shared_ptr<const kernels::KernelRegistry> registry_;
};

// Answers from the kernels of `registry`. Thread-safe.
class KernelTarget : public TargetQuery {
 public:
  // `registry` must not be null.
  explicit KernelTarget(std::shared_ptr<const kernels::KernelRegistry> registry)
      : registry_(std::move(registry)) {}
  std::string WhyNoKernel(const Operation& op) const override;

 private:
  std::shared_ptr<const kernels::KernelRegistry> registry_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_EVALUATOR_H_
