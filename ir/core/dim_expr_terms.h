// Dimension expressions as sums of terms: what arithmetic and proofs share. Private to ir/core.
#ifndef TENON_IR_CORE_DIM_EXPR_TERMS_H_
#define TENON_IR_CORE_DIM_EXPR_TERMS_H_

#include <map>
#include <string>
#include <vector>

#include "ir/core/context_impl.h"
#include "ir/core/dim_expr.h"

namespace tenon::dims {

// Parentheses in each other that the text of an expression may have. Deeper ones are Unknown, and
// are not read, so that what is printed can be read.
constexpr int kMaxDepth = 63;

using Terms = std::vector<DimTerm>;
// Terms by the text of their factors: equal ones meet.
using Sum = std::map<std::string, DimTerm>;

Terms ToTerms(DimExpr e);
DimExpr FromTerm(Context& context, const DimTerm& term);
DimExpr FromSum(Context& context, const Sum& sum);
// False on overflow.
bool AddTerm(Sum& sum, const DimTerm& term);
// An expression of two operands as it stands, without simplification.
DimExpr MakeBinary(DimExpr::Kind kind, DimExpr a, DimExpr b);

inline bool AnyUnknown(DimExpr a, DimExpr b) { return a.is_unknown() || b.is_unknown(); }
// REQUIRES: b is not 0, and not -1 with the smallest a.
inline int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}
// Is the value >= 0 for all non-negative symbols? False if no proof is found.
bool NonNegative(DimExpr e);

}  // namespace tenon::dims

#endif  // TENON_IR_CORE_DIM_EXPR_TERMS_H_
