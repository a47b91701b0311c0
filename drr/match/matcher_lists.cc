// Operands of variadic groups: single values, lists, and the results of an operation.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"

namespace tenon::drr {

// The operands that an Each has taken elsewhere, again.
bool Matcher::EachAgain(const Goal& goal, const Binding& binding) {
  failed_ |= binding.causes;
  const auto [first, size] = goal.op->operand_group(goal.group);
  bool same = binding.count <= size - goal.position;
  for (uint32_t i = 0; same && i < binding.count; ++i)
    same = goal.op->operand(first + goal.position + i) == EachItem(binding, i);
  if (!same && !Fail(goal.op, [&] {
        const Edge& edge = rule_->nodes[goal.edge.node].operands[goal.group][goal.item];
        return binding.op == nullptr
                   ? fmt::format("the rule wants the {} values '{}' again", binding.count,
                                 NameOf(edge))
                   : fmt::format("the rule wants '{}' again, which are the {} operands of {}",
                                 NameOf(edge), binding.count, DescribeOp(binding.op));
      })) {
    return false;
  }
  Goal rest = goal;
  rest.position += std::min(binding.count, size - goal.position);
  rest.causes |= binding.causes;
  ++rest.item;
  Push(rest);
  return true;
}

// How many operands the items behind that of the goal take, without the lists among them.
unsigned Matcher::SinglesBehind(const Goal& goal) const {
  const std::vector<Edge>& pattern = rule_->nodes[goal.edge.node].operands[goal.group];
  return static_cast<unsigned>(
      std::count_if(pattern.begin() + goal.item + 1, pattern.end(),
                    [&](const Edge& item) { return !rule_->IsList(item); }));
}

// The results of an operation from one on, all of them. An operation that nothing else of the match
// has found yet is that of the next operand; if that is another, the list is empty, which
// CountsOfRests asks at the end.
bool Matcher::RestOfResults(const Goal& goal) {
  const Edge& edge = rule_->nodes[goal.edge.node].operands[goal.group][goal.item];
  const Node& node = rule_->nodes[edge.node];
  const auto [first, size] = goal.op->operand_group(goal.group);
  const Binding& binding = bound_[edge.node];
  const Value next = goal.position < size ? goal.op->operand(first + goal.position) : Value();
  Goal rest = goal;
  ++rest.item;
  Operation* from = binding.op;
  if (binding.bound) {
    failed_ |= binding.causes;
    rest.causes |= binding.causes;
  } else if (next && next.result_index() == edge.result && next.defining_op() != nullptr &&
             next.defining_op()->id() == node.info->id()) {
    from = next.defining_op();
  } else if (tolerance_ == 0 && edge.result > 0) {
    Push(rest);
    return true;
  } else {
    return Fail(goal.op, [&] {
      const std::string results = fmt::format("the results of {} from #{} on, which the rule wants",
                                              node.info->name(), edge.result);
      return next ? fmt::format("operand {} is {}, and does not begin {}", first + goal.position,
                                Describe(next), results)
                  : fmt::format("it has {} operands, and none behind them for {}", size, results);
    });
  }
  const unsigned left = from->num_results() - std::min<unsigned>(from->num_results(), edge.result);
  unsigned count = 0;
  while (edge.result + count < from->num_results() && goal.position + count < size &&
         goal.op->operand(first + goal.position + count) == from->result(edge.result + count))
    ++count;
  if (edge.result + count < from->num_results() && !Fail(goal.op, [&] {
        const unsigned at = goal.position + count;
        return fmt::format("operand {} is {}, the rule wants result #{} of {}", first + at,
                           at < size ? Describe(goal.op->operand(first + at)) : "absent",
                           edge.result + count, DescribeOp(from));
      })) {
    return false;
  }
  rest.position += std::min(left, size - goal.position);
  Push(rest);
  if (binding.bound || count == 0) return true;
  Goal value;
  value.kind = Goal::Kind::kValue;
  value.edge = Edge{edge.node, edge.result};
  value.position = first + goal.position;
  value.value = next;
  value.parent = goal.op;
  value.causes = goal.causes;
  Push(value);
  return true;
}

bool Matcher::Sequence(Goal goal) {
  const std::vector<Edge>& pattern = rule_->nodes[goal.edge.node].operands[goal.group];
  const std::pair<unsigned, unsigned> group = goal.op->operand_group(goal.group);
  const unsigned first = group.first, size = group.second;
  const auto wrong_count = [&] {
    const auto lists = std::count_if(pattern.begin(), pattern.end(),
                                     [&](const Edge& item) { return rule_->IsList(item); });
    return fmt::format("it has {} operands, the rule wants {}{}", size,
                       lists > 0 ? "at least " : "", pattern.size() - static_cast<size_t>(lists));
  };
  if (goal.item == pattern.size()) {
    return goal.position == size || Fail(goal.op, wrong_count);
  }
  const Edge& edge = pattern[goal.item];
  if (edge.rest) return RestOfResults(goal);
  if (rule_->nodes[edge.node].kind == ValNode::Kind::kEach) {
    if (bound_[edge.node].bound) return EachAgain(goal, bound_[edge.node]);
    if (goal.position + SinglesBehind(goal) > size) return Fail(goal.op, wrong_count);
    Choice choice = Snapshot(Choice::Kind::kEachCount, edge.node, goal);
    // A pattern has one item at least.
    if (!rule_->nodes[edge.node].chain.empty()) choice.alternative = 1;
    // A list without others behind it takes all that the items behind it leave.
    const size_t behind = pattern.size() - goal.item - 1;
    if (SinglesBehind(goal) == behind)
      choice.alternative =
          std::max(choice.alternative, size - goal.position - static_cast<unsigned>(behind));
    return Open(choice);
  }
  if (goal.position >= size) return Fail(goal.op, wrong_count);
  Goal rest = goal;
  ++rest.item;
  ++rest.position;
  Push(rest);
  Goal value;
  value.kind = Goal::Kind::kValue;
  value.edge = edge;
  value.position = first + goal.position;
  value.value = goal.op->operand(value.position);
  value.parent = goal.op;
  value.causes = goal.causes;
  Push(value);
  return true;
}

bool Matcher::CountsOfRests() {
  for (size_t n = 0; n < rule_->nodes.size(); ++n) {
    const Node& node = rule_->nodes[n];
    if (!node.in_source || !bound_[n].bound) continue;
    for (size_t g = 0; g < node.operands.size(); ++g) {
      const std::vector<Edge>& pattern = node.operands[g];
      if (std::none_of(pattern.begin(), pattern.end(), [](const Edge& edge) { return edge.rest; }))
        continue;
      size_t wanted = 0;
      for (const Edge& edge : pattern) {
        const Binding& binding = bound_[edge.node];
        if (edge.rest && !binding.bound) return false;
        wanted += edge.rest                                              ? ValuesOf(edge).size()
                  : rule_->nodes[edge.node].kind == ValNode::Kind::kEach ? binding.count
                                                                         : 1;
      }
      if (wanted != bound_[n].op->operand_group(static_cast<unsigned>(g)).second) return false;
    }
  }
  return true;
}

}  // namespace tenon::drr
