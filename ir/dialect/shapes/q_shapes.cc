// Shape functions of the q dialect.
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

absl::Status CheckZeroPoint(const InferContext& c, std::string_view what, Type zero, Type of) {
  if (zero.dtype() == of.dtype()) return absl::OkStatus();
  return c.Error(fmt::format("{} has element type {}, expected {}, that of {}", what,
                             Name(zero.dtype()), Name(of.dtype()), what.substr(0, what.find('_'))));
}

bool IsOneNumber(Type type) {
  return !type.is_tensor() || type.rank() == 0 || (type.rank() == 1 && type.dim(0).is_constant(1));
}

// The element type of attribute `to`; kInvalid if it is none.
DType TypeOfTo(const InferContext& c) {
  const Attribute to = InferAttr(c, "to");
  return to && to.kind() == Attribute::Kind::kType ? to.type().dtype() : DType::kInvalid;
}

}  // namespace

absl::Status InferEncode(const InferContext& c, ResultTypes& results) {
  const DType to = TypeOfTo(c);
  if (!IsNarrow(to))
    return c.Error("to must be an element type of 8 bits or fewer such as f8E4M3FN");
  return SetResult(results, WithDType(c.operand(0), to));
}

absl::Status InferDecode(const InferContext& c, ResultTypes& results) {
  const DType to = TypeOfTo(c);
  if (!IsInt(to) && !IsFloat(to)) return c.Error("to must be an integer or float such as f32");
  return SetResult(results, WithDType(c.operand(0), to));
}

absl::Status InferQuantizedLinear(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), w = c.operand(1), x_zero = c.operand(2), w_zero = c.operand(3);
  const Attribute to = InferAttr(c, "to");
  const bool known = to && to.kind() == Attribute::Kind::kType &&
                     (to.type().dtype() == DType::kI32 || to.type().dtype() == DType::kF32);
  if (!known) return c.Error("to must be i32 or f32");
  TENON_RETURN_IF_ERROR(CheckZeroPoint(c, "x_zero", x_zero, x));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(c, "w_zero", w_zero, w));
  if (!IsOneNumber(x_zero)) {
    return c.Error(fmt::format("x_zero of shape {} is not one number", DimsText(x_zero.dims())));
  }
  const DType dtype = to.type().dtype();
  if (!x.is_tensor()) return SetResult(results, Type::Unranked(c.context, dtype));
  if (x.rank() < 1) return c.Error("x must be of rank 1 or more, not 0");
  TENON_RETURN_IF_ERROR(CheckRank(c, "w", w, 2));
  DimVector dims(x.dims().begin(), x.dims().end());
  dims.back() = DimExpr::Unknown(c.context);
  if (w.is_tensor()) {
    dims.back() = w.dim(1);
    if (ProvablyDifferent(w.dim(0), x.dim(-1))) {
      return c.Error(fmt::format("the last extent of x is {}, but w of shape {} takes {}",
                                 x.dim(-1).text(), DimsText(w.dims()), w.dim(0).text()));
    }
  }
  if (!IsOneNumber(w_zero)) {
    TENON_RETURN_IF_ERROR(CheckVector(c, "w_zero", w_zero, dims.back()));
  }
  return SetTensor(c, results, dtype, dims);
}

absl::Status InferQuantizedConv(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), w = c.operand(1), scale = c.operand(5), out_zero = c.operand(6);
  const DType dtype = TypeOfTo(c);
  const bool is_byte = dtype == DType::kI8 || dtype == DType::kU8;
  if (!is_byte && dtype != DType::kI32 && dtype != DType::kF32) {
    return c.Error("to must be i32, f32, i8 or ui8");
  }
  if (is_byte != bool(scale)) return c.Error("scale must be given for bytes, and for nothing else");
  if (out_zero && out_zero.dtype() != dtype) {
    return c.Error(fmt::format("out_zero has element type {}, expected {}, that of the result",
                               Name(out_zero.dtype()), Name(dtype)));
  }
  TENON_RETURN_IF_ERROR(CheckZeroPoint(c, "x_zero", c.operand(2), x));
  TENON_RETURN_IF_ERROR(CheckZeroPoint(c, "w_zero", c.operand(3), w));
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "x_zero", c.operand(2)));
  TENON_RETURN_IF_ERROR(CheckOneElement(c, "out_zero", out_zero));
  if (!x.is_tensor()) return SetResult(results, Type::Unranked(c.context, dtype));
  TENON_ASSIGN_OR_RETURN(const DimVector dims, InferConvDims(c, c.operand(4)));
  const DimExpr filters = w.is_tensor() ? w.dim(0) : DimExpr::Unknown(c.context);
  if (!IsOneNumber(c.operand(3))) {
    TENON_RETURN_IF_ERROR(CheckVector(c, "w_zero", c.operand(3), filters));
  }
  if (scale && !IsOneNumber(scale)) {
    TENON_RETURN_IF_ERROR(CheckVector(c, "scale", scale, filters));
  }
  return SetTensor(c, results, dtype, dims);
}

}  // namespace tenon
