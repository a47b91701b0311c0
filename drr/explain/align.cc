// Matching that goes on where something does not fit: which place of the program is nearest to a
// rule, and what would have to change there.
#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "drr/explain/cost_bounds.h"
#include "drr/match/matcher.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

constexpr size_t kMaxViews = 4;  // in between, of one alignment

}  // namespace

// The value is made by another op than the rule wants.
bool Matcher::OtherOp(const Goal& goal, const Node& node, Operation* op) {
  auto wanted = [&] {
    return fmt::format("{} is {}, the rule wants {}", OperandOf(goal), Describe(goal.value),
                       node.info->name());
  };
  if (tolerance_ == 0) return Fail(goal.parent, wanted);
  auto skip = [&] {
    lost_ += Alignment::kLost * sizes_[goal.edge.node];
    const int lost = bounds_ == nullptr ? 0 : bounds_->SurelyLost(goal.edge.node);
    if (!Fail(goal.parent, wanted, Mismatch::Kind::kWrong, lost)) return false;
    mismatches_.back().found = op;
    return true;
  };
  if (op == nullptr || op->num_regions() > 0) return skip();
  if (std::find(passed_.begin(), passed_.end(), op) == passed_.end()) {
    for (OpOperand& operand : op->operands()) {
      if (LikelyBelow(goal.edge, operand.get(), tolerance_ - NumWrong()))
        return PassBetween(goal, op, operand.get());
    }
  }
  // An op in the place of another, when what is below it fits.
  const std::vector<OperandDef>& groups = node.info->def().operands;
  const bool single = std::all_of(groups.begin(), groups.end(), [](const OperandDef& def) {
    return def.arity == Arity::kSingle;
  });
  if (!single || groups.size() != op->num_operands()) return skip();
  bool fits = false;
  for (unsigned i = 0; i < op->num_operands(); ++i) {
    const Edge& edge = node.operands[i][0];
    const ValNode::Kind kind = rule_->nodes[edge.node].kind;
    fits |= kind == ValNode::Kind::kVariable
                ? bound_[edge.node].bound && bound_[edge.node].value == op->operand(i)
                : kind != ValNode::Kind::kSplat && Likely(edge, op->operand(i));
  }
  if (!fits) return skip();
  const bool lost = bounds_ != nullptr && bounds_->SurelyLost(goal.edge.node) > 0;
  if (!Fail(goal.parent, wanted, Mismatch::Kind::kInstead, lost ? 1 : 0)) return false;
  mismatches_.back().found = op;
  lost_ += Alignment::kLost + Alignment::CostOf(Mismatch::Kind::kInstead) - Alignment::CostOf({});
  passed_.push_back(op);
  for (unsigned i = op->num_operands(); i-- > 0;) {
    Goal next;
    next.kind = Goal::Kind::kValue;
    next.edge = node.operands[i][0];
    next.value = op->operand(i);
    next.parent = op;
    Push(next);
  }
  return true;
}

// An op stands in between, and what is below it may be what the rule wants.
bool Matcher::PassBetween(const Goal& goal, Operation* op, Value below) {
  const bool is_view = op->Has(Trait::kView) && views_ < kMaxViews;
  const auto kind = is_view ? Mismatch::Kind::kView : Mismatch::Kind::kBetween;
  const auto stands = [&] {
    return fmt::format("{} stands between {} and {}, where the rule wants nothing", op->name(),
                       DescribeOp(below.defining_op()), DescribeOp(goal.parent));
  };
  if (is_view) {
    if (lost_ + Alignment::CostOf(kind) > best_cost_) return false;
    mismatches_.push_back({op, words_ ? stands() : std::string(), kind, nullptr});
    lost_ += Alignment::CostOf(kind);
    ++views_;
  } else if (!Fail(op, stands, kind)) {
    return false;
  }
  passed_.push_back(op);
  Goal next = goal;
  next.value = below;
  Push(next);
  return true;
}

bool Matcher::LikelyBelow(const Edge& edge, Value value, size_t depth) {
  if (Likely(edge, value)) return true;
  const Operation* op = value.defining_op();
  if (--steps_ <= 0 || op == nullptr || op->num_regions() > 0) return false;
  if (op->Has(Trait::kView)) return LikelyBelow(edge, op->operand(0), depth);
  if (depth <= 1) return false;
  return std::any_of(op->operands().begin(), op->operands().end(), [&](const OpOperand& operand) {
    return LikelyBelow(edge, operand.get(), depth - 1);
  });
}

// Ops of the smallest way through a part of the source graph.
// What is shared counts once for each use, up to a bound. Nodes stand behind their parts.
int Matcher::SmallestSize(const Node& node) const {
  constexpr int kMost = 1 << 20;
  if (node.kind == ValNode::Kind::kAnyOf || node.kind == ValNode::Kind::kLet) {
    int least = -1;
    for (const Edge& alternative : node.alternatives) {
      const int size = sizes_[alternative.node];
      if (least < 0 || size < least) least = size;
    }
    return std::max(least, 0);
  }
  if (node.kind != ValNode::Kind::kOp) return 0;
  int size = 1;
  for (const auto& group : node.operands) {
    for (const Edge& operand : group) {
      if (!operand.maybe) size = std::min(size + sizes_[operand.node], kMost);
    }
  }
  return size;
}

