#include "executor/evaluator.h"

#include <algorithm>

#include "executor/attr_decode.h"
#include "executor/lowering/lowered_op.h"
#include "executor/memory/lasting_memory.h"
#include "executor/prepare/concrete_shapes.h"
#include "executor/prepare/kernel_call.h"
#include "executor/tensor.h"
#include "executor/weights/large_constant.h"
#include "executor/weights/moved_constant.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "kernels/op_cost.h"

namespace tenon {
namespace {

using kernels::TensorView;

// Everything on the calling thread.
class Serial : public kernels::ParallelFor {
 public:
  int num_threads() const override { return 1; }
  void Run(int64_t n, int64_t, void (*f)(void*, int64_t, int64_t), void* arg) override {
    if (n > 0) f(arg, 0, n);
  }
};

Attribute ToElements(Context& context, const Tensor& tensor) {
  const Type type = Type::Tensor(context, tensor.dtype(), tensor.shape());
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(tensor.data()),
                                         tensor.num_bytes());
  // Of large results no copy is made: nobody writes to them any more.
  constexpr size_t kSmall = 4096;
  if (bytes.size() <= kSmall) return Attribute::Elements(context, type, bytes);
  return Attribute::Elements(context, type, Blob::Borrow(bytes, tensor.owner()));
}

// Weights in a model's file, say: read where they are if the kernel can, and not left in memory.
bool IsLarge(Attribute elements) {
  return IsLargeElements(elements) && StoredBytes(elements) >= LargeConstant::kBytes;
}

// An operand of a kernel, which never writes to it. Small contents are read where the attribute has
// them: they stay as long as the context.
//
// `only_shape`: of deferred contents, which are computed for the call and not kept.
absl::StatusOr<Tensor> OperandOf(Attribute elements, bool only_shape) {
  const Type type = elements.type();
  const bool large = IsLargeElements(elements);
  const std::shared_ptr<const DeferredBlob> deferred = large ? DeferredBlobOf(elements) : nullptr;
  if (deferred == nullptr && (large || (elements.is_splat() && type.num_elements() != 1)))
    return Tensor::FromAttribute(elements, IsLarge(elements));
  std::vector<int64_t> shape;
  shape.reserve(type.dims().size());
  for (const DimExpr dim : type.dims()) shape.push_back(dim.constant());
  if (deferred != nullptr) {
    if (only_shape) return Tensor::Borrow(type.dtype(), shape, nullptr, nullptr);
    std::shared_ptr<const Blob> made = deferred->Bytes();
    if (made == nullptr) {
      return absl::ResourceExhaustedError(
          fmt::format("a constant of {} does not fit the memory {}", type.text(), kMemoryLimit));
    }
    void* bytes = const_cast<std::byte*>(made->bytes().data());
    return Tensor::Borrow(type.dtype(), shape, bytes, std::move(made));
  }
  void* data = const_cast<std::byte*>(elements.raw_bytes().data());
  return Tensor::Borrow(type.dtype(), shape, data, nullptr);
}

absl::StatusOr<Tensor> MakeLasting(const ResultShape& shape) {
  Tensor tensor = Tensor::Borrow(shape.dtype, shape.shape, nullptr, nullptr);
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> memory,
                         AllocateLasting(tensor.num_bytes()));
  return Tensor::Borrow(shape.dtype, shape.shape, memory.get(), memory);
}

Attribute IntVector(Context& context, std::span<const int64_t> values, bool scalar) {
  const auto length = static_cast<int64_t>(values.size());
  const Type type = Type::Tensor(context, DType::kI64,
                                 scalar ? std::span<const int64_t>() : std::span(&length, 1));
  return Attribute::Elements(context, type, std::as_bytes(values));
}

}  // namespace

