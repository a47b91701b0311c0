// Shape functions of determinants and Fourier transforms.
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// The last extent: one part of each number, or two.
absl::Status CheckParts(const InferContext& c, DimExpr parts, bool inverse, bool onesided) {
  if (!parts.is_constant()) return absl::OkStatus();
  const bool complex = parts.is_constant(2);
  if (!complex && !parts.is_constant(1)) {
    return c.Error(
        fmt::format("the last axis of x has {} elements, expected 1 or 2", parts.text()));
  }
  if (onesided && complex != inverse) {
    return c.Error(inverse ? "a onesided inverse needs complex numbers"
                           : "a onesided transform needs real numbers");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InferDet(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 2) return c.Error(fmt::format("x must be of rank 2 or more, not {}", x.rank()));
  TENON_RETURN_IF_ERROR(
      MergeEqual(c, x.dim(-2), x.dim(-1), "the number of rows and columns of x").status());
  return SetTensor(c, results, x.dtype(), x.dims().first(x.rank() - 2));
}

absl::Status InferDft(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 2) return c.Error(fmt::format("x must be of rank 2 or more, not {}", x.rank()));
  TENON_ASSIGN_OR_RETURN(const int64_t axis, InferAxis(c, "axis", x.rank() - 1));
  const bool inverse = InferBool(c, "inverse"), onesided = InferBool(c, "onesided");
  TENON_RETURN_IF_ERROR(CheckParts(c, x.dim(-1), inverse, onesided));
  const int64_t length = InferI64(c, "length");
  if (length < 0) return c.Error(fmt::format("length is {}, expected 0 or more", length));
  DimVector dims(x.dims().begin(), x.dims().end());
  DimExpr n = dims[axis];
  if (inverse && onesided) n = (n - 1) * 2;
  if (length > 0) n = DimExpr::Constant(c.context, length);
  if (n.is_constant() && n.constant() < 1) {
    return c.Error(
        fmt::format("the transform would have {} elements, expected 1 or more", n.constant()));
  }
  dims[axis] = onesided && !inverse ? FloorDiv(n, 2) + 1 : n;
  dims.back() = DimExpr::Constant(c.context, onesided && inverse ? 1 : 2);
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferDynamicDft(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0);
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "axis", c.operand(1)));
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "length", c.operand(2)));
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 2) return c.Error(fmt::format("x must be of rank 2 or more, not {}", x.rank()));
  const bool inverse = InferBool(c, "inverse"), onesided = InferBool(c, "onesided");
  TENON_RETURN_IF_ERROR(CheckParts(c, x.dim(-1), inverse, onesided));
  DimVector dims(x.rank(), DimExpr::Unknown(c.context));
  dims.back() = DimExpr::Constant(c.context, onesided && inverse ? 1 : 2);
  return SetTensor(c, results, x.dtype(), dims);
}

}  // namespace tenon
