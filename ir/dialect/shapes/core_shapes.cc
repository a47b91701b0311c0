// Shape functions of the core dialect, and of ctl.fail.
#include "fmt/format.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {

absl::Status InferConstant(const InferContext& c, ResultTypes& results) {
  const Attribute value = InferAttr(c, "value");
  if (!value || value.kind() != Attribute::Kind::kElements) {
    return c.Error("value must be elements of a tensor");
  }
  return SetResult(results, value.type());
}

absl::Status InferDims(const InferContext& c, ResultTypes& results) {
  const std::span<const DimExpr> dims = InferDimList(c, "dims");
  if (!InferBool(c, "scalar")) {
    const DimExpr extent = DimExpr::Constant(c.context, static_cast<int64_t>(dims.size()));
    return SetTensor(c, results, DType::kI64, {&extent, 1});
  }
  if (dims.size() != 1) {
    return c.Error(fmt::format("dims has {} elements, expected 1 for a scalar", dims.size()));
  }
  return SetTensor(c, results, DType::kI64, {});
}

absl::Status InferFail(const InferContext& c, ResultTypes& results) {
  const std::span<const DimExpr> shape = InferDimList(c, "shape");
  for (DimExpr extent : shape) {
    if (extent.is_constant() && extent.constant() < 0) {
      return c.Error(fmt::format("shape has the extent {} (expected at least 0)", extent.text()));
    }
  }
  const Attribute to = InferAttr(c, "to");
  if (!to || to.kind() != Attribute::Kind::kType || to.type().dtype() == DType::kInvalid) {
    return c.Error("to must be an element type");
  }
  return SetTensor(c, results, to.type().dtype(), shape);
}

}  // namespace tenon
