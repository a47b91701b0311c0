// The executor's implementation of the interfaces in pass/evaluator.h.
#ifndef TENON_EXECUTOR_EVALUATOR_H_
#define TENON_EXECUTOR_EVALUATOR_H_

#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/threads/thread_pool.h"
#include "pass/evaluator.h"

namespace tenon {

// Runs the reference kernels of `registry` on one thread, so that results do not depend on the
// machine. Thread-safe. Returns ResourceExhausted if there is no memory, or for an operation beyond
// its budget. Of the latter a remark tells, once for each location. Other errors as for Evaluator.
class ReferenceEvaluator : public Evaluator {
 public:
  // Steps of products, einsums and pools. A multiplication with its addition counts 2.
  struct Budget {
    double each = 0x1p30;                                  // of one operation
    double all = std::numeric_limits<double>::infinity();  // of all that the evaluator runs
  };
  static constexpr double kCompilingSteps = 0x1p32;  // Budget::all while a model is compiled
  // `registry` must not be null.
  explicit ReferenceEvaluator(std::shared_ptr<const kernels::KernelRegistry> registry)
      : ReferenceEvaluator(std::move(registry), Budget()) {}
  ReferenceEvaluator(std::shared_ptr<const kernels::KernelRegistry> registry, Budget budget)
      : registry_(std::move(registry)), budget_(budget), total_(budget.all) {}
  absl::StatusOr<std::vector<Attribute>> Evaluate(
      const Operation& op, std::span<const Attribute> operands,
      const std::function<std::optional<int64_t>(std::string_view)>& symbols = {}) override;
  // False for operations whose steps come from the budget.
  bool InAnyOrder(const Operation& op) const override;

 private:
  absl::Status Spend(const Operation& op, double steps);  // takes the steps from the budget

  std::shared_ptr<const kernels::KernelRegistry> registry_;
  std::mutex mutex_;
  Budget budget_;  // what is left; guarded by mutex_
  const double total_;
  std::set<std::string> told_;  // locations; guarded by mutex_
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
