// Arithmetic and logic on the elements of tensors that are known as dimension expressions. What
// cannot be told is Unknown, or nothing.
#ifndef TENON_IR_DIALECT_SHAPE_ARITHMETIC_H_
#define TENON_IR_DIALECT_SHAPE_ARITHMETIC_H_

#include <optional>

#include "ir/core/dim_expr.h"

namespace tenon::elements {

DimExpr Truth(Context& context, std::optional<bool> value);
std::optional<bool> Not(std::optional<bool> v);
std::optional<bool> AsBool(DimExpr e);

DimExpr Divide(DimExpr a, DimExpr b);  // truncates
DimExpr Remainder(DimExpr a, DimExpr b, bool sign_of_a);
DimExpr Abs(DimExpr e);
DimExpr Select(DimExpr condition, DimExpr a, DimExpr b);
DimExpr Logic(DimExpr a, DimExpr b, bool conjunction);

}  // namespace tenon::elements

#endif  // TENON_IR_DIALECT_SHAPE_ARITHMETIC_H_
