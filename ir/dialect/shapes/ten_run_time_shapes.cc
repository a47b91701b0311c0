// Shape functions of ten's ops whose result depends on values: what can be said before they are
// known.
#include <algorithm>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/pad_value.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

constexpr int64_t kMaxInferredRank = 64;

DimVector DimsOfShape(Type type) { return DimVector(type.dims().begin(), type.dims().end()); }

DimVector UnknownDims(const InferContext& c, int64_t rank) {
  return DimVector(rank, DimExpr::Unknown(c.context));
}

// Number of elements of an operand of rank 0 or 1; -1 if its type does not tell.
int64_t CountOf(Type type) {
  if (!type.is_tensor() || type.rank() > 1) return -1;
  if (type.rank() == 0) return 1;
  return type.dim(0).is_constant() && type.dim(0).constant() <= kMaxInferredRank
             ? type.dim(0).constant()
             : -1;
}

absl::Status CheckList(const InferContext& c, std::string_view what, Type type) {
  if (!type || !type.is_tensor() || type.rank() <= 1) return absl::OkStatus();
  return c.Error(fmt::format("{} must be a vector, not of rank {}", what, type.rank()));
}

absl::Status CheckScalar(const InferContext& c, std::string_view what, Type type) {
  TENON_RETURN_IF_ERROR(CheckList(c, what, type));
  if (!type.is_tensor() || type.rank() == 0 ||
      !ProvablyDifferent(type.dim(0), DimExpr::Constant(c.context, 1)))
    return absl::OkStatus();
  return c.Error(fmt::format("{} must be one element, not {}", what, type.dim(0).text()));
}

absl::Status TopKResults(const InferContext& c, DimExpr k, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) {
    results.push_back(x);
    return SetResult(results, Type::Unranked(c.context, DType::kI64));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", x.rank()));
  DimVector dims = DimsOfShape(x);
  if (k.is_constant() &&
      (k.constant() < 0 || (dims[axis].is_constant() && k.constant() > dims[axis].constant()))) {
    return c.Error(fmt::format("k is {}, but axis {} has {} elements, expected 0 to {}", k.text(),
                               axis, dims[axis].text(), dims[axis].text()));
  }
  dims[axis] = k;
  TENON_RETURN_IF_ERROR(SetTensor(c, results, x.dtype(), dims));
  return SetTensor(c, results, DType::kI64, dims);
}

}  // namespace

absl::Status InferBitcast(const InferContext& c, ResultTypes& results) {
  const Attribute to = InferAttr(c, "to");
  if (!to || to.kind() != Attribute::Kind::kType || to.type().dtype() == DType::kInvalid) {
    return c.Error("to must be an element type");
  }
  const DType from = c.operands[0].dtype(), made = to.type().dtype();
  for (const DType dtype : {from, made}) {
    if (IsNarrow(dtype) && BitsOf(dtype) < 8)
      return c.Error(fmt::format("{} has fewer than 8 bits", Name(dtype)));
  }
  if (SizeOf(from) != SizeOf(made)) {
    return c.Error(fmt::format("{} and {} differ in size", Name(from), Name(made)));
  }
  return SetResult(results, WithDType(c.operands[0], made));
}

absl::Status InferCheckRange(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (x.is_tensor()) {
    TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "low", c.operands[1], x.dims()));
    TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "high", c.operands[2], x.dims()));
  }
  return SetResult(results, x);
}

absl::Status InferDynamicReduce(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  TENON_RETURN_IF_ERROR(CheckList(c, "axes", c.operands[1]));
  if (!x.is_tensor()) return SetResult(results, x);
  const int64_t count = CountOf(c.operands[1]);
  if (InferBool(c, "keepdims")) {
    return SetTensor(c, results, x.dtype(), UnknownDims(c, x.rank()));
  }
  if (count < 0) return SetResult(results, Type::Unranked(c.context, x.dtype()));
  if (count > x.rank()) {
    return c.Error(fmt::format("axes has {} elements, but x has rank {}", count, x.rank()));
  }
  const bool none = count == 0 && InferBool(c, "noop_with_empty_axes");
  if (none) return SetResult(results, x);
  return SetTensor(c, results, x.dtype(), UnknownDims(c, count == 0 ? 0 : x.rank() - count));
}

absl::Status InferTopK(const InferContext& c, ResultTypes& results) {
  const std::span<const DimExpr> k = InferDimList(c, "k");
  if (k.size() != 1) return c.Error(fmt::format("k has {} elements, expected 1", k.size()));
  return TopKResults(c, k[0], results);
}

absl::Status InferDynamicTopK(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckScalar(c, "k", c.operands[1]));
  return TopKResults(c, DimExpr::Unknown(c.context), results);
}

