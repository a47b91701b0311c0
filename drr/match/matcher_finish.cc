// What follows the structural match: further roots, and conditions.
#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/base/guarded_read.h"

namespace tenon::drr {

// True when the match is complete, or when there is a further root to look for.
bool Matcher::Finish() {
  finished_ = false;
  failed_ = kAllCauses;
  const bool whole = tolerance_ == 0 || start_.node == rule_->roots[0].node;
  if (whole && climb_ < rule_->climbs.size()) {
    const Climb& climb = rule_->climbs[climb_];
    if (bound_[climb.user].bound) {
      ++climb_;
      return true;
    }
    Goal goal;
    goal.kind = Goal::Kind::kValue;
    goal.edge = Edge{climb.from, climb.result, false};
    goal.value = ValueOf(goal.edge);
    goal.parent = matched_[0];
    goal.causes = bound_[climb.from].causes;
    if (!goal.value) {
      ++climb_;
      return Fail(matched_[0], [] { return std::string("a value shared by the roots is absent"); });
    }
    Choice choice = Snapshot(Choice::Kind::kUse, climb.from, goal);
    choice.use = goal.value.uses().first;
    return Open(choice);
  }
  finished_ = (tolerance_ > 0 || CountsOfRests()) && SolveDims() && FinishLets() &&
              LateConditions() && (!whole || UsesInside());
  return finished_;
}

// What the value of a condition's argument follows from.
Matcher::Causes Matcher::CausesOf(const ArgCode& arg) const {
  if (arg.edge.node != kNone) return bound_[arg.edge.node].causes;
  return arg.attr != kNone && attrs_[arg.attr].bound ? attrs_[arg.attr].causes : kAllCauses;
}

Matcher::Causes Matcher::CausesOf(const ConditionCode& condition) const {
  Causes causes = 0;
  for (const ArgCode& arg : condition.args) causes |= CausesOf(arg);
  return causes;
}

BoundArg Matcher::ReadArg(const ArgCode& arg, bool& bound) const {
  BoundArg read;
  bound = true;
  if (arg.edge.node != kNone) {
    read.value = ValueOf(arg.edge);
    bound = static_cast<bool>(read.value);
  } else if (arg.attr != kNone) {
    bound = attrs_[arg.attr].bound;
    if (bound) read = attrs_[arg.attr].arg;
  } else {
    std::optional<DimExpr> dim = EvaluateDim(arg.dim);
    bound = dim.has_value();
    if (bound) read.dim = *dim;
  }
  return read;
}

bool Matcher::EarlyConditions(uint16_t node, Operation* op) {
  for (uint16_t index : rule_->nodes[node].conditions) {
    if (CheckCondition(rule_->conditions[index], op)) continue;
    failed_ |= CausesOf(rule_->conditions[index]);
    return false;
  }
  return true;
}

bool Matcher::CheckCondition(const ConditionCode& condition, Operation* op) {
  const Assumption assumption = condition.source->assumption;
  if (fast_math_ && assumption != Assumption::kNone) return true;
  absl::InlinedVector<BoundArg, 6> args;
  for (const ArgCode& arg : condition.args) {
    bool bound;
    args.push_back(ReadArg(arg, bound));
    if (bound) continue;
    if (!condition.source->asks_presence) return true;
    args.back().absent = true;
  }
  const Truth answer = AnswerOf(*condition.source, args);
  if (answer == Truth(true)) return true;
  if (op == nullptr) op = MatchedOpOf(condition);
  if (assumption != Assumption::kNone) {
    const bool goes_on = Fail(op, [&] {
      const std::string proof = condition.source->args.empty()
                                    ? "has no proof that this is harmless"
                                    : "needs a proof that " + condition.source->text;
      return fmt::format("the rule {} and {} (--fast-math applies it without one)",
                         WordsOf(assumption), proof);
    });
    if (goes_on) mismatches_.back().kind = Mismatch::Kind::kUnproven;
    return goes_on;
  }
  return Fail(op, [&] {
    const bool told = condition.source->why != nullptr;
    std::string why = told ? GuardedRead([&] { return condition.source->why(args); }).value_or("")
                           : Particulars(condition);
    // What is not shown to be wrong surprises where a rule negates it.
    if (!answer && condition.source->asks == ConditionNode::Asks::kNot)
      why += why.empty() ? "that is not known" : ", which leaves that open";
    return fmt::format("the rule wants {}{}{}{}", told ? "" : "that ", condition.source->text,
                       why.empty() ? "" : ", and ", why);
  });
}

uint32_t Matcher::ItemsOf(const ConditionCode& condition) const {
  return condition.list == kNone ? 1 : bound_[condition.list].count;
}

bool Matcher::LateConditions() {
  for (const ConditionCode& condition : rule_->conditions) {
    if (!mismatches_.empty()) break;
    if (condition.early || condition.source->kind == ConditionNode::Kind::kShape) continue;
    const uint32_t items = ItemsOf(condition);
    bool holds = true;
    for (item_ = 0; holds && item_ < items; ++item_) holds = CheckCondition(condition, nullptr);
    item_ = 0;
    if (holds) continue;
    failed_ = CausesOf(condition);
    return false;
  }
  return true;
}

}  // namespace tenon::drr
