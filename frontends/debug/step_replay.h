// Making one kind of step again, on other programs.
#ifndef TENON_FRONTENDS_DEBUG_STEP_REPLAY_H_
#define TENON_FRONTENDS_DEBUG_STEP_REPLAY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "pass/rewrite_step.h"
#include "transforms/rules/rule_cache.h"

namespace tenon {

// True if no float of the tensors is infinite or NaN. Programs that overflow say little: an
// optimized one may give numbers there.
bool AreFinite(const std::vector<Tensor>& tensors);

// Applies one rule, folds, or one pass by itself, and tells whether that changes results.
class StepReplay {
 public:
  // `pass` is the entry of the pipeline that made the step, as PassBegins gives it. `model` gives
  // context and extension, and must outlive the replay.
  StepReplay(const Model& model, const OptimizeOptions& optimize, const CompileOptions& compile,
             RewriteStep::Kind kind, std::string name, std::string pass);

  // Makes the step in a copy of `module`, everywhere. Null if there is nothing to change.
  OwnedOp Apply(const Operation& module);

  using Comparison = CompareTensors;  // of results of numbers
  // Sample inputs for which the step changes a result.
  struct Example {
    std::string text;       // what differs, and the first elements of the inputs
    size_t result = 0;      // the result that differs
    Difference difference;  // how it does
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;  // before the step
  };
  // Runs the program before and after the step on sample inputs. Nullopt if no result differs, if
  // the step changes nothing, or if one of the two cannot be run.
  std::optional<Example> FindExample(const Operation& module, const Comparison& compare);

 private:
  absl::StatusOr<Program> MakeProgram(OwnedOp module) const;

  const Model& model_;
  const OptimizeOptions& optimize_;
  CompileOptions compile_;
  const RewriteStep::Kind kind_;
  const std::string name_, pass_;
  std::shared_ptr<RuleCache> cache_;
};

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_STEP_REPLAY_H_
