// Dimension expressions as sums of terms, for arithmetic and proofs. Private to ir/core.
#ifndef TENON_IR_CORE_DIMS_DIM_EXPR_TERMS_H_
#define TENON_IR_CORE_DIMS_DIM_EXPR_TERMS_H_

#include <map>
#include <string>
#include <vector>

#include "ir/core/context/context_impl.h"
#include "ir/core/dims/dim_expr.h"

namespace tenon::dims {

// How deep parentheses may nest in the text of an expression. Deeper expressions become Unknown and
// deeper texts are refused, so that all printed text can be read.
constexpr int kMaxDepth = 63;

using Terms = std::vector<DimTerm>;
// Terms by the text of their factors, so that equal ones meet.
using Sum = std::map<std::string, DimTerm>;

// The terms of `e`, which must not be Unknown; none for 0.
Terms ToTerms(DimExpr e);
// Expressions in normal form. Unknown if the text becomes too long or too deep.
DimExpr FromTerm(Context& context, const DimTerm& term);
DimExpr FromSum(Context& context, const Sum& sum);
// Adds `term` to `sum`. False on overflow.
bool AddTerm(Sum& sum, const DimTerm& term);
// The expression of two operands without simplification; Unknown if it becomes too large.
DimExpr MakeBinary(DimExpr::Kind kind, DimExpr a, DimExpr b);

inline bool AnyUnknown(DimExpr a, DimExpr b) { return a.is_unknown() || b.is_unknown(); }
// Rounds a / b down. Requires b != 0, and b != -1 for the smallest a.
inline int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}
// True if a proof is found that `e` is >= 0 for all values >= 0 of the symbols.
bool NonNegative(DimExpr e);

}  // namespace tenon::dims

#endif  // TENON_IR_CORE_DIMS_DIM_EXPR_TERMS_H_
