// Taking dimension expressions apart and building them again.
#ifndef TENON_IR_CORE_DIMS_DIM_EXPR_REWRITE_H_
#define TENON_IR_CORE_DIMS_DIM_EXPR_REWRITE_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/core/dims/dim_expr.h"

namespace tenon {

// Offers symbols and floordiv, mod, min and broadcast terms to `replace`, from the inside out, and
// puts the expression that it returns in their place. Replacements are not offered again.
DimExpr Rewrite(DimExpr e, const std::function<std::optional<DimExpr>(DimExpr term)>& replace);

// Calls `visit` for each summand of `e`, which must not be Unknown. A summand is `coefficient`
// times the product of the factors; a constant has no factors.
void ForEachTerm(DimExpr e,
                 const std::function<void(int64_t coefficient, std::span<const DimExpr>)>& visit);

// The operands of a floordiv, mod, min or broadcast term.
DimExpr FirstOperand(DimExpr term);
DimExpr SecondOperand(DimExpr term);

// The extents that a broadcast term joins, in order of their texts. None of them is a broadcast.
// For any other expression, that expression alone.
std::vector<DimExpr> BroadcastParts(DimExpr e);

}  // namespace tenon

#endif  // TENON_IR_CORE_DIMS_DIM_EXPR_REWRITE_H_
