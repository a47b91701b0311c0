// Floats of shape computations (an extent times 0.5, rounded down) as dimension expressions: a
// float x is kept as the expression of kFloatUnit * x, where that is whole.
#ifndef TENON_IR_DIALECT_SHAPE_FLOATS_H_
#define TENON_IR_DIALECT_SHAPE_FLOATS_H_

#include "ir/core/dim_expr.h"
#include "ir/core/dtype.h"

namespace tenon {

inline constexpr int64_t kFloatUnit = 4096;
// More elements than a computation of sizes has are not looked at.
inline constexpr int64_t kMaxFloats = 8;

inline bool IsShapeFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// `e` if arithmetic on such floats does not round, Unknown otherwise: a sum of extents, each times
// a number of at most 8 significant bits. Extents are taken to be below 2^16 here.
DimExpr IfExact(DimExpr e);

// All of them take and give floats as they are kept, and Unknown where the result cannot be kept.
DimExpr FloatConstant(Context& context, double value);
DimExpr FloatFromInt(DimExpr e);  // takes an integer
DimExpr IntFromFloat(DimExpr e);  // gives an integer, rounded towards zero
DimExpr FloatProduct(DimExpr a, DimExpr b);
DimExpr FloatQuotient(DimExpr a, DimExpr b);
DimExpr FloatFloor(DimExpr e);
DimExpr FloatCeil(DimExpr e);
DimExpr FloatRound(DimExpr e);  // half to even

}  // namespace tenon

#endif  // TENON_IR_DIALECT_SHAPE_FLOATS_H_
