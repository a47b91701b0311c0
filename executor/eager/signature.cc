#include "executor/eager/signature.h"

#include <utility>

#include "executor/prepare/run_time_shapes.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::eager {
namespace {

// The operands in the order of the IR, which has no place for absent ones.
struct Given {
  std::vector<Type> types;
  std::vector<kernels::TensorView> views;
  std::vector<int64_t> segments;  // the number of operands of each group
};

absl::StatusOr<Given> ReadOperands(const OpInfo& info,
                                   std::span<const std::span<const Tensor>> operands) {
  const OpDef& def = info.def();
  if (operands.size() != def.operands.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} operands (expected {})", operands.size(), def.operands.size()));
  }
  Given given;
  for (size_t group = 0; group < operands.size(); ++group) {
    const OperandDef& wanted = def.operands[group];
    const bool one = wanted.arity != Arity::kVariadic;
    if (one && operands[group].size() != 1) {
      return absl::InvalidArgumentError(fmt::format("operand '{}' has {} tensors (expected one)",
                                                    wanted.name, operands[group].size()));
    }
    int64_t present = 0;
    for (const Tensor& tensor : operands[group]) {
      if (!tensor) {
        if (wanted.arity == Arity::kOptional) continue;
        return absl::InvalidArgumentError(
            fmt::format("operand '{}' is a null tensor (only optional ones may be)", wanted.name));
      }
      ++present;
      given.types.push_back(Type::Tensor(info.context(), tensor.dtype(), tensor.shape()));
      given.views.push_back(tensor.view());
    }
    given.segments.push_back(present);
  }
  return given;
}

Slots SlotsOf(const OpInfo& info, const OpEntry& op, const void* attrs,
              std::span<const int64_t> segments) {
  Slots slots(static_cast<size_t>(info.num_slots()));
  if (op.write != nullptr) op.write(info.context(), attrs, std::span(slots.data(), slots.size()));
  const int sizes = info.FindSlot("operandSegmentSizes");
  if (sizes >= 0)
    slots[static_cast<size_t>(sizes)] = Attribute::Ints(info.context(), DType::kI32, segments);
  return FillDefaults(info, std::span<const Attribute>(slots.data(), slots.size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Signature>> MakeSignature(
    Context& context, const kernels::KernelRegistry& registry, bool reference_only,
    const OpEntry& op, std::span<const std::span<const Tensor>> operands, const void* attrs,
    std::vector<std::string>& why_not) {
  const OpInfo* info = context.FindOp(op.name);
  TENON_CHECK(info != nullptr && info->is_registered());
  TENON_ASSIGN_OR_RETURN(const Given given, ReadOperands(*info, operands));
  auto made = std::make_unique<Signature>();
  made->info = info;
  made->slots = SlotsOf(*info, op, attrs, given.segments);
  const std::span<const Attribute> slots(made->slots.data(), made->slots.size());

  // The call as an operation, so that the verifier checks it and a kernel can be chosen.
  ResultTypes results;
  TENON_RETURN_IF_ERROR(
      InferResultTypes(*info, Location(), std::span<const Type>(given.types), slots, results));
  const OwnedOp module = CreateModule(context);
  Operation* function =
      CreateFunction(module.get(), "call", Type::Function(context, given.types, {}));
  Block& block = function->region(0).front();
  std::vector<Value> values;
  for (unsigned i = 0; i < given.types.size(); ++i) values.push_back(block.argument(i));
  Operation* call = Operation::Create(
      *info, Location(), std::span<const Type>(results.data(), results.size()), values, slots);
  block.Append(call);
  TENON_RETURN_IF_ERROR(Verify(call));

  made->by_value = HasRunTimeShape(info->id());
  if (call->Has(Trait::kView)) {
    made->kind = Signature::Kind::kView;
  } else if (Isa<ten::ShapeOp>(*call)) {
    made->kind = Signature::Kind::kShape;
  } else {
    TENON_ASSIGN_OR_RETURN(kernels::KernelRegistry::Choice choice,
                           ChooseKernel(registry, *call, reference_only));
    why_not = choice.why_not;
    if (choice.kernel == nullptr) {
      std::string reasons = "no kernel supports the call";
      for (const std::string& reason : choice.why_not) reasons += "; " + reason;
      return absl::UnimplementedError(reasons);
    }
    made->kernel = choice.kernel;
    made->why_not = std::move(choice.why_not);
  }
  if (!made->by_value) {
    TENON_ASSIGN_OR_RETURN(made->results, ConcreteResults(*info, Location(), slots, given.views));
  }
  if (op.copy != nullptr) made->attrs = op.copy(attrs);
  return made;
}

}  // namespace tenon::eager
