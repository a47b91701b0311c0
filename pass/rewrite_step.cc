#include "pass/rewrite_step.h"

#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "ir/core/location.h"
#include "ir/core/verify/symbol_table.h"

namespace tenon {

std::string StepText(const RewriteStep& step) {
  const Operation& op = *step.op;
  if (step.kind == RewriteStep::Kind::kPass) {
    const std::string_view symbol = SymbolName(op);
    return fmt::format("pass {} on {}", step.name,
                       symbol.empty() ? std::string(op.name()) : "@" + ShownName(symbol));
  }
  const std::string node = DescribeLocation(op.context(), op.location());
  return fmt::format("{} of {}{}", step.name, op.name(),
                     node.empty() ? std::string() : " at " + ShownName(node));
}

void RewriteObservers::Add(RewriteObserver* observer) {
  if (observer != nullptr) all_.push_back(observer);
}
void RewriteObservers::PassBegins(std::string_view text, Operation* op) {
  for (RewriteObserver* one : all_) one->PassBegins(text, op);
}
void RewriteObservers::PassEnds(Operation* op, bool changed) {
  for (RewriteObserver* one : all_) one->PassEnds(op, changed);
}
void RewriteObservers::StepBegins(const RewriteStep& step) {
  for (RewriteObserver* one : all_) one->StepBegins(step);
}
void RewriteObservers::Created(Operation* op) {
  for (RewriteObserver* one : all_) one->Created(op);
}
void RewriteObservers::Erasing(Operation* op) {
  for (RewriteObserver* one : all_) one->Erasing(op);
}
void RewriteObservers::Replaced(Value was, Value now) {
  for (RewriteObserver* one : all_) one->Replaced(was, now);
}
void RewriteObservers::StepEnds() {
  for (RewriteObserver* one : all_) one->StepEnds();
}

bool AskForStep(PassContext& context, RewriteStep& step) {
  step.number = context.steps + 1;
  return !context.allow_rewrite || context.allow_rewrite(step);
}

void StartStep(PassContext& context, const RewriteStep& step) {
  ++context.steps;
  if (context.observer != nullptr) context.observer->StepBegins(step);
}

bool BeginStep(PassContext& context, RewriteStep step) {
  step.number = ++context.steps;
  Operation* const alone = const_cast<Operation*>(step.op);
  if (step.ops.empty()) step.ops = {&alone, 1};
  if (context.allow_rewrite && !context.allow_rewrite(step)) return false;
  if (context.observer != nullptr) context.observer->StepBegins(step);
  return true;
}

}  // namespace tenon
