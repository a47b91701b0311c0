// Division of dimension expressions: exact, floordiv and mod.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/core/dims/dim_expr_terms.h"

namespace tenon {
namespace {

using DimKind = DimExpr::Kind;
using dims::AddTerm;
using dims::AnyUnknown;
using dims::FloorDivide;
using dims::FromSum;
using dims::FromTerm;
using dims::MakeBinary;
using dims::NonNegative;
using dims::Sum;
using dims::Terms;
using dims::ToTerms;

// The largest term that divides all terms of `a` and the single term `b`: a positive number times
// factors.
DimTerm CommonTerm(const Terms& a, const DimTerm& b) {
  DimTerm common = b;
  for (const DimTerm& term : a) {
    common.coefficient = std::gcd(common.coefficient, term.coefficient);
    std::vector<DimExpr> left = term.factors, both;
    for (DimExpr f : common.factors) {
      const auto it = std::find(left.begin(), left.end(), f);
      if (it == left.end()) continue;
      left.erase(it);
      both.push_back(f);
    }
    common.factors = std::move(both);
  }
  return common;
}

// a with y mod b written as y - b * (y floordiv b).
DimExpr WithoutMod(DimExpr a, DimExpr b) {
  DimExpr sum = DimExpr::Constant(a.context(), 0);
  for (const DimTerm& term : ToTerms(a)) {
    DimExpr t = FromTerm(a.context(), term);
    const DimExpr f = term.factors.size() == 1 ? term.factors[0] : DimExpr();
    if (f && f.kind() == DimKind::kMod && f.storage()->b == b) {
      const DimExpr y = f.storage()->a;
      t = (y - FloorDiv(y, b) * b) * term.coefficient;
    }
    sum = sum + t;
  }
  return sum;
}

// Terms of `a` divided by `b` where that is possible; the others stay in `rest`.
void Divide(DimExpr a, DimExpr b, Sum& whole, Sum& rest) {
  for (DimTerm term : ToTerms(a)) {
    if (term.factors.empty() && b.is_constant()) {
      const int64_t q = FloorDivide(term.coefficient, b.constant());
      if (q != 0) AddTerm(whole, {q, {}});
      if (const int64_t r = term.coefficient - q * b.constant(); r != 0) AddTerm(rest, {r, {}});
      continue;
    }
    const std::optional<DimExpr> q = DimExpr::ExactDiv(FromTerm(a.context(), term), b);
    if (!q) {
      AddTerm(rest, term);
      continue;
    }
    for (const DimTerm& part : ToTerms(*q)) AddTerm(whole, part);
  }
}

// (g * x + c) floordiv (g * k) does not depend on c mod g.
DimExpr WithoutRemainder(DimExpr a, DimExpr b) {
  if (!b.is_constant()) return a;
  int64_t divisor = b.constant(), constant = 0;
  for (const DimTerm& term : ToTerms(a)) {
    if (term.factors.empty()) {
      constant = term.coefficient;
    } else {
      divisor = std::gcd(divisor, term.coefficient);
    }
  }
  return a - (constant - FloorDivide(constant, divisor) * divisor);
}

}  // namespace

std::optional<DimExpr> DimExpr::ExactDiv(DimExpr a, DimExpr b) {
  if (AnyUnknown(a, b) || b.is_constant(0)) return std::nullopt;
  if (a == b) return Constant(a.context(), 1);
  Terms divisor = ToTerms(b);
  if (divisor.size() != 1) {
    // A sum divides a when a is a monomial multiple of it; try the quotient of the leading terms.
    Terms dividend = ToTerms(a);
    if (dividend.size() != divisor.size()) return std::nullopt;
    const DimExpr first = FromTerm(a.context(), divisor[0]);
    for (const DimTerm& lead : dividend) {
      std::optional<DimExpr> q = ExactDiv(FromTerm(a.context(), lead), first);
      if (q && *q * b == a) return q;
    }
    return std::nullopt;
  }
  Sum quotient;
  for (DimTerm term : ToTerms(a)) {
    if (term.coefficient == std::numeric_limits<int64_t>::min() ||
        term.coefficient % divisor[0].coefficient != 0) {
      return std::nullopt;
    }
    term.coefficient /= divisor[0].coefficient;
    for (DimExpr f : divisor[0].factors) {
      auto it = std::find(term.factors.begin(), term.factors.end(), f);
      if (it == term.factors.end()) return std::nullopt;
      term.factors.erase(it);
    }
    if (!AddTerm(quotient, term)) return std::nullopt;
  }
  return FromSum(a.context(), quotient);
}

DimExpr FloorDiv(DimExpr a, DimExpr b) {
  Context& context = a.context();
  if (AnyUnknown(a, b) || b.is_constant(0)) return DimExpr::Unknown(context);
  if (a.is_constant() && b.is_constant()) {
    if (b.constant() == -1) return a * -1;
    return DimExpr::Constant(context, FloorDivide(a.constant(), b.constant()));
  }
  if (a.is_constant(0)) return a;
  if (std::optional<DimExpr> q = DimExpr::ExactDiv(a, b)) return *q;
  const Terms divisor = ToTerms(b);
  if (divisor.size() != 1 || divisor[0].coefficient <= 0)
    return MakeBinary(DimKind::kFloorDiv, a, b);
  const DimExpr plain = WithoutMod(a, b);
  if (std::optional<DimExpr> q = DimExpr::ExactDiv(plain, b)) return *q;
  // (k * b + r) floordiv b = k + r floordiv b, term by term.
  Sum whole, rest;
  Divide(a, b, whole, rest);
  const DimExpr r = WithoutRemainder(FromSum(context, rest), b);
  DimExpr quotient;
  if (NonNegative(r) && NonNegative(b - 1 - r)) {
    quotient = DimExpr::Constant(context, 0);
  } else if (const DimTerm common = CommonTerm(ToTerms(r), divisor[0]);
             common.coefficient != 1 || !common.factors.empty()) {
    // A factor of both. It is not 0, or there was nothing to divide by.
    const DimExpr by = FromTerm(context, common);
    quotient = FloorDiv(*DimExpr::ExactDiv(r, by), *DimExpr::ExactDiv(b, by));
  } else if (r.kind() == DimKind::kFloorDiv && NonNegative(r.storage()->b)) {
    quotient = FloorDiv(r.storage()->a, r.storage()->b * b);
  } else {
    quotient = MakeBinary(DimKind::kFloorDiv, r, b);
  }
  return whole.empty() ? quotient : FromSum(context, whole) + quotient;
}

DimExpr FloorDiv(DimExpr a, int64_t b) { return FloorDiv(a, DimExpr::Constant(a.context(), b)); }
DimExpr CeilDiv(DimExpr a, int64_t b) { return FloorDiv(a + (b - 1), b); }

DimExpr Mod(DimExpr a, DimExpr b) {
  Context& context = a.context();
  if (AnyUnknown(a, b) || b.is_constant(0)) return DimExpr::Unknown(context);
  if (DimExpr::ExactDiv(a, b)) return DimExpr::Constant(context, 0);
  // One form for what is left by a division and for its multiples: 8 * (S floordiv 8) is what
  // S - (S mod 8) must be, too.
  if (b.is_constant() && b.constant() > 0) return a - FloorDiv(a, b) * b;
  if (a.is_constant() && b.is_constant()) {
    if (b.constant() == -1) return DimExpr::Constant(context, 0);
    return DimExpr::Constant(context,
                             a.constant() - FloorDivide(a.constant(), b.constant()) * b.constant());
  }
  return MakeBinary(DimKind::kMod, a, b);
}

}  // namespace tenon
