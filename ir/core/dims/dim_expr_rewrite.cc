#include "ir/core/dims/dim_expr_rewrite.h"

#include "ir/core/dims/dim_expr_terms.h"

namespace tenon {

DimExpr FirstOperand(DimExpr term) { return term.storage()->a; }
DimExpr SecondOperand(DimExpr term) { return term.storage()->b; }

void ForEachTerm(DimExpr e, const std::function<void(int64_t, std::span<const DimExpr>)>& visit) {
  for (const DimTerm& term : dims::ToTerms(e)) visit(term.coefficient, term.factors);
}

DimExpr Rewrite(DimExpr e, const std::function<std::optional<DimExpr>(DimExpr)>& replace) {
  switch (e.kind()) {
    case DimExpr::Kind::kConstant:
    case DimExpr::Kind::kUnknown:
      return e;
    case DimExpr::Kind::kSymbol:
      return replace(e).value_or(e);
    case DimExpr::Kind::kSum: {
      DimExpr sum = DimExpr::Constant(e.context(), 0);
      for (const DimTerm& term : e.storage()->terms) {
        DimExpr product = DimExpr::Constant(e.context(), term.coefficient);
        for (DimExpr f : term.factors) product = product * Rewrite(f, replace);
        sum = sum + product;
      }
      return sum;
    }
    default:
      break;
  }
  const DimExpr a = Rewrite(e.storage()->a, replace), b = Rewrite(e.storage()->b, replace);
  DimExpr term = e;
  if (!(a == e.storage()->a && b == e.storage()->b)) {
    term = e.kind() == DimExpr::Kind::kFloorDiv ? FloorDiv(a, b)
           : e.kind() == DimExpr::Kind::kMod    ? Mod(a, b)
           : e.kind() == DimExpr::Kind::kMin    ? Min(a, b)
                                                : Broadcast(a, b);
  }
  // A simpler expression than the term has nothing left to replace but what was made.
  const bool is_term =
      !term.is_constant() && term.kind() != DimExpr::Kind::kSum && !term.is_unknown();
  return is_term ? replace(term).value_or(term) : term;
}

}  // namespace tenon
