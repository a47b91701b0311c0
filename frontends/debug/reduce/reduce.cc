#include "frontends/debug/reduce/reduce.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "frontends/debug/reduce/step.h"
#include "ir/base/check.h"
#include "ir/core/clone.h"
#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"

namespace tenon {
namespace {

using reduce::ProgramEdit;
using reduce::ProgramSize;
using reduce::Step;
using reduce::Steps;

class Reducer {
 public:
  Reducer(const Operation& module, const ReducePredicate& holds, const ReduceOptions& options)
      : current_(Clone(module)),
        size_(reduce::MeasureProgram(*current_)),
        holds_(holds),
        options_(options) {}

  void Run(const Steps& steps) {
    for (bool changed = true; changed && !ended_;) {
      changed = false;
      for (const std::unique_ptr<Step>& step : steps) changed |= Repeat(*step);
    }
  }
  OwnedOp Take() { return std::move(current_); }
  int64_t tries() const { return tries_; }
  bool ended() const { return ended_; }

 private:
  // All places of a step, in parts that get smaller.
  bool Repeat(const Step& step) {
    bool changed = false;
    const size_t all = Count(step);
    if (all == 0) return false;
    for (size_t part = step.in_groups() ? all : 1; part > 0; part /= 2) {
      for (size_t first = 0, count = Count(step); first < count && !ended_;) {
        if (!Try(step, first, std::min(part, count - first))) {
          first += part;
          continue;
        }
        // Here again: other places have the numbers of those that are gone.
        changed = true;
        count = Count(step);
      }
    }
    return changed;
  }

  size_t Count(const Step& step) {
    ProgramEdit edit(*current_);
    return step.Count(edit);
  }

  // Changes a copy. Keeps it if it is a smaller program and the predicate holds.
  bool Try(const Step& step, size_t first, size_t count) {
    OwnedOp copy(Clone(*current_));
    const ScopedDiagnosticHandler quiet(copy->context(), nullptr);
    ProgramEdit edit(*copy);
    if (!step.Change(edit, first, count)) return false;
    edit.Finish();
    const ProgramSize size = reduce::MeasureProgram(*copy);
    if (size >= size_ || !Verify(copy.get()).ok()) return false;
    if (tries_ >= options_.most_tries) {
      ended_ = true;
      return false;
    }
    ++tries_;
    if (!holds_(*copy)) return false;
    current_ = std::move(copy);
    size_ = size;
    if (options_.on_smaller) options_.on_smaller(*current_, tries_ + 1);
    return true;
  }

  OwnedOp current_;
  ProgramSize size_;
  const ReducePredicate& holds_;
  const ReduceOptions& options_;
  int64_t tries_ = 0;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<OwnedOp> Reduce(const Operation& module, const ReducePredicate& holds,
                               const ReduceOptions& options, ReduceReport* report) {
  Steps steps;
  reduce::AddSymbolSteps(steps);
  reduce::AddControlSteps(steps);
  reduce::AddOperationSteps(steps);
  reduce::AddOperandSteps(steps);
  reduce::AddAttributeSteps(steps);
  if (options.shrink_dims) reduce::AddDimSteps(steps);
  for (const std::string& pipeline : options.pipelines) {
    TENON_CHECK_MSG(options.registry != nullptr, "pipelines need a registry of passes");
    TENON_RETURN_IF_ERROR(reduce::AddPipelineStep(*options.registry, pipeline, module, steps));
  }
  if (!holds(module)) {
    return absl::InvalidArgumentError(
        "the program does not show what is looked for (expected one for which the predicate "
        "holds)");
  }
  Reducer reducer(module, holds, options);
  reducer.Run(steps);
  OwnedOp small = reducer.Take();
  if (report != nullptr) {
    *report = {.tries = reducer.tries() + 1,
               .ops_before = reduce::NumComputingOps(module),
               .ops_after = reduce::NumComputingOps(*small),
               .complete = !reducer.ended()};
  }
  return small;
}

}  // namespace tenon