absl::Status InferDynamicSqueeze(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  TENON_RETURN_IF_ERROR(CheckList(c, "axes", c.operands[1]));
  const int64_t count = CountOf(c.operands[1]);
  if (!x.is_tensor() || count < 0) return SetResult(results, Type::Unranked(c.context, x.dtype()));
  if (count > x.rank()) {
    return c.Error(fmt::format("axes has {} elements, but x has rank {}", count, x.rank()));
  }
  return SetTensor(c, results, x.dtype(), UnknownDims(c, x.rank() - count));
}

absl::Status InferDynamicUnsqueeze(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  TENON_RETURN_IF_ERROR(CheckList(c, "axes", c.operands[1]));
  const int64_t count = CountOf(c.operands[1]);
  if (!x.is_tensor() || count < 0) return SetResult(results, Type::Unranked(c.context, x.dtype()));
  return SetTensor(c, results, x.dtype(), UnknownDims(c, x.rank() + count));
}

absl::Status InferScatterElements(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0], indices = c.operands[1], updates = c.operands[2];
  TENON_RETURN_IF_ERROR(CheckReduction(c, x.dtype()));
  if (x.dtype() != updates.dtype()) {
    return c.Error(fmt::format("x and updates must have one element type, not {} and {}",
                               Name(x.dtype()), Name(updates.dtype())));
  }
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_RETURN_IF_ERROR(InferAxis(c, "axis", x.rank()).status());
  TENON_RETURN_IF_ERROR(CheckRank(c, "indices", indices, x.rank()));
  TENON_RETURN_IF_ERROR(CheckRank(c, "updates", updates, x.rank()));
  for (int64_t i = 0; indices.is_tensor() && updates.is_tensor() && i < x.rank(); ++i) {
    TENON_RETURN_IF_ERROR(MergeEqual(c, indices.dim(i), updates.dim(i),
                                     fmt::format("extent {} of indices and updates", i))
                              .status());
  }
  return SetResult(results, x);
}

absl::Status InferNonZero(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  DimVector dims = UnknownDims(c, 2);
  if (x.is_tensor()) dims[0] = DimExpr::Constant(c.context, x.rank());
  return SetTensor(c, results, DType::kI64, dims);
}

absl::Status InferUnique(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  DimVector dims = UnknownDims(c, 1), inverse = UnknownDims(c, 1);
  const DimVector count = UnknownDims(c, 1);
  const bool flat = InferBool(c, "flat");
  if (x.is_tensor() && flat) {
    inverse[0] = Product(c.context, x.dims());
  } else if (x.is_tensor()) {
    TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", x.rank()));
    dims = DimsOfShape(x);
    inverse[0] = dims[axis];
    dims[axis] = DimExpr::Unknown(c.context);
  }
  if (!x.is_tensor() && !flat) {
    results.push_back(x);
  } else {
    TENON_RETURN_IF_ERROR(SetTensor(c, results, x.dtype(), dims));
  }
  TENON_RETURN_IF_ERROR(SetTensor(c, results, DType::kI64, count));
  TENON_RETURN_IF_ERROR(SetTensor(c, results, DType::kI64, inverse));
  return SetTensor(c, results, DType::kI64, count);
}

absl::Status InferDynamicPad(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), pads = c.operand(1), value = c.operand(2), axes = c.operand(3);
  TENON_RETURN_IF_ERROR(CheckPadValue(c, x, value));
  TENON_RETURN_IF_ERROR(CheckList(c, "pads", pads));
  if (axes) TENON_RETURN_IF_ERROR(CheckList(c, "axes", axes));
  if (!x.is_tensor()) return SetResult(results, x);
  const int64_t padded = axes ? CountOf(axes) : x.rank(), count = CountOf(pads);
  if (padded >= 0 && count >= 0 && count != 2 * padded) {
    return c.Error(fmt::format("pads has {} elements for {} axes", count, padded));
  }
  return SetTensor(c, results, x.dtype(), UnknownDims(c, x.rank()));
}

absl::Status InferDynamicResize(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), scales = c.operand(2), sizes = c.operand(3);
  if (!scales == !sizes) return c.Error("either scales or sizes must be given");
  for (Type list : {c.operand(1), scales, sizes}) {
    if (list) TENON_RETURN_IF_ERROR(CheckRank(c, "roi, scales or sizes", list, 1));
  }
  if (!x.is_tensor()) return SetResult(results, x);
  const std::span<const int64_t> axes = InferI64s(c, "axes");
  const int64_t resized = axes.empty() ? x.rank() : static_cast<int64_t>(axes.size());
  const int64_t count = CountOf(sizes ? sizes : scales);
  if (count >= 0 && count != resized) {
    return c.Error(
        fmt::format("{} has {} elements for {} axes", sizes ? "sizes" : "scales", count, resized));
  }
  if (axes.empty()) return SetTensor(c, results, x.dtype(), UnknownDims(c, x.rank()));
  DimVector dims = DimsOfShape(x);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= x.rank()) {
      return c.Error(fmt::format("axes holds {}, expected axes in [0, {})", axis, x.rank()));
    }
    dims[axis] = DimExpr::Unknown(c.context);
  }
  return SetTensor(c, results, x.dtype(), dims);
}

}  // namespace tenon
