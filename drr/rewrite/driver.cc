#include "drr/rewrite/driver.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drr/match/matcher.h"
#include "drr/rewrite/rewriter.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/diagnostic.h"
#include "pass/rewrite_step.h"
#include "pass/rule_log.h"

namespace tenon::drr {
namespace {

// Operations to visit, first in first out, each at most once at a time.
class Worklist {
 public:
  void Push(Operation* op) {
    if (position_.emplace(op, ops_.size()).second) ops_.push_back(op);
  }
  void Remove(Operation* op) {
    auto it = position_.find(op);
    if (it == position_.end()) return;
    ops_[it->second] = nullptr;
    position_.erase(it);
  }
  Operation* Pop() {
    while (next_ < ops_.size()) {
      Operation* op = ops_[next_++];
      if (op == nullptr) continue;
      position_.erase(op);
      return op;
    }
    ops_.clear();
    next_ = 0;
    return nullptr;
  }

 private:
  std::vector<Operation*> ops_;
  size_t next_ = 0;
  absl::flat_hash_map<Operation*, size_t> position_;
};

class Driver : public RewriteListener {
 public:
  Driver(const CompiledRules& rules, Operation* top, PassContext& context,
         const DriverOptions& options)
      : rules_(rules), top_(top), context_(context), options_(options), matcher_(top->context()) {
    matcher_.set_fast_math(context.fast_math);
    if (context.disabled_rules.empty()) return;
    for (const Rule& rule : rules.list().rules())
      disabled_.push_back(context.disabled_rules.contains(rule.name()));
  }

  absl::StatusOr<DriverResult> Run();

  void Created(Operation* op) override {
    rules_.list().Note(op->id(), ops_);
    if (context_.rule_log != nullptr) created_.push_back(op);
    if (context_.observer != nullptr) context_.observer->Created(op);
    worklist_.Push(op);
    for (OpOperand& operand : op->operands()) PushDefinition(operand.get());
  }
  void Erasing(Operation* op) override {
    worklist_.Remove(op);
    if (context_.observer != nullptr) context_.observer->Erasing(op);
    // Fewer uses may open a match at the operands, or leave them dead.
    for (OpOperand& operand : op->operands()) PushDefinition(operand.get());
  }
  void Replaced(Value was, Value now) override {
    if (context_.observer != nullptr) context_.observer->Replaced(was, now);
    for (OpOperand& use : was.uses()) worklist_.Push(use.owner());
  }

 private:
  void PushDefinition(Value value) {
    if (Operation* op = value.defining_op()) worklist_.Push(op);
  }
  absl::StatusOr<bool> Visit(Operation* op);
  bool Fold(Operation* op);
  absl::StatusOr<bool> TryRules(Operation* op);
  absl::Status CountSteps(uint16_t rule, Operation* op);
  // Whether someone counts steps: only rewrites that will be made are any.
  bool HasSteps() const { return context_.allow_rewrite || context_.observer != nullptr; }
  std::vector<std::string> MatchedNodes() const;
  absl::Status CycleError() const;
  absl::Status Error(Operation* op, std::string message) const {
    if (options_.emit) return EmitError(op->context(), op->location(), std::move(message));
    return absl::InvalidArgumentError(message);
  }
  absl::Status TooLong(Operation* op, const std::string& message) const {
    const absl::Status status = Error(op, message);
    return absl::ResourceExhaustedError(status.message());
  }

  const CompiledRules& rules_;
  Operation* top_;
  PassContext& context_;
  const DriverOptions& options_;
  Matcher matcher_;
  Worklist worklist_;
  NeededOps ops_;                    // of the rules' needs: what was there at some time
  std::vector<bool> disabled_;       // by rule; empty: none is
  std::vector<Operation*> created_;  // by the rule that is being applied; for the log
  DriverResult result_;
  std::map<std::string, int64_t, std::less<>>
      recent_;                              // rule firings since half of the fuel was used
  std::map<uint16_t, int64_t> steps_left_;  // of matching, by rule; of those that take many
  int64_t fuel_ = 0, allowance_ = 0;
};

bool Driver::Fold(Operation* op) {
  const FoldFn fold = op->info().def().fold;
  if (fold == nullptr || op->num_results() == 0) return false;
  absl::InlinedVector<Attribute, 4> constants;
  for (OpOperand& operand : op->operands()) {
    Operation* def = operand.get().defining_op();
    bool known = def != nullptr && def->Has(Trait::kConstantLike);
    constants.push_back(known ? def->slot(0) : Attribute());
  }
  absl::InlinedVector<FoldResult, 2> results;
  if (!fold(*op, constants, results) || results.size() != op->num_results()) return false;
  const OpInfo* constant = op->context().FindOp("core.constant");
  std::vector<Value> values;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].value) {
      if (results[i].value.type() != op->result(i).type()) return false;
    } else if (constant == nullptr || !results[i].attribute ||
               results[i].attribute.type() != op->result(i).type()) {
      return false;
    }
  }
  if (!BeginStep(context_, {.kind = RewriteStep::Kind::kFold, .name = "fold", .op = op}))
    return false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].value) {
      values.push_back(results[i].value);
      continue;
    }
    Type type = results[i].attribute.type();
    Operation* made =
        Operation::Create(*constant, op->location(), {{type}}, {}, {{results[i].attribute}});
    op->block()->Insert(made, op);
    rules_.list().Note(made->id(), ops_);
    if (context_.observer != nullptr) context_.observer->Created(made);
    values.push_back(made->result());
  }
  for (unsigned i = 0; i < op->num_results(); ++i) Replaced(op->result(i), values[i]);
  op->ReplaceAllUsesWith(values);
  if (IsDead(*op)) {
    Erasing(op);
    op->Erase();
  }
  EndStep(context_);
  return true;
}

