#include "drr/explain/cost_bounds.h"

#include <algorithm>
#include <limits>

#include "drr/match/matcher.h"

namespace tenon::drr {
namespace {

constexpr int kMost = 1 << 20;  // ops of a rule; more are counted as so many

// A set of nodes of a rule.
class NodeSet {
 public:
  explicit NodeSet(size_t nodes) : words_((nodes + 63) / 64, 0) {}

  void Add(size_t n) { words_[n / 64] |= uint64_t{1} << (n % 64); }
  void Join(const NodeSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  void Intersect(const NodeSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  }
  int size() const {
    int size = 0;
    for (uint64_t word : words_) size += __builtin_popcountll(word);
    return size;
  }

 private:
  std::vector<uint64_t> words_;
};

// Calls `visit` for each operand of an op node.
template <typename F>
void ForEachOperand(const Node& node, const F& visit) {
  for (const auto& group : node.operands) {
    for (const Edge& operand : group) visit(operand);
  }
}

bool IsAlternatives(const Node& node) {
  return node.kind == ValNode::Kind::kAnyOf || node.kind == ValNode::Kind::kLet;
}

// What the parts of a rule consist of, by node. Nodes stand behind their parts.
struct Parts {
  std::vector<NodeSet> always,   // op nodes that every way through the part has
      some;                      // op nodes that some way has
  std::vector<int> largest;      // no way has more ops
  std::vector<int> uses;         // places of the rule that want the value
  std::vector<int> surely_lost;  // CostBounds::SurelyLost

  explicit Parts(const CompiledRule& rule)
      : always(rule.nodes.size(), NodeSet(rule.nodes.size())),
        some(always),
        largest(rule.nodes.size(), 0),
        uses(rule.nodes.size(), 0),
        surely_lost(rule.nodes.size(), 0) {
    CountUses(rule);
    for (size_t n = 0; n < rule.nodes.size(); ++n) {
      const Node& node = rule.nodes[n];
      if (!node.in_source) continue;
      if (node.kind == ValNode::Kind::kOp) AddOp(n, node);
      if (IsAlternatives(node)) AddAlternatives(n, node);
      largest[n] = std::min(largest[n], some[n].size());
    }
  }

 private:
  void CountUses(const CompiledRule& rule) {
    for (const Node& node : rule.nodes) {
      if (!node.in_source) continue;
      ForEachOperand(node, [&](const Edge& operand) { ++uses[operand.node]; });
      for (const Edge& alternative : node.alternatives) ++uses[alternative.node];
    }
    for (const Edge& root : rule.roots) ++uses[root.node];
    for (const Climb& climb : rule.climbs) ++uses[climb.user];
  }

  void AddOp(size_t n, const Node& node) {
    always[n].Add(n);
    some[n].Add(n);
    largest[n] = 1;
    int lost = 1;
    ForEachOperand(node, [&](const Edge& operand) {
      const size_t part = operand.node;
      some[n].Join(some[part]);
      largest[n] = std::min(largest[n] + largest[part], kMost);
      if (operand.maybe) return;
      always[n].Join(always[part]);
      lost += surely_lost[part];
    });
    if (uses[n] <= 1 && !node.mapped) surely_lost[n] = lost;
  }

  void AddAlternatives(size_t n, const Node& node) {
    int lost = kMost;
    for (size_t i = 0; i < node.alternatives.size(); ++i) {
      const size_t part = node.alternatives[i].node;
      if (i == 0) always[n] = always[part];
      always[n].Intersect(always[part]);
      some[n].Join(some[part]);
      largest[n] = std::max(largest[n], largest[part]);
      lost = std::min(lost, surely_lost[part]);
    }
    if (uses[n] <= 1 && !node.alternatives.empty()) surely_lost[n] = lost;
  }
};

// By node: op nodes on the shortest way to it from a root, without itself. Operands that may be
// absent end a way: then the alignment does not want what is above.
std::vector<int> OpsAbove(const CompiledRule& rule) {
  constexpr int kNowhere = std::numeric_limits<int>::max();
  std::vector<int> above(rule.nodes.size(), kNowhere);
  for (const Edge& root : rule.roots) above[root.node] = 0;
  for (size_t n = rule.nodes.size(); n-- > 0;) {
    const Node& node = rule.nodes[n];
    if (!node.in_source || above[n] == kNowhere) continue;
    ForEachOperand(node, [&](const Edge& operand) {
      const int here = operand.maybe ? 0 : above[n] + 1;
      above[operand.node] = std::min(above[operand.node], here);
    });
    for (const Edge& alternative : node.alternatives)
      above[alternative.node] = std::min(above[alternative.node], above[n]);
  }
  for (int& ops : above) {
    if (ops == kNowhere) ops = 0;
  }
  return above;
}

}  // namespace

int MostCostOfNear(int wanted_ops) { return std::max(6, Alignment::kLost * wanted_ops / 2); }

CostBounds::CostBounds(const CompiledRule& rule) {
  const Parts parts(rule);
  const std::vector<int> above = OpsAbove(rule);
  int least = 0, largest = 0;
  NodeSet all(rule.nodes.size());
  for (const Edge& root : rule.roots) {
    all.Join(parts.always[root.node]);
    largest = std::min(largest + parts.largest[root.node], kMost);
  }
  least = all.size();
  most_ = MostCostOfNear(largest);
  surely_lost_ = parts.surely_lost;
  most_below_.assign(rule.nodes.size(), -1);
  for (size_t n = 0; n < rule.nodes.size(); ++n) {
    if (rule.nodes[n].kind != ValNode::Kind::kOp || !rule.nodes[n].in_source) continue;
    // What is above costs one mismatch and the ops that are lost. With `wanted` ops in all and
    // `matched` of them, 4 (wanted - matched) + 4 <= max(6, 2 wanted) must have a solution.
    const int wanted = std::max(least, parts.always[n].size() + above[n]);
    const int matched = parts.largest[n];
    if (wanted > std::max(matched, 2 * matched - 2)) continue;
    most_below_[n] = most_ - Alignment::kLost * above[n] - Alignment::CostOf({});
  }
}

}  // namespace tenon::drr
