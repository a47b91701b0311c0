// Shape functions of ten: elementwise ops, products, reductions. See ten_movement_shapes.cc for the
// rest.
#include <algorithm>
#include <bit>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// The result's element type: fixed by the definition, or `otherwise`.
DType ResultDType(const InferContext& c, DType otherwise) {
  if (c.info.def().results.empty()) return otherwise;
  const TypeConstraint& constraint = c.info.def().results[0].constraint;
  if (constraint.any || !std::has_single_bit(constraint.dtypes)) return otherwise;
  return static_cast<DType>(std::countr_zero(constraint.dtypes));
}

absl::Status BroadcastAll(const InferContext& c, DType dtype, ResultTypes& results) {
  // A type broadcast with itself is itself; most ops need no more.
  const Type first = c.operands[0];
  if (first.is_tensor() && first.dtype() == dtype &&
      std::ranges::all_of(c.operands, [&](Type t) { return t == first; })) {
    return SetResult(results, first);
  }
  DimVector dims;
  for (Type operand : c.operands) {
    if (!operand.is_tensor()) return SetResult(results, Type::Unranked(c.context, dtype));
  }
  for (Type operand : c.operands) TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, operand.dims()));
  return SetTensor(c, results, dtype, dims);
}

}  // namespace

absl::Status InferElementwise(const InferContext& c, ResultTypes& results) {
  if (c.operands.empty()) return c.Error("expected at least one operand");
  return BroadcastAll(c, ResultDType(c, c.operands[0].dtype()), results);
}

absl::Status InferSameAsFirst(const InferContext& c, ResultTypes& results) {
  if (c.operands.empty()) return c.Error("expected at least one operand");
  const Type x = c.operands[0];
  if (x.is_tensor() && c.info.FindSlot("axis") >= 0) {
    TENON_RETURN_IF_ERROR(InferAxis(c, "axis", x.rank()).status());
  }
  const DType dtype = ResultDType(c, x.dtype());
  return SetResult(results, dtype == x.dtype() ? x : WithDType(x, dtype));
}

absl::Status InferTrilu(const InferContext& c, ResultTypes& results) {
  if (const Type x = c.operand(0); x.is_tensor() && x.rank() < 2) {
    return c.Error(fmt::format("x must be of rank 2 or more, not {}", x.rank()));
  }
  return InferSameAsFirst(c, results);
}

absl::Status InferCast(const InferContext& c, ResultTypes& results) {
  const Attribute to = InferAttr(c, "to");
  if (!to || to.kind() != Attribute::Kind::kType || to.type().dtype() == DType::kInvalid) {
    return c.Error("to must be an element type");
  }
  if (IsNarrow(to.type().dtype())) {
    return c.Error(
        fmt::format("to must be i1 or a number of 8 bits or more, not {} (q.encode makes it)",
                    Name(to.type().dtype())));
  }
  return SetResult(results, WithDType(c.operands[0], to.type().dtype()));
}

absl::Status InferWhere(const InferContext& c, ResultTypes& results) {
  const Type a = c.operands[1], b = c.operands[2];
  if (a.dtype() != b.dtype()) {
    return c.Error(fmt::format("operands a and b must have one element type, not {} and {}",
                               Name(a.dtype()), Name(b.dtype())));
  }
  return BroadcastAll(c, a.dtype(), results);
}

absl::Status InferMatMul(const InferContext& c, ResultTypes& results) {
  const Type a = c.operands[0], b = c.operands[1];
  if (!a.is_tensor() || !b.is_tensor()) {
    return SetResult(results, Type::Unranked(c.context, a.dtype()));
  }
  DimVector lhs(a.dims().begin(), a.dims().end());
  DimVector rhs(b.dims().begin(), b.dims().end());
  if (lhs.empty() || rhs.empty()) return c.Error("operands must have rank 1 or more, not 0");
  const bool a_vector = lhs.size() == 1, b_vector = rhs.size() == 1;
  if (InferBool(c, "transpose_a")) {
    if (a_vector) return c.Error("transpose_a needs operand a of rank 2 or more, not 1");
    std::swap(lhs[lhs.size() - 1], lhs[lhs.size() - 2]);
  }
  if (InferBool(c, "transpose_b")) {
    if (b_vector) return c.Error("transpose_b needs operand b of rank 2 or more, not 1");
    std::swap(rhs[rhs.size() - 1], rhs[rhs.size() - 2]);
  }
  const DimExpr a_inner = lhs.back();
  const DimExpr b_inner = b_vector ? rhs[0] : rhs[rhs.size() - 2];
  if (ProvablyDifferent(a_inner, b_inner)) {
    return c.Error(fmt::format(
        "the inner extents must agree, but a has {} and b has {} (shapes {} and {}{}{})",
        a_inner.text(), b_inner.text(), DimsText(a.dims()), DimsText(b.dims()),
        InferBool(c, "transpose_a") ? ", a transposed" : "",
        InferBool(c, "transpose_b") ? ", b transposed" : ""));
  }
  DimVector dims(lhs.begin(), lhs.end() - (a_vector ? 1 : 2));
  const std::span<const DimExpr> b_batch(rhs.data(), rhs.size() - (b_vector ? 1 : 2));
  TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, b_batch));
  if (!a_vector) dims.push_back(lhs[lhs.size() - 2]);
  if (!b_vector) dims.push_back(rhs.back());
  return SetTensor(c, results, a.dtype(), dims);
}

absl::Status InferReduce(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const int64_t> axes = InferI64s(c, "axes");
  if (!x.is_tensor()) return SetResult(results, x);
  TENON_RETURN_IF_ERROR(CheckAxes(c, "axes", axes, x.rank()));
  const bool keep = InferBool(c, "keepdims");
  DimVector dims;
  size_t next = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (next < axes.size() && axes[next] == i) {
      ++next;
      if (keep) dims.push_back(DimExpr::Constant(c.context, 1));
    } else {
      dims.push_back(x.dim(i));
    }
  }
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferArgReduce(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) return SetResult(results, WithDType(x, DType::kI64));
  const int64_t axis = InferI64(c, "axis");
  if (axis < 0 || axis >= x.rank()) {
    return c.Error(fmt::format("axis {} is out of range for rank {}", axis, x.rank()));
  }
  if (x.dim(axis).is_constant(0)) return c.Error("the axis has no elements to choose from");
  DimVector dims;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      dims.push_back(x.dim(i));
    } else if (InferBool(c, "keepdims")) {
      dims.push_back(DimExpr::Constant(c.context, 1));
    }
  }
  return SetTensor(c, results, DType::kI64, dims);
}

}  // namespace tenon
