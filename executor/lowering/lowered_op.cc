#include "executor/lowering/lowered_op.h"

#include "executor/attr_decode.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"

namespace tenon {

absl::Status EmitStatus(Context& context, Location location, absl::StatusCode code,
                        std::string message) {
  const absl::Status emitted = EmitError(context, location, std::move(message));
  return absl::Status(code, emitted.message());
}

absl::Status Reject(const Operation& op, std::string message) {
  return EmitStatus(op.context(), op.location(), absl::StatusCode::kInvalidArgument,
                    std::move(message));
}

Attribute PropertiesOf(const Operation& op) {
  std::vector<NamedAttribute> entries;
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    if (op.slot(i)) entries.push_back({op.info().slot_name(static_cast<int>(i)), op.slot(i)});
  }
  return Attribute::Dictionary(op.context(), entries);
}

absl::StatusOr<Slots> SlotsFrom(const OpInfo& info, Attribute properties) {
  Slots slots(info.num_slots());
  if (properties && properties.kind() != Attribute::Kind::kDictionary) {
    return absl::InvalidArgumentError(
        fmt::format("properties of {} are not a dictionary", info.name()));
  }
  const std::span<const NamedAttribute> entries =
      properties ? properties.entries() : std::span<const NamedAttribute>();
  for (const NamedAttribute& entry : entries) {
    const int slot = info.FindSlot(entry.name);
    if (slot < 0) {
      return absl::InvalidArgumentError(
          fmt::format("{} has no attribute '{}'", info.name(), entry.name.str()));
    }
    slots[slot] = entry.value;
  }
  for (int i = 0; i < info.num_slots(); ++i) {
    if (!slots[i]) slots[i] = info.default_value(i);
    if (!slots[i] && info.def().attrs[i].required) {
      return absl::InvalidArgumentError(
          fmt::format("attribute '{}' of {} is missing", info.slot_name(i).str(), info.name()));
    }
  }
  return slots;
}

absl::StatusOr<std::vector<int>> KernelInputs(const OpInfo& info, int num_operands,
                                              std::span<const Attribute> slots) {
  absl::InlinedVector<int32_t, 6> segments;
  if (!info.OperandSegments(num_operands, slots, segments)) {
    return absl::InvalidArgumentError(
        fmt::format("{} operands do not fit {}", num_operands, info.name()));
  }
  std::vector<int> inputs;
  int operand = 0;
  for (size_t group = 0; group < segments.size(); ++group) {
    if (segments[group] == 0 && info.def().operands[group].arity == Arity::kOptional)
      inputs.push_back(-1);
    for (int i = 0; i < segments[group]; ++i) inputs.push_back(operand++);
  }
  return inputs;
}

void SignatureOf::AddView(Type type, std::vector<kernels::TensorView>& views) {
  shapes_.push_back(std::make_unique<std::vector<int64_t>>());
  for (DimExpr d : type.dims()) shapes_.back()->push_back(d.is_constant() ? d.constant() : -1);
  views.push_back({nullptr, type.dtype(), *shapes_.back()});
}

absl::StatusOr<SignatureOf> SignatureOf::Make(const OpInfo& info, std::span<const Attribute> slots,
                                              std::span<const Value> operands,
                                              std::span<const Type> results) {
  std::vector<Type> types;
  for (const Value operand : operands) types.push_back(operand.type());
  return Make(info, slots, operands, types, results);
}

absl::StatusOr<SignatureOf> SignatureOf::Make(const OpInfo& info, std::span<const Attribute> slots,
                                              std::span<const Value> operands,
                                              std::span<const Type> operand_types,
                                              std::span<const Type> results) {
  SignatureOf s;
  TENON_ASSIGN_OR_RETURN(std::vector<int> inputs,
                         KernelInputs(info, static_cast<int>(operands.size()), slots));
  s.constant_ = std::make_unique<bool[]>(inputs.size() + 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] < 0) {
      s.inputs_.push_back({});
      continue;
    }
    const Type type = operand_types[static_cast<size_t>(inputs[i])];
    if (!type.is_tensor()) {
      return absl::InvalidArgumentError(
          fmt::format("operand {} of {} has type {} (expected a ranked tensor)", inputs[i],
                      info.name(), type.text()));
    }
    s.AddView(type, s.inputs_);
    const Operation* producer = operands[inputs[i]].defining_op();
    s.constant_[i] = producer != nullptr && producer->Has(Trait::kConstantLike);
  }
  for (Type type : results) {
    if (!type.is_tensor()) {
      return absl::InvalidArgumentError(fmt::format(
          "a result of {} has type {} (expected a ranked tensor)", info.name(), type.text()));
    }
    s.AddView(type, s.outputs_);
  }
  Slots known(slots.begin(), slots.end());
  for (Attribute& slot : known) {
    if (!slot || slot.kind() != Attribute::Kind::kDims) continue;
    std::vector<DimExpr> dims(slot.dims().begin(), slot.dims().end());
    for (DimExpr& d : dims) {
      if (!d.is_constant()) d = DimExpr::Constant(info.context(), 0);
    }
    slot = Attribute::Dims(info.context(), dims);
  }
  TENON_ASSIGN_OR_RETURN(s.attrs_,
                         DecodeAttrs(info, std::span<const Attribute>(known.data(), known.size())));
  return s;
}

kernels::CallSignature SignatureOf::get() const {
  return {inputs_, outputs_, std::span<const bool>(constant_.get(), inputs_.size()), attrs_.get(),
          nullptr};
}

absl::StatusOr<kernels::KernelRegistry::Choice> ChooseKernel(
    const kernels::KernelRegistry& registry, const Operation& op, bool reference_only,
    kernels::Backend backend) {
  std::vector<Value> operands;
  for (unsigned i = 0; i < op.num_operands(); ++i) operands.push_back(op.operand(i));
  std::vector<Type> results;
  for (unsigned i = 0; i < op.num_results(); ++i) results.push_back(op.result(i).type());
  TENON_ASSIGN_OR_RETURN(SignatureOf signature,
                         SignatureOf::Make(op.info(), op.slots(), operands, results));
  return registry.Choose(op.name(), signature.get(), reference_only, backend);
}

}  // namespace tenon
