// Steps: the changes that a run of passes makes, numbered from 1. A run can stop after any of them
// (PassContext::allow_rewrite) and be watched (PassContext::observer).
#ifndef TENON_PASS_REWRITE_STEP_H_
#define TENON_PASS_REWRITE_STEP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/operation.h"
#include "pass/pass.h"

namespace tenon {

// One change that a pass is about to make. Equal runs make equal steps in the same order.
struct RewriteStep {
  // What makes the change.
  enum class Kind : uint8_t {
    kRule,  // an application of a rule or of a pattern (rewrite_pattern.h)
    kFold,  // an op that is replaced by a constant or by an existing value
    kPass,  // all that a pass of PassSteps::kOne does to one op
  };
  Kind kind = Kind::kRule;            // what makes the change
  std::string_view name{};            // of the rule or the pass; "fold" for a fold
  std::string_view place{};           // where the rule is defined: "patterns/layers/norm.cc:12"
  const Operation* op = nullptr;      // the anchor of the match, the folded op, the op of the pass
  std::span<Operation* const> ops{};  // the matched ops, that of the anchor first; else `op` alone
  int64_t number = 0;                 // BeginStep sets it
};

// Returns text such as "gelu-erf of nn.gelu at /layer/Mul" or "pass cse on @main".
std::string StepText(const RewriteStep& step);

// Is told what passes do. Ops are valid during the call.
class RewriteObserver {
 public:
  virtual ~RewriteObserver() = default;
  // A pass begins on `op`; `text` is its entry of the pipeline, such as "fuse{before=packing}".
  virtual void PassBegins(std::string_view /*text*/, Operation* /*op*/) {}
  // That pass is over; `changed` is what it reported.
  virtual void PassEnds(Operation* /*op*/, bool /*changed*/) {}
  // A step is allowed and about to be made.
  virtual void StepBegins(const RewriteStep& /*step*/) {}
  // A step of kRule or kFold has made `op`.
  virtual void Created(Operation* /*op*/) {}
  // `op` is about to be erased: by a step of kRule or kFold, or between two steps, since it has
  // neither uses nor effects.
  virtual void Erasing(Operation* /*op*/) {}
  // A step of kRule or kFold is about to give all uses of `was` to `now`.
  virtual void Replaced(Value /*was*/, Value /*now*/) {}
  // The step is made.
  virtual void StepEnds() {}
};

// Tells several observers, in the order in which they were added.
class RewriteObservers : public RewriteObserver {
 public:
  // Adds an observer, which must outlive this one. Null is ignored.
  void Add(RewriteObserver* observer);
  bool empty() const { return all_.empty(); }  // true if none was added
  // Each of these tells all observers.
  void PassBegins(std::string_view text, Operation* op) override;
  void PassEnds(Operation* op, bool changed) override;
  void StepBegins(const RewriteStep& step) override;
  void Created(Operation* op) override;
  void Erasing(Operation* op) override;
  void Replaced(Value was, Value now) override;
  void StepEnds() override;

 private:
  std::vector<RewriteObserver*> all_;
};

// Asks for leave to make `step`, as the next one, and sets its number. Does not count it.
bool AskForStep(PassContext& context, RewriteStep& step);
// Counts a step for which there is leave, and tells the observer that it begins.
void StartStep(PassContext& context, const RewriteStep& step);
// Counts the step and asks for leave to make it. The caller makes the step if this returns true,
// and then calls EndStep.
bool BeginStep(PassContext& context, RewriteStep step);
// Tells the observer of `context` that the step is made.
inline void EndStep(PassContext& context) {
  if (context.observer != nullptr) context.observer->StepEnds();
}

}  // namespace tenon

#endif  // TENON_PASS_REWRITE_STEP_H_
