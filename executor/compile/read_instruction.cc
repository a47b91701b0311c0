#include "executor/compile/read_instruction.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "executor/attr_decode.h"
#include "executor/lowering/lowered_op.h"
#include "executor/memory/contiguous_parts.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/dialect/kernel_ops.h"

namespace tenon {
namespace {

// Operand and result element types as the source operation wants them.
absl::Status CheckTypes(Operation& op, const OpInfo& source, std::span<const Attribute> slots) {
  absl::InlinedVector<int32_t, 6> segments;
  if (!source.OperandSegments(static_cast<int>(op.num_operands()), slots, segments))
    return Reject(op, "bad operands");
  unsigned at = 0;
  uint32_t dtypes = 0;
  for (size_t group = 0; group < segments.size(); ++group) {
    const OperandDef& def = source.def().operands[group];
    for (int i = 0; i < segments[group]; ++i) {
      const Type type = op.operand(at++).type();
      dtypes |= 1u << static_cast<int>(type.dtype());
      if (!def.constraint.Accepts(type)) {
        return Reject(op, fmt::format("operand '{}' of {} has type {} (expected {})", def.name,
                                      source.name(), type.text(), def.constraint.description));
      }
    }
  }
  if ((source.Has(Trait::kSameDtype) || source.Has(Trait::kSameOperandDtype)) &&
      (dtypes & (dtypes - 1)) != 0) {
    return Reject(op, fmt::format("the operands of {} differ in element type", source.name()));
  }
  std::vector<Type> types;
  for (OpOperand& operand : op.operands()) types.push_back(operand.get().type());
  ResultTypes results;
  absl::Status status =
      InferResultTypes(source, op.location(), std::span<const Type>(types), slots, results);
  if (!status.ok()) return Reject(op, std::string(status.message()));
  if (results.size() != op.num_results()) {
    return Reject(op, fmt::format("{} results (expected {})", op.num_results(), results.size()));
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    const Type given = op.result(i).type(), inferred = results[i];
    if (given.dtype() != inferred.dtype() ||
        (inferred.is_tensor() && inferred.rank() != given.rank())) {
      return Reject(
          op, fmt::format("result {} has type {} (expected {})", i, given.text(), inferred.text()));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSource(Operation& op, std::string_view source, Attribute properties,
                        Instruction& instruction) {
  instruction.source = op.context().FindOp(source);
  if (instruction.source == nullptr || instruction.source->def().infer == nullptr) {
    return Reject(op, fmt::format("source '{}' is not an operation with a shape function", source));
  }
  absl::StatusOr<Slots> slots = SlotsFrom(*instruction.source, properties);
  if (!slots.ok()) return Reject(op, std::string(slots.status().message()));
  instruction.slots = *std::move(slots);
  const std::span<const Attribute> view(instruction.slots.data(), instruction.slots.size());
  absl::StatusOr<std::vector<int>> inputs =
      KernelInputs(*instruction.source, static_cast<int>(op.num_operands()), view);
  if (!inputs.ok()) return Reject(op, std::string(inputs.status().message()));
  TENON_RETURN_IF_ERROR(CheckTypes(op, *instruction.source, view));
  for (int input : *inputs)
    instruction.kernel_inputs.push_back(input < 0 ? -1 : instruction.operands[input]);
  instruction.symbolic_attrs = !HasConstantDims(view);
  if (!instruction.symbolic_attrs) {
    absl::StatusOr<std::shared_ptr<const void>> attrs = DecodeAttrs(*instruction.source, view);
    if (!attrs.ok()) return Reject(op, std::string(attrs.status().message()));
    instruction.attrs = *std::move(attrs);
  }
  return absl::OkStatus();
}

absl::Status FindKernel(Operation& op, std::string_view name,
                        const kernels::KernelRegistry& registry, Instruction& instruction) {
  const kernels::Kernel* kernel = registry.FindByName(name);
  if (kernel == nullptr || instruction.source->name() != kernel->op) {
    return Reject(op,
                  fmt::format("there is no kernel '{}' for {}", name, instruction.source->name()));
  }
  std::vector<Value> operands;
  for (OpOperand& operand : op.operands()) operands.push_back(operand.get());
  std::vector<Type> results;
  for (unsigned i = 0; i < op.num_results(); ++i) results.push_back(op.result(i).type());
  const std::span<const Attribute> slots(instruction.slots.data(), instruction.slots.size());
  absl::StatusOr<SignatureOf> signature =
      SignatureOf::Make(*instruction.source, slots, operands, results);
  if (!signature.ok()) return Reject(op, std::string(signature.status().message()));
  kernels::CallSignature call = signature->get();
  call.data = kernel->data.get();
  const std::string reason = kernel->supports == nullptr ? "" : kernel->supports(call);
  if (!reason.empty())
    return Reject(op, fmt::format("kernel '{}' cannot run this: {}", name, reason));
  instruction.kernel = *kernel;
  const auto is_static = [](const Value& value) { return value.type().is_static(); };
  instruction.packs_once =
      kernel->packs_once || (std::all_of(operands.begin(), operands.end(), is_static) &&
                             std::all_of(results.begin(), results.end(),
                                         [](const Type& type) { return type.is_static(); }));
  return absl::OkStatus();
}

absl::Status ReadDims(Operation& op, kernel::DimsOp dims, Instruction& instruction) {
  instruction.kind = Instruction::Kind::kDims;
  instruction.dims.assign(dims.dims().begin(), dims.dims().end());
  const Type type = op.result().type();
  const bool fits = type.dtype() == DType::kI64 && type.is_static() &&
                    type.num_elements() == static_cast<int64_t>(instruction.dims.size());
  if (fits) return absl::OkStatus();
  return Reject(op,
                fmt::format("{} dimensions cannot be a {}", instruction.dims.size(), type.text()));
}

}  // namespace

absl::Status ReadInstruction(Operation& op, const kernels::KernelRegistry& registry,
                             Instruction& instruction) {
  if (auto dims = DynCast<kernel::DimsOp>(&op)) return ReadDims(op, dims, instruction);
  if (auto view = DynCast<kernel::ViewOp>(&op)) {
    instruction.kind = Instruction::Kind::kView;
    return ReadSource(op, view.source(), view.properties(), instruction);
  }
  auto call = DynCast<kernel::CallOp>(&op);
  if (!call) {
    return Reject(
        op,
        fmt::format(
            "{} is not lowered (expected kernel.call, kernel.view, kernel.dims, core.constant or "
            "structured control flow)",
            op.name()));
  }
  instruction.kind = Instruction::Kind::kCall;
  TENON_RETURN_IF_ERROR(ReadSource(op, call.source(), call.properties(), instruction));
  TENON_RETURN_IF_ERROR(FindKernel(op, call.kernel(), registry, instruction));
  instruction.inplace = static_cast<int>(call.inplace());
  for (int64_t operand : JoinedOf(op)) instruction.joined.push_back(static_cast<int>(operand));
  instruction.parts = HasParts(op);
  return absl::OkStatus();
}

}  // namespace tenon
