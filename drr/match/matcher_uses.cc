// Uses outside of a match, which forbid that its operations go.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/core/block.h"

namespace tenon::drr {

// Could another way to match have the op in it? Not one that the rule has no such operation for,
// nor, below a single root, one behind it.
bool Matcher::MayBeMatched(const Operation* user) const {
  const bool known = std::any_of(rule_->nodes.begin(), rule_->nodes.end(), [&](const Node& node) {
    return node.in_source && node.kind == ValNode::Kind::kOp && node.info->id() == user->id();
  });
  if (!rule_->coincide.empty() || !known || !rule_->climbs.empty())
    return known || !rule_->coincide.empty();
  const Operation* anchor = matched_[0];
  return user->block() != anchor->block() || user->IsBeforeInBlock(anchor);
}

bool Matcher::UsesInside() {
  for (size_t n = 0; n < rule_->nodes.size(); ++n) {
    const Node& node = rule_->nodes[n];
    if (!node.inner || !bound_[n].bound) continue;
    Operation* op = bound_[n].op;
    if (op->Has(Trait::kConstantLike)) continue;
    // Another node of the pattern may have the same op stay.
    bool stays = false;
    for (size_t m = 0; m < rule_->nodes.size() && !stays; ++m) {
      stays = rule_->nodes[m].kind == ValNode::Kind::kOp && bound_[m].op == op &&
              !rule_->nodes[m].inner && rule_->nodes[m].in_source;
    }
    if (!stays && !UsesInside(static_cast<uint16_t>(n), op)) return false;
  }
  for (size_t i = 0; i < matched_.size(); ++i) {
    const Node& node = rule_->nodes[matched_nodes_[i]];
    if (node.mapped && node.inner && !UsesInside(matched_nodes_[i], matched_[i])) return false;
  }
  return true;
}

uint16_t Matcher::VariableOf(Value value) const {
  for (size_t v = 0; v < rule_->nodes.size(); ++v) {
    const Binding& binding = bound_[v];
    if (!rule_->nodes[v].read || !binding.bound) continue;
    bool is = rule_->nodes[v].kind == ValNode::Kind::kVariable && binding.value == value;
    if (rule_->nodes[v].kind == ValNode::Kind::kEach) {
      for (uint32_t i = 0; i < binding.count && !is; ++i) is = EachItem(binding, i) == value;
    }
    if (is) return static_cast<uint16_t>(v);
  }
  return kNone;
}

bool Matcher::UsesInside(uint16_t n, Operation* op) {
  for (unsigned r = 0; r < op->num_results(); ++r) {
    Value value = op->result(r);
    bool replaced = std::any_of(rule_->roots.begin(), rule_->roots.end(), [&](const Edge& root) {
      return root.rest ? bound_[root.node].op == op && r >= root.result : ValueOf(root) == value;
    });
    if (replaced) continue;
    if (const uint16_t v = VariableOf(value); v != kNone) {
      failed_ = kAllCauses;
      if (!Fail(op, [&] {
            return fmt::format(
                "its result is also '{}', so that it would stay, and the rule would compute it "
                "once more",
                NameOf(Edge{v, 0, false}));
          })) {
        return false;
      }
    }
    for (OpOperand& use : value.uses()) {
      Operation* user = use.owner();
      if (IsMatched(user) || std::find(passed_.begin(), passed_.end(), user) != passed_.end())
        continue;
      failed_ = MayBeMatched(user) || rule_->nodes[n].mapped ? kAllCauses : bound_[n].causes;
      if (!Fail(op, [&] {
            // An op made of several is named after the first of them, its result after the last.
            const std::vector<std::string> nodes = DescribeAllLocations(*context_, op->location());
            const bool several = nodes.size() > 1 && nodes.size() < Location::kMaxFused;
            return fmt::format(
                "its result{} is also used by {} outside the match",
                several ? fmt::format(" (that of {})", nodes.back()) : "",
                user->name() == "func.return" ? "func.return, as an output," : DescribeOp(user));
          })) {
        return false;
      }
      break;
    }
  }
  return true;
}

}  // namespace tenon::drr
