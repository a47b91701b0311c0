// Floats in shape computations, such as an extent times 0.5, rounded down. A float x is represented
// by the expression of kFloatUnit * x, if that is an integer.
#ifndef TENON_IR_DIALECT_SHAPES_SHAPE_FLOATS_H_
#define TENON_IR_DIALECT_SHAPES_SHAPE_FLOATS_H_

#include "ir/base/dtype.h"
#include "ir/core/dims/dim_expr.h"

namespace tenon {

inline constexpr int64_t kFloatUnit = 4096;
// Tensors with more elements are ignored.
inline constexpr int64_t kMaxFloats = 8;

inline bool IsShapeFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// Returns `e` if float arithmetic on it is exact, and Unknown otherwise. It is exact for a sum of
// extents, each times a number of at most 8 significant bits. Assumes extents below 2^16.
DimExpr IfExact(DimExpr e);

// The functions below take and return represented floats, unless noted. They return Unknown if the
// result cannot be represented.
DimExpr FloatConstant(Context& context, double value);
DimExpr FloatFromInt(DimExpr e);  // `e` is an integer
DimExpr IntFromFloat(DimExpr e);  // the result is an integer, rounded toward zero
DimExpr FloatProduct(DimExpr a, DimExpr b);
DimExpr FloatQuotient(DimExpr a, DimExpr b);
DimExpr FloatFloor(DimExpr e);
DimExpr FloatCeil(DimExpr e);
DimExpr FloatRound(DimExpr e);  // halves to even

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPES_SHAPE_FLOATS_H_