absl::StatusOr<std::vector<Attribute>> ReferenceEvaluator::Evaluate(
    const Operation& op, std::span<const Attribute> operands,
    const std::function<std::optional<int64_t>(std::string_view)>& symbols) {
  const OpInfo& info = op.info();
  Context& context = op.context();
  if (Isa<core::ConstantOp>(op)) return std::vector<Attribute>{op.attr("value")};
  if (!info.is_registered() || info.def().infer == nullptr) {
    return absl::UnimplementedError(fmt::format("no reference kernel for {}", info.name()));
  }
  std::vector<Tensor> inputs;
  std::vector<TensorView> operand_views;
  inputs.reserve(operands.size());
  operand_views.reserve(operands.size());
  const bool only_moves = OnlyMoves(op);
  for (Attribute operand : operands) {
    if (!operand || operand.kind() != Attribute::Kind::kElements) {
      return absl::InvalidArgumentError(
          fmt::format("an operand of {} is not constant", info.name()));
    }
    TENON_ASSIGN_OR_RETURN(inputs.emplace_back(), OperandOf(operand, only_moves));
  }
  for (const Tensor& input : inputs) operand_views.push_back(input.view());
  const SymbolLookup lookup =
      symbols ? symbols : SymbolLookup([](std::string_view) { return std::nullopt; });
  absl::StatusOr<Slots> concrete = ConcreteSlots(info, op.slots(), lookup);
  if (!concrete.ok()) return absl::InvalidArgumentError(concrete.status().message());
  const std::span<const Attribute> slots(concrete->data(), concrete->size());

  if (Isa<core::DimsOp>(op)) {
    std::vector<int64_t> values;
    for (DimExpr dim :
         op.attr("dims") ? (*concrete)[info.FindSlot("dims")].dims() : std::span<const DimExpr>()) {
      values.push_back(dim.constant());
    }
    const Attribute scalar = op.attr("scalar");
    return std::vector<Attribute>{IntVector(context, values, scalar && scalar.bool_value())};
  }
  if (Isa<ten::ShapeOp>(op)) {
    const auto shape = operand_views[0].shape;
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t start = std::clamp<int64_t>(op.attr("start").int_value(), 0, rank);
    const int64_t end = std::clamp<int64_t>(op.attr("end").int_value(), start, rank);
    return std::vector<Attribute>{IntVector(context, shape.subspan(start, end - start), false)};
  }

  absl::StatusOr<std::vector<ResultShape>> shapes =
      ConcreteResults(info, op.location(), slots, operand_views);
  if (!shapes.ok()) return shapes.status();
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const void> attrs, DecodeAttrs(info, slots));
  if (only_moves) {
    std::vector<TensorView> views;
    for (const ResultShape& shape : *shapes)
      views.push_back({.data = nullptr, .dtype = shape.dtype, .shape = shape.shape});
    if (std::optional<std::vector<Attribute>> moved =
            MoveConstants(op, operands, operand_views, views, attrs.get())) {
      return *std::move(moved);
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(inputs[i], OperandOf(operands[i], false));
      operand_views[i] = inputs[i].view();
    }
  }
  std::vector<Tensor> results;
  std::vector<TensorView> outputs;
  results.reserve(shapes->size());
  outputs.reserve(shapes->size());
  for (const ResultShape& shape : *shapes) {
    TENON_ASSIGN_OR_RETURN(results.emplace_back(), MakeLasting(shape));
  }
  for (const Tensor& result : results) outputs.push_back(result.view());

  const kernels::Kernel* kernel = nullptr;
  for (const kernels::Kernel& candidate : registry_->Find(info.name())) {
    if (std::string_view(candidate.name).starts_with("ref.")) kernel = &candidate;
  }
  if (kernel == nullptr)
    return absl::UnimplementedError(fmt::format("no reference kernel for {}", info.name()));
  TENON_ASSIGN_OR_RETURN(const std::vector<int> kernel_inputs,
                         KernelInputs(info, static_cast<int>(operands.size()), slots));
  std::vector<TensorView> in;
  in.reserve(kernel_inputs.size());
  for (int input : kernel_inputs) {
    if (input >= 0 && !inputs[input].aligned() && !kernel->reads_unaligned(in.size())) {
      TENON_ASSIGN_OR_RETURN(inputs[input], Tensor::FromAttribute(operands[input]));
      operand_views[input] = inputs[input].view();
    }
    in.push_back(input < 0 ? TensorView() : operand_views[input]);
  }

  if (!InAnyOrder(op)) {
    const double steps = kernels::CostOf(info.name(), in, outputs, attrs.get()).flops;
    TENON_RETURN_IF_ERROR(Spend(op, steps));
  }
  Serial serial;
  kernels::DeviceContext device{&serial};
  const KernelCall call{*kernel, in, outputs, attrs.get(), device};
  std::shared_ptr<kernels::KernelState> state;
  size_t scratch_bytes = 0;
  absl::Status status = PrepareKernel(call, state, scratch_bytes);
  std::shared_ptr<std::byte> scratch;
  if (scratch_bytes > 0) {
    TENON_ASSIGN_OR_RETURN(scratch, AllocateAligned(scratch_bytes));
  }
  if (status.ok()) status = RunKernel(call, state.get(), scratch.get());
  if (!status.ok()) {
    return absl::Status(status.code(),
                        fmt::format("{}: {}", info.name(), std::string(status.message())));
  }
  for (Attribute operand : operands) {
    if (IsLarge(operand) && DeferredBlobOf(operand) == nullptr) operand.blob()->DropPages();
  }
  std::vector<Attribute> attributes;
  attributes.reserve(results.size());
  for (const Tensor& result : results) attributes.push_back(ToElements(context, result));
  return attributes;
}

bool ReferenceEvaluator::InAnyOrder(const Operation& op) const {
  return !kernels::IsProduct(op.name()) && !kernels::HasManySteps(op.name());
}

absl::Status ReferenceEvaluator::Spend(const Operation& op, double steps) {
  const std::lock_guard lock(mutex_);
  if (steps <= budget_.each && steps <= budget_.all) {
    budget_.all -= steps;
    return absl::OkStatus();
  }
  const std::string message = fmt::format(
      "{} is not evaluated while compiling: it takes {:.3g} steps (expected at most {:.3g}, and "
      "{:.3g} with what was evaluated before)",
      op.name(), steps, budget_.each, total_);
  if (told_.insert(LocationText(op.context(), op.location())).second)
    EmitRemark(op.context(), op.location(), message);
  return absl::ResourceExhaustedError(message);
}

std::string KernelTarget::WhyNoKernel(const Operation& op) const {
  // These become views and plan-time values, or stay.
  if (op.Has(Trait::kView) || op.Has(Trait::kConstantLike) || Isa<core::DimsOp>(op) ||
      Isa<ten::ShapeOp>(op))
    return "";
  if (!op.info().is_registered()) return fmt::format("{} is not known", op.name());
  absl::StatusOr<kernels::KernelRegistry::Choice> choice = ChooseKernel(*registry_, op, false);
  if (!choice.ok()) return std::string(choice.status().message());
  if (choice->kernel != nullptr) return "";
  std::string reasons = fmt::format("no kernel for {}", op.name());
  for (const std::string& reason : choice->why_not) reasons += "; " + reason;
  return reasons;
}

}  // namespace tenon
