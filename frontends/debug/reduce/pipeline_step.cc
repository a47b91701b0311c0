// Passes that make a program smaller, such as those that apply rules.
#include <functional>
#include <set>

#include "frontends/debug/reduce/step.h"
#include "ir/base/check.h"
#include "ir/core/clone.h"
#include "pass/pass_manager.h"
#include "pass/rewrite_step.h"

namespace tenon::reduce {
namespace {

// A place is a step of the passes (pass/rewrite_step.h) for which nothing was done before.
class RunPipeline : public Step {
 public:
  RunPipeline(const PassRegistry& registry, std::string pipeline)
      : registry_(registry), pipeline_(std::move(pipeline)) {}

  size_t Count(ProgramEdit& edit) const override {
    const OwnedOp copy(Clone(edit.module()));
    size_t count = 0;
    const absl::Status ran = Run(*copy, [&](const RewriteStep&) {
      ++count;
      return false;
    });
    return ran.ok() ? count : 0;
  }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    size_t number = 0;
    bool changed = false;
    const absl::Status ran = Run(edit.module(), [&](const RewriteStep&) {
      const size_t at = number++;
      const bool make = at >= first && at - first < count;
      changed |= make;
      return make;
    });
    return ran.ok() && changed;
  }

  absl::Status Run(Operation& module, std::function<bool(const RewriteStep&)> allow) const {
    PassManager manager(registry_);
    TENON_RETURN_IF_ERROR(manager.AddPipeline(pipeline_));
    PassContext context;
    context.allow_rewrite = std::move(allow);
    return manager.Run(&module, context).status();
  }

 private:
  const PassRegistry& registry_;
  const std::string pipeline_;
};

}  // namespace

absl::Status AddPipelineStep(const PassRegistry& registry, const std::string& pipeline,
                             const Operation& module, Steps& steps) {
  auto step = std::make_unique<RunPipeline>(registry, pipeline);
  // Wrong files of rules are found when the pass runs.
  const OwnedOp copy(Clone(module));
  TENON_RETURN_IF_ERROR(step->Run(*copy, [](const RewriteStep&) { return false; }));
  steps.push_back(std::move(step));
  return absl::OkStatus();
}

}  // namespace tenon::reduce
