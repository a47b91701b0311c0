#include "ir/core/constants/constant.h"

#include "ir/core/context/context_impl.h"

namespace tenon {
namespace {

constexpr OpId kCoreConstant = HashOpName("core.constant");

}  // namespace

Operation* MakeConstant(OpBuilder& builder, const OpInfo& asking, Attribute value, Type type,
                        Location location) {
  Context& context = builder.context();
  const auto& makers = ImplOf(context).make_constant;
  if (const auto own = makers.find(asking.dialect()); own != makers.end()) {
    if (Operation* made = own->second(builder, value, type, location)) return made;
  }
  const OpInfo* info = context.FindOp(kCoreConstant);
  if (info == nullptr || !value || value.kind() != Attribute::Kind::kElements ||
      value.type() != type)
    return nullptr;
  return builder.Insert(Operation::Create(*info, location, {&type, 1}, {}, {&value, 1}));
}

bool Fold(Operation& op, FoldResults& results) {
  const FoldFn& fold = op.info().def().fold;
  if (fold == nullptr || op.num_results() == 0) return false;
  absl::InlinedVector<Attribute, 4> constants;
  for (const OpOperand& operand : op.operands()) {
    const Operation* definition = operand.get() ? operand.get().defining_op() : nullptr;
    Attribute constant;
    if (definition != nullptr && definition->Has(Trait::kConstantLike)) {
      const bool is_own = definition->info().dialect() == op.info().dialect();
      constant = is_own ? ConstantValueOf(definition) : ConstantElementsOf(definition);
    }
    constants.push_back(constant);
  }
  if (!fold(op, constants, results) || results.size() != op.num_results()) return false;
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const FoldResult& folded = results[i];
    if (!folded.value && !folded.attribute) return false;
    if (folded.value && folded.value.defining_op() == &op) return false;
  }
  return true;
}

absl::InlinedVector<Value, 2> MakeFolded(OpBuilder& builder, const Operation& op,
                                         const FoldResults& results) {
  absl::InlinedVector<Value, 2> values;
  absl::InlinedVector<Operation*, 2> made;
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (results[i].value) {
      values.push_back(results[i].value);
      continue;
    }
    const Attribute value = results[i].attribute;
    const bool elements = value.kind() == Attribute::Kind::kElements;
    Operation* constant = MakeConstant(
        builder, op.info(), value, elements ? value.type() : op.result(i).type(), op.location());
    if (constant == nullptr) {
      for (Operation* one : made) one->Erase();
      return {};
    }
    made.push_back(constant);
    values.push_back(constant->result());
  }
  return values;
}

}  // namespace tenon
