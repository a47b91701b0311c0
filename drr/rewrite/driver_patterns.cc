// Patterns in C++, as the driver tries them.
#include "drr/rewrite/driver_impl.h"
#include "fmt/format.h"
#include "pass/rewrite_pattern.h"
#include "pass/rule_log.h"

namespace tenon::drr {

absl::StatusOr<bool> Driver::TryPattern(const RewritePattern& pattern, Operation* op) {
  RewriteStep step{.name = pattern.name(), .op = op};
  step.ops = {&op, 1};
  if (!AskForStep(context_, step)) return false;
  const Location location = op->location();
  Rewriter rewriter(op->context(), this);
  rewriter.SetInsertionPointBefore(op);
  created_.clear();
  std::string node;
  if (context_.rule_log != nullptr) node = DescribeLocation(op->context(), location);
  pattern_step_ = &step;
  const absl::StatusOr<bool> rewritten = pattern.Rewrite(op, rewriter);
  const bool changed = pattern_step_ == nullptr;
  pattern_step_ = nullptr;
  if (changed) EndStep(context_);
  if (!rewritten.ok()) return rewritten.status();
  if (*rewritten != changed) {
    const std::string message =
        fmt::format("pattern '{}' {}", pattern.name(),
                    changed ? "has changed the program and returned false (expected true)"
                            : "has returned true and told the rewriter of no change");
    if (options_.emit) EmitError(top_->context(), location, message).IgnoreError();
    return absl::FailedPreconditionError(message);
  }
  if (!changed) return false;
  if (context_.rule_log != nullptr) {
    RuleHit hit{pattern.name(), {}, {}};
    if (!node.empty()) hit.nodes.push_back(node);
    for (const Operation* made : created_) {
      if (!erased_.contains(made)) hit.made.push_back(DescribeOp(made));
    }
    context_.rule_log->hits.push_back(std::move(hit));
  }
  CountRewrite(pattern.name());
  return true;
}

absl::StatusOr<bool> Driver::TryPatterns(Operation* op, Patterns& patterns, int above) {
  while (!patterns.empty() && patterns.front()->benefit() > above) {
    const RewritePattern& pattern = *patterns.front();
    patterns = patterns.subspan(1);
    if (context_.disabled_rules.contains(pattern.name())) continue;
    TENON_ASSIGN_OR_RETURN(const bool changed, TryPattern(pattern, op));
    if (changed) return true;
  }
  return false;
}

void Driver::CountRewrite(const std::string& name) {
  ++result_.rewrites;
  if (context_.rule_counts != nullptr) ++(*context_.rule_counts)[name];
  if (context_.statistics != nullptr) context_.statistics->Add("rewrites");
  --fuel_;
  if (fuel_ < allowance_ / 2) ++recent_[name];
}

absl::StatusOr<DriverResult> ApplyPatterns(const PatternSet& patterns, Operation* top,
                                           PassContext& context, DriverOptions options) {
  const CompiledRules none = CompiledRules::OnDemand(
      std::make_shared<const RuleList>(std::vector<Rule>()), top->context());
  options.patterns = &patterns;
  return Driver(none, top, context, options).Run();
}

}  // namespace tenon::drr
