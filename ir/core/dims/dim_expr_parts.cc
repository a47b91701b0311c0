#include "ir/core/dims/dim_expr_parts.h"

#include "ir/base/check.h"
#include "ir/core/context/context_impl.h"

namespace tenon {

std::vector<DimSummand> SummandsOf(DimExpr sum) {
  TENON_CHECK(sum.kind() == DimExpr::Kind::kSum);
  std::vector<DimSummand> summands;
  for (const DimTerm& term : sum.storage()->terms) {
    summands.push_back({term.coefficient, term.factors});
  }
  return summands;
}

std::pair<DimExpr, DimExpr> OperandsOf(DimExpr expr) {
  const DimExprStorage& storage = *expr.storage();
  TENON_CHECK(storage.a && storage.b);
  return {storage.a, storage.b};
}

}  // namespace tenon
