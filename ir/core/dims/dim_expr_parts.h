// The parts of a dimension expression, for code that computes its value.
#ifndef TENON_IR_CORE_DIMS_DIM_EXPR_PARTS_H_
#define TENON_IR_CORE_DIMS_DIM_EXPR_PARTS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ir/core/dims/dim_expr.h"

namespace tenon {

// One summand: a coefficient times a product of factors, which are neither sums nor constants.
struct DimSummand {
  int64_t coefficient = 1;
  std::span<const DimExpr> factors;  // none for a constant; valid as long as the Context
};

// Returns the summands of an expression of kind kSum, the constant last.
std::vector<DimSummand> SummandsOf(DimExpr sum);
// Returns both operands of an expression of kind kFloorDiv, kMod, kMin or kBroadcast.
std::pair<DimExpr, DimExpr> OperandsOf(DimExpr expr);

}  // namespace tenon

#endif  // TENON_IR_CORE_DIMS_DIM_EXPR_PARTS_H_