void Matcher::FindReaching(uint16_t to) {
  const auto reaches = [&](const Edge& edge) { return reaching_[edge.node] != 0; };
  reaching_.assign(rule_->nodes.size(), 0);
  for (size_t n = to; n < rule_->nodes.size(); ++n) {
    const Node& node = rule_->nodes[n];
    bool does = n == to || std::any_of(node.alternatives.begin(), node.alternatives.end(), reaches);
    for (const auto& group : node.operands)
      does = does || std::any_of(group.begin(), group.end(), reaches);
    reaching_[n] = does ? 1 : 0;
  }
}

// The first alternative that holds the node where the alignment started; null if none does.
const Edge* Matcher::LeadsToStart(const Node& node) {
  if (reaching_.empty()) FindReaching(start_.node);
  for (const Edge& alternative : node.alternatives) {
    if (reaching_[alternative.node] != 0) return &alternative;
  }
  return nullptr;
}

// Counts the op nodes on the way that was taken, each once.
void Matcher::AddWanted(const Edge& edge, std::vector<char>& seen, Alignment& alignment) {
  const Node& node = rule_->nodes[edge.node];
  if (seen[edge.node] != 0) return;
  seen[edge.node] = 1;
  if (node.kind == ValNode::Kind::kAnyOf) {
    const int taken = bound_[edge.node].alternative;
    if (taken >= 0) {
      AddWanted(node.alternatives[static_cast<size_t>(taken)], seen, alignment);
    } else if (const Edge* through = LeadsToStart(node)) {
      AddWanted(*through, seen, alignment);
    } else {
      alignment.wanted_ops += sizes_[edge.node];
    }
    return;
  }
  if (node.kind == ValNode::Kind::kLet) return AddWanted(node.alternatives[0], seen, alignment);
  if (node.kind != ValNode::Kind::kOp) return;
  ++alignment.wanted_ops;
  if (bound_[edge.node].bound) ++alignment.matched_ops;
  for (const auto& group : node.operands) {
    for (const Edge& operand : group) {
      if (!operand.maybe || bound_[operand.node].bound) AddWanted(operand, seen, alignment);
    }
  }
}

Alignment Matcher::Aligned(const Edge& start) {
  Alignment alignment;
  std::vector<char> seen(rule_->nodes.size(), 0);
  AddWanted(start, seen, alignment);
  for (const Edge& root : rule_->roots) AddWanted(root, seen, alignment);
  absl::flat_hash_set<const Operation*> known;
  for (Operation* op : matched_) {
    if (known.insert(op).second) alignment.ops.push_back(op);
  }
  alignment.mismatches = mismatches_;
  std::stable_partition(alignment.mismatches.begin(), alignment.mismatches.end(),
                        [](const Mismatch& m) { return m.kind != Mismatch::Kind::kView; });
  return alignment;
}

std::optional<Alignment> Matcher::Align(const CompiledRule& rule, const Edge& start, Operation* op,
                                        const AlignLimits& limits) {
  Start(rule, nullptr);
  used_ = 0;
  if (op->num_results() <= start.result) return std::nullopt;
  tolerance_ = static_cast<size_t>(limits.tolerance);
  steps_ = limits.budget;
  bounds_ = limits.bounds;
  most_cost_ = bounds_ == nullptr ? std::numeric_limits<int>::max() : limits.most_cost;
  words_ = limits.words;
  lost_ = surely_lost_ = 0;
  views_ = 0;
  best_cost_ = std::numeric_limits<int>::max();
  if (sizes_of_ != &rule) {
    sizes_of_ = &rule;
    sizes_.clear();
    sizes_.reserve(rule.nodes.size());
    for (const Node& node : rule.nodes) sizes_.push_back(SmallestSize(node));
  }
  start_ = start;
  reaching_.clear();
  Goal goal;
  goal.edge = start;
  goal.value = op->result(start.result);
  goal.parent = op;
  Push(goal);
  const int most =
      static_cast<int>(std::count_if(rule.nodes.begin(), rule.nodes.end(), [](const Node& node) {
        return node.in_source && node.kind == ValNode::Kind::kOp;
      }));
  std::optional<Alignment> best;
  for (bool more = true; more && Run(); more = Backtrack()) {
    Alignment found = Aligned(start);
    if (!best || found.IsNearerThan(*best)) {
      best = std::move(found);
      // Alternatives that want more ops may cost more.
      best_cost_ = best->cost() * std::max(most, best->wanted_ops) / std::max(best->wanted_ops, 1);
    } else if (words_ && found.cost() == best->cost() && best->alternatives.size() < 2 &&
               !found.mismatches.empty() && !best->mismatches.empty()) {
      const Mismatch& other = found.mismatches[0];
      auto is_new = [&](const std::vector<Mismatch>& list) {
        return std::find(list.begin(), list.end(), other) == list.end();
      };
      if (is_new(best->mismatches) && is_new(best->alternatives))
        best->alternatives.push_back(other);
    }
  }
  tolerance_ = 0;
  used_ = limits.budget - std::max<int64_t>(steps_, 0);
  return best;
}

}  // namespace tenon::drr
