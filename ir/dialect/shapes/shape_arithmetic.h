// Arithmetic and logic on tensor elements that are dimension expressions. Results that cannot be
// determined are Unknown, or nullopt. Truth values are 0 and 1.
#ifndef TENON_IR_DIALECT_SHAPES_SHAPE_ARITHMETIC_H_
#define TENON_IR_DIALECT_SHAPES_SHAPE_ARITHMETIC_H_

#include <optional>

#include "ir/core/dims/dim_expr.h"

namespace tenon::elements {

// 0, 1, or Unknown for nullopt.
DimExpr Truth(Context& context, std::optional<bool> value);
std::optional<bool> Not(std::optional<bool> v);
// False for 0; true for a constant other than 0, or an expression that is provably not 0.
std::optional<bool> AsBool(DimExpr e);

// Quotient truncated toward zero.
DimExpr Divide(DimExpr a, DimExpr b);
// Remainder of the division; it has the sign of `a` or that of `b`.
DimExpr Remainder(DimExpr a, DimExpr b, bool sign_of_a);
DimExpr Abs(DimExpr e);
// `a` where the condition is true, `b` where it is false.
DimExpr Select(DimExpr condition, DimExpr a, DimExpr b);
// And (`conjunction`) or or of two truth values.
DimExpr Logic(DimExpr a, DimExpr b, bool conjunction);

}  // namespace tenon::elements

#endif  // TENON_IR_DIALECT_SHAPES_SHAPE_ARITHMETIC_H_
