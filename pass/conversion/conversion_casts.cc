#include "pass/conversion/conversion_casts.h"

#include <string>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

std::string_view NameOf(TypeConverter::Need need) {
  switch (need) {
    case TypeConverter::Need::kSource:
      return "source";
    case TypeConverter::Need::kTarget:
      return "target";
    case TypeConverter::Need::kArgument:
      return "argument or source";
  }
  return "";
}

}  // namespace

ConversionCasts::ConversionCasts(Context& context)
    : info_(context.GetUnregisteredOp("builtin.unrealized_conversion_cast")) {}

Value ConversionCasts::Cast(Value from, Type to, TypeConverter::Need need,
                            const TypeConverter* converter) {
  Operation*& cast = by_value_[{from.impl(), to.storage()}];
  // An entry may be that of a value that has been at this address before.
  if (cast != nullptr && cast->operand(0) == from) return cast->result();
  OpBuilder builder = from.is_result() ? OpBuilder::After(from.defining_op())
                                       : OpBuilder::AtStart(to.context(), from.argument_owner());
  cast = builder.Insert(Operation::Create(*info_, from.location(), {&to, 1}, {&from, 1}, {}));
  entries_[cast] = {need, converter, order_.size()};
  order_.push_back(cast);
  return cast->result();
}

Value ConversionCasts::Find(Value value, Type to) const {
  for (;;) {
    if (value.type() == to) return value;
    const Operation* cast = value.defining_op();
    if (cast == nullptr || !IsCast(cast)) return Value();
    value = cast->operand(0);
  }
}

Value ConversionCasts::Origin(Value value) const {
  while (value && IsCast(value.defining_op())) value = value.defining_op()->operand(0);
  return value;
}

void ConversionCasts::Erasing(Operation* op) {
  const auto entry = entries_.find(op);
  if (entry == entries_.end()) return;
  order_[entry->second.number] = nullptr;
  const auto known = by_value_.find({op->operand(0).impl(), op->result().type().storage()});
  if (known != by_value_.end() && known->second == op) by_value_.erase(known);
  entries_.erase(entry);
}

void ConversionCasts::Erase(Operation* cast) {
  Erasing(cast);
  cast->Erase();
}

void ConversionCasts::EraseUnused(Operation* op) {
  for (unsigned i = 0; i < op->num_results(); ++i) {
    std::vector<Operation*> unused;
    for (const OpOperand& use : op->result(i).uses()) {
      if (!IsCast(use.owner())) continue;
      EraseUnused(use.owner());
      if (!use.owner()->has_uses()) unused.push_back(use.owner());
    }
    for (Operation* cast : unused) Erase(cast);
  }
}

absl::Status ConversionCasts::Materialize(Operation* cast, IrListener* listener) {
  const Entry entry = entries_.find(cast)->second;
  const Value from = cast->operand(0);
  const Type to = cast->result().type();
  // The op that defines the value may have moved.
  if (from.is_result()) cast->MoveAfter(from.defining_op());
  OpBuilder builder = OpBuilder::Before(cast);
  builder.set_listener(listener);
  Value made;
  if (entry.converter != nullptr) {
    TENON_ASSIGN_OR_RETURN(
        made, entry.converter->Materialize(entry.need, builder, to, from, cast->location()));
  }
  if (!made) {
    const Operation* user = cast->result().uses().begin()->owner();
    return EmitError(
        to.context(), user->location(),
        fmt::format("'{}' needs a value of type {}, which is {} now, and no {} materialization "
                    "makes it",
                    user->name(), to.text(), from.type().text(), NameOf(entry.need)));
  }
  cast->result().ReplaceAllUsesWith(made);
  Erase(cast);
  return absl::OkStatus();
}

absl::Status ConversionCasts::Realize(IrListener* listener) {
  // Casts there and back.
  for (Operation* cast : order_) {
    if (cast == nullptr || !cast->has_uses()) continue;
    if (const Value value = Find(cast->operand(0), cast->result().type()))
      cast->result().ReplaceAllUsesWith(value);
  }
  // A cast may be the only use of one before it.
  for (size_t i = order_.size(); i-- > 0;) {
    if (order_[i] != nullptr && !order_[i]->has_uses()) Erase(order_[i]);
  }
  // A materialization may make no further casts.
  for (size_t i = 0; i < order_.size(); ++i) {
    if (order_[i] == nullptr) continue;
    if (absl::Status status = Materialize(order_[i], listener); !status.ok()) return status;
  }
  order_.clear();
  return absl::OkStatus();
}

}  // namespace tenon