std::vector<std::string> Driver::MatchedNodes() const {
  std::vector<std::string> nodes;
  for (const Operation* op : matcher_.matched_ops()) {
    for (std::string& node : DescribeAllLocations(op->context(), op->location())) {
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
        nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

// An attempt may take long, but not all of them.
absl::Status Driver::CountSteps(uint16_t rule, Operation* op) {
  constexpr int64_t kMostInAll = int64_t{1} << 22, kMostEach = int64_t{1} << 12;
  if (matcher_.exhausted()) return TooLong(op, matcher_.ExhaustedText());
  if (matcher_.steps() <= kMostEach) return absl::OkStatus();
  int64_t& left = steps_left_.emplace(rule, kMostInAll).first->second;
  left -= matcher_.steps() - kMostEach;
  if (left >= 0) return absl::OkStatus();
  const Rule& slow = rules_.list().rules()[rule];
  return TooLong(op,
                 fmt::format("rule '{}' ({}) takes too long to match: it took more than {} steps "
                             "(attempts of at most {} steps are not counted)",
                             slow.name(), slow.place(), kMostInAll, kMostEach));
}

absl::StatusOr<bool> Driver::TryRules(Operation* op) {
  const RuleList& list = rules_.list();
  for (uint16_t index : list.RulesAt(op->id())) {
    if (!list.MayMatch(index, ops_) || (!disabled_.empty() && disabled_[index])) continue;
    const absl::StatusOr<const CompiledRule*> rule = rules_.Get(index);
    if (!rule.ok()) {
      return Error(op, std::string(rule.status().message()));
    }
    const std::string& name = (*rule)->rule->name();
    const bool matched = matcher_.Match(**rule, op);
    TENON_RETURN_IF_ERROR(CountSteps(index, op));
    if (!matched) continue;
    const RewriteQueries queries = {context_.target, context_.evaluator};
    if (HasSteps() && !WhyRefused(matcher_, queries).empty()) continue;
    RuleHit hit;
    if (context_.rule_log != nullptr) hit = {name, MatchedNodes(), {}};
    created_.clear();
    const std::string place = (*rule)->rule->place();
    if (!BeginStep(context_,
                   {.name = name, .place = place, .op = op, .ops = matcher_.matched_ops()}))
      continue;
    const bool refused = !Apply(matcher_, queries, *this).empty();
    EndStep(context_);
    if (refused) continue;
    if (context_.rule_log != nullptr) {
      for (const Operation* made : created_) hit.made.push_back(DescribeOp(made));
      context_.rule_log->hits.push_back(std::move(hit));
    }
    ++result_.rewrites;
    if (context_.rule_counts != nullptr) ++(*context_.rule_counts)[name];
    if (context_.statistics != nullptr) context_.statistics->Add("rewrites");
    --fuel_;
    if (fuel_ < allowance_ / 2) ++recent_[name];
    return true;
  }
  return false;
}

absl::StatusOr<bool> Driver::Visit(Operation* op) {
  if (op == top_) return false;
  if (options_.remove_dead && IsDead(*op)) {
    Erasing(op);
    op->Erase();
    if (context_.statistics != nullptr) context_.statistics->Add("dead");
    return true;
  }
  if (options_.fold && Fold(op)) {
    if (context_.statistics != nullptr) context_.statistics->Add("folded");
    --fuel_;
    return true;
  }
  return TryRules(op);
}

absl::Status Driver::CycleError() const {
  std::vector<std::pair<std::string, int64_t>> rules(recent_.begin(), recent_.end());
  std::stable_sort(rules.begin(), rules.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string names;
  for (size_t i = 0; i < rules.size() && i < 5; ++i) {
    names += fmt::format("{}{} ({} times)", i > 0 ? ", " : "", rules[i].first, rules[i].second);
  }
  return Error(top_, fmt::format("rewriting does not end: after {} rewrites these still fire: {}",
                                 result_.rewrites, names.empty() ? "folds" : names));
}

absl::StatusOr<DriverResult> Driver::Run() {
  int64_t ops = 0;
  top_->Walk([&](Operation* op) {
    ++ops;
    rules_.list().Note(op->id(), ops_);
  });
  allowance_ = fuel_ = options_.rewrites_per_op * ops + 256;
  // A rewrite can open matches far from where it happened, so sweeps go on until one changes
  // nothing.
  for (bool changed = true; changed;) {
    changed = false;
    top_->Walk([&](Operation* op) { worklist_.Push(op); });
    while (Operation* op = worklist_.Pop()) {
      TENON_ASSIGN_OR_RETURN(const bool visited, Visit(op));
      if (!visited) continue;
      changed = result_.changed = true;
      if (fuel_ <= 0) return CycleError();
    }
  }
  return result_;
}

}  // namespace

absl::StatusOr<DriverResult> ApplyRules(const CompiledRules& rules, Operation* top,
                                        PassContext& context, const DriverOptions& options) {
  return Driver(rules, top, context, options).Run();
}

}  // namespace tenon::drr
