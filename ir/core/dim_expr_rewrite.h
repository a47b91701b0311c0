// Dimension expressions taken apart and put together again.
#ifndef TENON_IR_CORE_DIM_EXPR_REWRITE_H_
#define TENON_IR_CORE_DIM_EXPR_REWRITE_H_

#include <functional>
#include <optional>
#include <span>

#include "ir/core/dim_expr.h"

namespace tenon {

// Replaces symbols and floordiv, mod, min and broadcast terms for which `replace` gives an
// expression, from the inside out. What it gives is not looked at again.
DimExpr Rewrite(DimExpr e, const std::function<std::optional<DimExpr>(DimExpr term)>& replace);

// Visits the summands of a known expression: coefficient * the product of factors, none for a
// number.
void ForEachTerm(DimExpr e,
                 const std::function<void(int64_t coefficient, std::span<const DimExpr>)>& visit);

// The operands of a floordiv, mod, min or broadcast term.
DimExpr FirstOperand(DimExpr term);
DimExpr SecondOperand(DimExpr term);

}  // namespace tenon

#endif  // TENON_IR_CORE_DIM_EXPR_REWRITE_H_
