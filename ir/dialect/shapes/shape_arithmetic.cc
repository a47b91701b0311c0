#include "ir/dialect/shapes/shape_arithmetic.h"

#include "ir/core/context/context.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon::elements {
namespace {

bool NonNegative(DimExpr e) {
  return DimExpr::ProvablyLessEqual(DimExpr::Constant(e.context(), 0), e);
}

// Truncating division and its relatives agree with floordiv and mod where no sign is involved.
bool DivisionIsPlain(DimExpr a, DimExpr b) {
  if (a.is_unknown() || b.is_unknown() || b.is_constant(0)) return false;
  return NonNegative(a) && NonNegative(b);
}

}  // namespace

DimExpr Truth(Context& context, std::optional<bool> value) {
  return value ? DimExpr::Constant(context, *value) : DimExpr::Unknown(context);
}

std::optional<bool> Not(std::optional<bool> v) {
  return v ? std::optional<bool>(!*v) : std::nullopt;
}

std::optional<bool> AsBool(DimExpr e) {
  return Not(DecideEqual(e, DimExpr::Constant(e.context(), 0)));
}

DimExpr Divide(DimExpr a, DimExpr b) {
  if (a.is_constant() && b.is_constant() && b.constant() != 0 && b.constant() != -1) {
    return DimExpr::Constant(a.context(), a.constant() / b.constant());
  }
  return DivisionIsPlain(a, b) ? FloorDiv(a, b) : DimExpr::Unknown(a.context());
}

DimExpr Remainder(DimExpr a, DimExpr b, bool sign_of_a) {
  const bool plain = DivisionIsPlain(a, b) ||
                     (!sign_of_a && !a.is_unknown() && b.is_constant() && b.constant() > 0);
  return plain ? Mod(a, b) : DimExpr::Unknown(a.context());
}

DimExpr Abs(DimExpr e) {
  if (e.is_unknown() || NonNegative(e)) return e;
  return Max(e, e * -1);
}

DimExpr Select(DimExpr condition, DimExpr a, DimExpr b) {
  if (const std::optional<bool> c = AsBool(condition)) return *c ? a : b;
  return DimExpr::ProvablyEqual(a, b) ? a : DimExpr::Unknown(a.context());
}

DimExpr Logic(DimExpr a, DimExpr b, bool conjunction) {
  const std::optional<bool> x = AsBool(a), y = AsBool(b);
  const bool decisive = !conjunction;  // what one side needs to be to settle it
  if ((x && *x == decisive) || (y && *y == decisive)) return Truth(a.context(), decisive);
  return x && y ? Truth(a.context(), conjunction) : DimExpr::Unknown(a.context());
}

}  // namespace tenon::elements
