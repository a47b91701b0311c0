// Operations that compute the arguments of a program, as conditions on `op(x)` ask for.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "drr/check/instance.h"
#include "ir/core/builder.h"

namespace tenon::drr {
namespace {

// Adds the ops of which the term asks whether one of them computes a value. Negations ask for
// nothing.
class NamedProducers {
 public:
  NamedProducers(const ConditionCode& code, std::map<uint16_t, std::vector<std::string>>& found)
      : code_(code), found_(found) {
    Visit(*code.source, 0);
  }

 private:
  static bool IsCall(const TermNode& term, std::string_view word) {
    return term.kind == TermNode::Kind::kCall && term.word->name == word;
  }

  // Its arguments begin at args[first] of the code.
  void Visit(const ConditionNode& node, size_t first) {
    if (node.term != nullptr) return Visit(*node.term, node, first);
    if (node.asks != ConditionNode::Asks::kEither) return;
    for (const auto& conjunction : node.parts) {
      for (const auto& inner : conjunction) {
        Visit(*inner, first);
        first += inner->args.size();
      }
    }
  }

  void Visit(const TermNode& term, const ConditionNode& node, size_t first) {
    if (IsCall(term, "&&") || IsCall(term, "||")) {
      for (const TermRef& operand : term.operands) Visit(*operand, node, first);
      return;
    }
    if (!IsCall(term, "==") && !IsCall(term, "in")) return;
    const size_t asked = IsCall(*term.operands[0], "op") ? 0 : 1;
    const TermNode& op = *term.operands[asked];
    if (!IsCall(op, "op") || op.operands[0]->kind != TermNode::Kind::kArgument) return;
    const auto at = std::find_if(node.args.begin(), node.args.end(), [&](const ArgRef& arg) {
      return arg.val == op.operands[0]->argument.val;
    });
    const size_t place = first + static_cast<size_t>(at - node.args.begin());
    if (at == node.args.end() || place >= code_.args.size()) return;
    if (code_.args[place].edge.node != kNone)
      AddTexts(*term.operands[1 - asked], found_[code_.args[place].edge.node]);
  }

  static void AddTexts(const TermNode& term, std::vector<std::string>& texts) {
    if (const auto* text = std::get_if<std::string>(&term.literal)) texts.push_back(*text);
    for (const TermRef& operand : term.operands) AddTexts(*operand, texts);
  }

  const ConditionCode& code_;
  std::map<uint16_t, std::vector<std::string>>& found_;
};

}  // namespace

std::map<uint16_t, std::vector<std::string>> ProducersOf(const CompiledRule& rule) {
  std::map<uint16_t, std::vector<std::string>> found;
  for (const ConditionCode& code : rule.conditions) NamedProducers(code, found);
  return found;
}

// Another operand must not follow from the first one: a product would be a square.
Value InstancePlan::Beside(const Leaf& leaf, Type type, OpBuilder& builder) const {
  const size_t size = SizeOf(type.dtype()), count = leaf.values.size();
  std::vector<std::byte> bytes(count * size);
  for (size_t i = 0; i < count; ++i) {
    const double value = 0.5 - leaf.values[count - 1 - i];
    StoreFromDouble(type.dtype(), IsFloat(type.dtype()) ? value : std::round(value),
                    bytes.data() + i * size);
  }
  const Attribute elements = Attribute::Elements(*context_, type, bytes);
  return builder
      .Insert(Operation::Create(*context_->FindOp("core.constant"), Location(), {{type}}, {},
                                {{elements}}))
      ->result();
}

Value InstancePlan::Produced(const Leaf& leaf, Value argument, OpBuilder& builder) const {
  const OpInfo* info = leaf.producer.empty() ? nullptr : context_->FindOp(leaf.producer);
  if (info == nullptr) return argument;
  // Whether the op fits is decided by the whole type, so that programs that know less of it agree.
  const Type type = Type::Tensor(*context_, argument.type().dtype(), leaf.shape);
  const OpDef& def = info->def();
  std::vector<Type> types;
  std::vector<int64_t> segments;
  for (const OperandDef& operand : def.operands) {
    segments.push_back(operand.arity == Arity::kOptional ? 0 : 1);
    if (segments.back() == 0) continue;
    if (!operand.constraint.Accepts(type)) return argument;
    types.push_back(type);
  }
  if (types.empty()) return argument;
  std::vector<Attribute> slots(static_cast<size_t>(info->num_slots()));
  if (info->segment_slot() >= 0)
    slots[static_cast<size_t>(info->segment_slot())] =
        Attribute::Ints(*context_, DType::kI32, segments);
  // The last axis is one that fits.
  const int axis = info->FindSlot("axis");
  if (axis >= 0 && !info->default_value(axis) && def.attrs[axis].type == AttrType::kI64)
    slots[static_cast<size_t>(axis)] =
        ToAttribute(*context_, AttrType::kI64, AttrValue(type.rank() - 1));
  const auto filled = FillDefaults(*info, slots);
  for (int slot = 0; slot < info->num_slots(); ++slot)
    if (!filled[static_cast<size_t>(slot)] && def.attrs[slot].required) return argument;
  ResultTypes results;
  if (!InferResultTypes(*info, Location(), std::span<const Type>(types), filled, results).ok() ||
      results.size() != 1 || results[0] != type)
    return argument;
  std::vector<Value> operands = {argument};
  while (operands.size() < types.size()) operands.push_back(Beside(leaf, type, builder));
  results.clear();
  if (!InferResultTypes(*info, Location(), std::span<const Value>(operands), filled, results).ok())
    return Value();
  return builder.Insert(Operation::Create(*info, Location(), results, operands, filled))->result();
}

}  // namespace tenon::drr
