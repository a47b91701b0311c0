// The operands that an Each with a pattern takes: each of them must match the pattern.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"

namespace tenon::drr {

bool Matcher::MatchMapped(uint16_t each, Causes causes) {
  const Node& node = rule_->nodes[each];
  const Binding mapped = bound_[each];
  const auto first = static_cast<uint32_t>(items_.size());
  for (uint32_t i = 0; i < mapped.count; ++i) {
    Value value = EachItem(mapped, i);
    for (const EachLink& link : node.chain) {
      Operation* op = value.defining_op();
      const std::string_view wanted = rule_->nodes[link.op.node].info->name();
      if (!Likely(link.op, value)) {
        // Align may go on without the rest of the list.
        return Fail(mapped.op, [&] {
          return fmt::format("operand {} comes from {}, the rule wants {} for each item",
                             mapped.first + i, Describe(value), wanted);
        });
      }
      const std::optional<Value> next = MatchLink(each, link, op, causes);
      if (!next) return false;
      if (!*next) return true;
      value = *next;
    }
    items_.push_back(value);
  }
  Binding& list = bound_[node.list];
  if (!list.bound) {
    list.bound = true;
    list.first = first;
    list.count = mapped.count;
    list.causes = causes;
    trail_.push_back(node.list);
    return true;
  }
  failed_ |= list.causes;
  bool same = list.count == mapped.count;
  for (uint32_t i = 0; same && i < list.count; ++i) same = EachItem(list, i) == items_[first + i];
  return same || Fail(mapped.op, [&] {
           return fmt::format("the rule wants the {} values '{}' again", list.count,
                              NameOf(Edge{node.list, 0, false}));
         });
}

// Matches the attributes and the other operands of one operation of the pattern. Returns the
// operand that leads on to the item; a null value if the operation does not fit and Align goes on,
// and nullopt if it does not.
std::optional<Value> Matcher::MatchLink(uint16_t each, const EachLink& link, Operation* op,
                                        Causes causes) {
  const uint16_t n = link.op.node;
  const Node& node = rule_->nodes[n];
  const auto failed = [&](const auto& why) {
    return Fail(op, why) ? std::optional<Value>(Value()) : std::nullopt;
  };
  if (!matched_.empty() && op->block() != matched_[0]->block())
    return failed([] { return std::string("it lies in another region"); });
  bool again = false;  // two operands are one value
  for (size_t i = 0; !again && i < matched_.size(); ++i)
    again = matched_[i] == op && matched_nodes_[i] == n;
  if (!again && IsOtherOp(n, op)) {
    return failed([&] {
      return fmt::format("the rule wants another {} than the one matched before",
                         node.info->name());
    });
  }
  for (const AttrCode& code : node.attrs)
    if (!MatchAttr(code, op, causes)) return std::nullopt;
  if (!again) {
    matched_.push_back(op);
    matched_nodes_.push_back(n);
  }
  bool swapped = false;
  if (node.commutative) {
    const Edge& beside = node.operands[1 - link.group][0];
    swapped = !IsBeside(each, beside, op->operand(1u - link.group)) &&
              IsBeside(each, beside, op->operand(link.group));
  }
  const unsigned group = swapped ? 1u - link.group : link.group;
  if (!PushOperands(n, op, swapped, causes, static_cast<int>(group))) return std::nullopt;
  const auto [at, size] = op->operand_group(group);
  if (size == 1) return op->operand(at);
  return failed(
      [&] { return fmt::format("operand '{}' is absent", node.info->def().operands[group].name); });
}

// May the value be the part `edge` of the pattern, which all items share? A variable that nothing
// has bound yet is an operand of every item.
bool Matcher::IsBeside(uint16_t each, const Edge& edge, Value value) const {
  if (!Likely(edge, value)) return false;
  const Node& node = rule_->nodes[edge.node];
  if (node.kind != ValNode::Kind::kVariable) return true;
  const Binding& known = bound_[edge.node];
  if (known.bound) return known.value == value;
  // The operations of this item and of the others use it.
  const Binding& mapped = bound_[each];
  for (uint32_t i = 0; i < mapped.count; ++i) {
    Value item = EachItem(mapped, i);
    bool found = false;
    for (size_t l = 0; !found && l < rule_->nodes[each].chain.size(); ++l) {
      const Operation* op = item.defining_op();
      if (op == nullptr) return false;
      for (unsigned k = 0; !found && k < op->num_operands(); ++k) found = op->operand(k) == value;
      const auto [at, size] = op->operand_group(rule_->nodes[each].chain[l].group);
      if (size == 0) break;
      item = op->operand(at);
    }
    if (!found) return false;
  }
  return true;
}

}  // namespace tenon::drr
