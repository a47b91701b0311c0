#include "drr/compile/rule_list.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace tenon::drr {
namespace {

using OpIds = std::vector<OpId>;  // sorted, no repeats

void Join(OpIds& all, const OpIds& more) {
  OpIds joined;
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(joined));
  all = std::move(joined);
}

// Operations that every match of a value has. Nodes are shared: each is looked at once.
class Needs {
 public:
  const OpIds& Of(const ValNode& node) {
    // Pattern graphs have no cycles: nothing is inserted for the node while its parts are found.
    if (const auto it = known_.find(&node); it != known_.end()) return it->second;
    OpIds ops;
    if (node.kind == ValNode::Kind::kOp) ops.push_back(HashOpName(node.op));
    for (const auto& group : node.operands) {
      for (const OperandPattern& operand : group) {
        if (!operand.maybe) Join(ops, Of(*operand.val.node));
      }
    }
    // Of alternatives any will do.
    for (size_t i = 0; i < node.alternatives.size(); ++i) {
      const OpIds& one = Of(*node.alternatives[i].node);
      if (i == 0) {
        ops = one;
        continue;
      }
      OpIds common;
      std::set_intersection(ops.begin(), ops.end(), one.begin(), one.end(),
                            std::back_inserter(common));
      ops = std::move(common);
    }
    return known_.emplace(&node, std::move(ops)).first->second;
  }

 private:
  std::map<const ValNode*, OpIds> known_;
};

// Each node once: alternatives may share theirs.
void AddRoots(const ValNode& node, std::set<const ValNode*>& seen, OpIds& roots) {
  if (!seen.insert(&node).second) return;
  if (node.kind == ValNode::Kind::kOp) roots.push_back(HashOpName(node.op));
  if (node.kind != ValNode::Kind::kAnyOf && node.kind != ValNode::Kind::kLet) return;
  for (const ValRef& alternative : node.alternatives) AddRoots(*alternative.node, seen, roots);
}

}  // namespace

RuleList::RuleList(std::vector<Rule> rules) : rules_(std::move(rules)) {
  std::stable_sort(rules_.begin(), rules_.end(),
                   [](const Rule& a, const Rule& b) { return a.benefit() > b.benefit(); });
  needed_.resize(rules_.size());
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].roots().empty() || rules_[i].roots()[0].node->depth > kMostDepth) continue;
    const ValNode& root = *rules_[i].roots()[0].node;
    OpIds roots;
    std::set<const ValNode*> seen;
    AddRoots(root, seen, roots);
    for (OpId op : roots) {
      std::vector<uint16_t>& at = by_root_[op];
      const auto number = static_cast<uint16_t>(i);
      if (at.empty() || at.back() != number) at.push_back(number);
    }
    Needs needs;
    for (OpId op : needs.Of(root)) {
      numbers_.emplace(op, static_cast<uint32_t>(numbers_.size()));
      Note(op, needed_[i]);
    }
  }
}

const std::vector<uint16_t>& RuleList::RulesAt(OpId op) const {
  const auto it = by_root_.find(op);
  return it == by_root_.end() ? none_ : it->second;
}

void RuleList::Note(OpId op, NeededOps& ops) const {
  const auto it = numbers_.find(op);
  if (it == numbers_.end()) return;
  const uint32_t word = it->second / 64;
  if (ops.size() <= word) ops.resize(word + 1, 0);
  ops[word] |= uint64_t{1} << (it->second % 64);
}

}  // namespace tenon::drr
