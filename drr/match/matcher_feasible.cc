// What rules out a part of the source graph at a value, whatever the rest of the match is. Attempts
// that take long ask before they choose: what is below a choice is then looked at once, and not
// once for each way to reach it.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"

namespace tenon::drr {

bool Matcher::Feasible(const Edge& edge, Value value) {
  const std::pair<uint32_t, const ValueImpl*> key = {
      uint32_t{edge.node} << 16 | uint32_t{edge.result}, value.impl()};
  if (const auto it = feasible_.find(key); it != feasible_.end()) return it->second;
  --steps_;
  const bool feasible = FeasibleAnew(edge, value);
  feasible_.emplace(key, feasible);
  return feasible;
}

bool Matcher::FeasibleAnew(const Edge& edge, Value value) {
  const Node& node = rule_->nodes[edge.node];
  if (!Likely(edge, value)) return false;
  switch (node.kind) {
    case ValNode::Kind::kOp:
      if (!FeasibleOp(node, value.defining_op())) return false;
      break;
    case ValNode::Kind::kLet:
    case ValNode::Kind::kAnyOf:
      if (std::none_of(node.alternatives.begin(), node.alternatives.end(),
                       [&](const Edge& alternative) { return Feasible(alternative, value); }))
        return false;
      break;
    case ValNode::Kind::kVariable:
    case ValNode::Kind::kSplat:
    case ValNode::Kind::kEach:
      break;
  }
  // Conditions that ask for nothing else.
  BoundArg arg;
  arg.value = value;
  const std::span<const BoundArg> args(&arg, 1);
  return std::all_of(node.conditions.begin(), node.conditions.end(), [&](uint16_t index) {
    const ConditionCode& condition = rule_->conditions[index];
    return condition.args.size() != 1 || condition.args[0].edge.result != edge.result ||
           Holds(*condition.source, args);
  });
}

bool Matcher::FeasibleOp(const Node& node, Operation* op) {
  for (const AttrCode& code : node.attrs) {
    if (code.kind == AttrCode::Kind::kLiteral && op->slot(code.slot) != code.literal) return false;
  }
  return AllFeasible(node, op, false) || (node.commutative && AllFeasible(node, op, true));
}

bool Matcher::AllFeasible(const Node& node, Operation* op, bool swapped) {
  for (size_t g = 0; g < node.operands.size(); ++g) {
    const std::vector<Edge>& pattern = node.operands[swapped && g < 2 ? 1 - g : g];
    const auto [first, size] = op->operand_group(static_cast<unsigned>(g));
    if (node.info->def().operands[g].arity == Arity::kVariadic) {
      const bool any_number = std::any_of(pattern.begin(), pattern.end(),
                                          [&](const Edge& edge) { return rule_->IsList(edge); });
      if (any_number) continue;
      if (size != pattern.size()) return false;
    } else if (pattern.empty() || size == 0) {
      if (size != 0 || (!pattern.empty() && !pattern[0].maybe)) return false;
      continue;
    }
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (!Feasible(pattern[i], op->operand(first + static_cast<unsigned>(i)))) return false;
    }
  }
  return true;
}

std::string Matcher::ExhaustedText() const {
  return fmt::format(
      "rule '{}' ({}) is not decided here in {} steps: its source graph fits the program in too "
      "many ways (commutative operands, alternatives and uses multiply)",
      rule_->rule->name(), rule_->rule->place(), kMostSteps);
}

}  // namespace tenon::drr
