#include "executor/prepare/concrete_shapes.h"

#include "executor/prepare/run_time_shapes.h"
#include "executor/tensor.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon {
namespace {

// Why a type that was inferred from numbers is not static. A sum or product beyond 64 bits is not
// known, and neither is what a shape function of a program leaves open.
std::string OpenShapeText(Type type) {
  if (!type.is_tensor()) return fmt::format("is {} (expected a tensor of known rank)", type.text());
  for (size_t i = 0; i < type.dims().size(); ++i) {
    const DimExpr dim = type.dims()[i];
    if (dim.is_constant() && dim.constant() >= 0) continue;
    const std::string extent = dim.is_constant() ? fmt::format("{}", dim.constant())
                                                 : std::string("not known, or more than 64 bits");
    return fmt::format("is {}, whose extent at dimension {} is {} (expected a number from 0)",
                       type.text(), i, extent);
  }
  return fmt::format("is {}", type.text());
}

}  // namespace

absl::StatusOr<Slots> ConcreteSlots(const OpInfo& info, std::span<const Attribute> slots,
                                    const SymbolLookup& symbols) {
  Slots concrete(slots.begin(), slots.end());
  for (size_t i = 0; i < concrete.size(); ++i) {
    if (!concrete[i] || concrete[i].kind() != Attribute::Kind::kDims) continue;
    std::vector<DimExpr> dims;
    for (DimExpr dim : concrete[i].dims()) {
      std::optional<int64_t> value = dim.Evaluate(symbols);
      // It may have extents that nothing computes, because no run gets as far as its result.
      if (!value && info.id() == ctl::FailOp::kId) value = 0;
      if (!value) {
        return absl::FailedPreconditionError(
            fmt::format("{}: '{}' in attribute '{}' has no value", info.name(), dim.text(),
                        info.slot_name(static_cast<int>(i)).str()));
      }
      dims.push_back(DimExpr::Constant(info.context(), *value));
    }
    concrete[i] = Attribute::Dims(info.context(), dims);
  }
  return concrete;
}

bool HasConstantDims(std::span<const Attribute> slots) {
  for (Attribute slot : slots) {
    if (!slot || slot.kind() != Attribute::Kind::kDims) continue;
    for (DimExpr dim : slot.dims()) {
      if (!dim.is_constant()) return false;
    }
  }
  return true;
}

std::optional<std::vector<int64_t>> StaticShape(Type type) {
  if (!type.is_tensor()) return std::nullopt;
  const std::span<const DimExpr> dims = type.dims();
  std::vector<int64_t> shape;
  shape.reserve(dims.size());
  for (DimExpr dim : dims) {
    if (!dim.is_constant() || dim.constant() < 0) return std::nullopt;
    shape.push_back(dim.constant());
  }
  return shape;
}

std::optional<int64_t> StaticBytes(Type type) {
  const std::optional<std::vector<int64_t>> shape = StaticShape(type);
  if (!shape) return std::nullopt;
  const absl::StatusOr<int64_t> bytes = CheckedBytes(type.dtype(), *shape);
  if (!bytes.ok()) return std::nullopt;
  return *bytes;
}

absl::StatusOr<std::vector<ResultShape>> ConcreteResults(
    const OpInfo& info, Location location, std::span<const Attribute> slots,
    std::span<const kernels::TensorView> operands, std::shared_ptr<kernels::KernelState>* found) {
  std::vector<Type> types;
  types.reserve(operands.size());
  for (const kernels::TensorView& view : operands)
    types.push_back(Type::Tensor(info.context(), view.dtype, view.shape));
  ResultTypes inferred;
  TENON_RETURN_IF_ERROR(
      InferResultTypes(info, location, std::span<const Type>(types), slots, inferred));
  std::vector<ResultShape> results;
  results.reserve(inferred.size());
  // Also where the types say all: the values may be wrong.
  std::vector<std::vector<int64_t>> run_time;
  if (HasRunTimeShape(info.id())) {
    TENON_ASSIGN_OR_RETURN(const std::vector<int> inputs,
                           KernelInputs(info, static_cast<int>(operands.size()), slots));
    std::vector<kernels::TensorView> by_group;
    by_group.reserve(inputs.size());
    for (int input : inputs)
      by_group.push_back(input < 0 ? kernels::TensorView() : operands[input]);
    TENON_ASSIGN_OR_RETURN(run_time, RunTimeShapes(info, slots, by_group, found));
  }
  for (size_t i = 0; i < inferred.size(); ++i) {
    const Type type = inferred[i];
    ResultShape result;
    result.dtype = type.dtype();
    if (!run_time.empty()) {
      result.shape = std::move(run_time[i]);
    } else if (std::optional<std::vector<int64_t>> shape = StaticShape(type)) {
      result.shape = *std::move(shape);
    } else {
      return absl::InvalidArgumentError(
          fmt::format("{}: result {} {}", info.name(), i, OpenShapeText(type)));
    }
    const absl::StatusOr<int64_t> bytes = CheckedBytes(result.dtype, result.shape);
    if (!bytes.ok()) {
      return absl::Status(
          bytes.status().code(),
          fmt::format("{}: result {}", info.name(), std::string(bytes.status().message())));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tenon
