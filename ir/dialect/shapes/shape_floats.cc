#include "ir/dialect/shapes/shape_floats.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "ir/core/context/context.h"
#include "ir/core/dims/dim_expr_rewrite.h"

namespace tenon {
namespace {

constexpr int64_t kMostSignificand = 1 << 8;
constexpr int64_t kMostConstant = int64_t{1} << 16;

bool IsShort(int64_t factor) {
  int64_t odd = std::llabs(factor);
  while (odd != 0 && odd % 2 == 0) odd /= 2;
  return odd < kMostSignificand;
}

}  // namespace

DimExpr IfExact(DimExpr e) {
  if (e.is_unknown()) return e;
  bool exact = true;
  ForEachTerm(e, [&](int64_t coefficient, std::span<const DimExpr> factors) {
    exact &= factors.size() <= 1 && IsShort(coefficient);
    if (factors.empty()) exact &= std::llabs(coefficient) <= kMostConstant * kFloatUnit;
  });
  return exact ? e : DimExpr::Unknown(e.context());
}

DimExpr FloatConstant(Context& context, double value) {
  const double kept = value * kFloatUnit;
  if (!std::isfinite(value) || kept != std::floor(kept) ||
      std::abs(value) > static_cast<double>(kMostConstant)) {
    return DimExpr::Unknown(context);
  }
  return DimExpr::Constant(context, static_cast<int64_t>(kept));
}

DimExpr FloatFromInt(DimExpr e) { return e * kFloatUnit; }

DimExpr IntFromFloat(DimExpr e) {
  if (e.is_unknown()) return e;
  const DimExpr unit = DimExpr::Constant(e.context(), kFloatUnit);
  if (const std::optional<DimExpr> whole = DimExpr::ExactDiv(e, unit)) return *whole;
  const bool positive = DimExpr::ProvablyLessEqual(DimExpr::Constant(e.context(), 0), e);
  return positive ? FloorDiv(e, kFloatUnit) : DimExpr::Unknown(e.context());
}

DimExpr FloatProduct(DimExpr a, DimExpr b) {
  const DimExpr product = a * b;
  if (product.is_unknown()) return product;
  const std::optional<DimExpr> kept =
      DimExpr::ExactDiv(product, DimExpr::Constant(a.context(), kFloatUnit));
  return kept ? *kept : DimExpr::Unknown(a.context());
}

DimExpr FloatQuotient(DimExpr a, DimExpr b) {
  if (a.is_unknown() || !b.is_constant() || b.is_constant(0)) return DimExpr::Unknown(a.context());
  const std::optional<DimExpr> kept = DimExpr::ExactDiv(a * kFloatUnit, b);
  return kept ? *kept : DimExpr::Unknown(a.context());
}

DimExpr FloatFloor(DimExpr e) { return e.is_unknown() ? e : FloorDiv(e, kFloatUnit) * kFloatUnit; }

DimExpr FloatCeil(DimExpr e) { return e.is_unknown() ? e : CeilDiv(e, kFloatUnit) * kFloatUnit; }

DimExpr FloatRound(DimExpr e) {
  if (e.is_unknown()) return e;
  if (e.is_constant()) {
    const double value = static_cast<double>(e.constant()) / kFloatUnit;
    return FloatConstant(e.context(), std::nearbyint(value));
  }
  const bool whole = DimExpr::ExactDiv(e, DimExpr::Constant(e.context(), kFloatUnit)).has_value();
  return whole ? e : DimExpr::Unknown(e.context());
}

}  // namespace tenon
