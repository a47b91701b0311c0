// Broadcasts of dimension expressions. Their parts form a flat set: sorted by text, each once.
#include <algorithm>
#include <vector>

#include "ir/core/dims/dim_expr_rewrite.h"
#include "ir/core/dims/dim_expr_terms.h"

namespace tenon {
namespace {

using DimKind = DimExpr::Kind;

// Broadcasts of more parts are given up as Unknown, so that passes can look at all pairs of parts.
constexpr size_t kMaxParts = 16;

bool Has(const std::vector<DimExpr>& parts, DimExpr part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// Extents that fit are equal or 1. So min(x, c) with c >= 1 adds nothing to parts that have x: it
// differs from x only where it is c, and fits then only if it is 1.
bool AddsNothing(DimExpr part, const std::vector<DimExpr>& parts) {
  if (part.kind() != DimKind::kMin) return false;
  DimExpr bound = FirstOperand(part), x = SecondOperand(part);
  if (x.is_constant()) std::swap(bound, x);
  if (!bound.is_constant() || bound.constant() < 1) return false;
  const std::vector<DimExpr> bounded = BroadcastParts(x);
  return std::all_of(bounded.begin(), bounded.end(), [&](DimExpr p) { return Has(parts, p); });
}

}  // namespace

std::vector<DimExpr> BroadcastParts(DimExpr e) {
  std::vector<DimExpr> parts;
  for (; e.kind() == DimKind::kBroadcast; e = SecondOperand(e)) parts.push_back(FirstOperand(e));
  parts.push_back(e);
  return parts;
}

DimExpr Broadcast(DimExpr a, DimExpr b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  if (dims::AnyUnknown(a, b)) return DimExpr::Unknown(a.context());
  std::vector<DimExpr> parts = BroadcastParts(a);
  for (DimExpr part : BroadcastParts(b)) {
    if (!Has(parts, part)) parts.push_back(part);
  }
  const std::vector<DimExpr> all = parts;
  std::erase_if(parts, [&](DimExpr part) { return AddsNothing(part, all); });
  if (parts.size() > kMaxParts) return DimExpr::Unknown(a.context());
  std::sort(parts.begin(), parts.end(), [](DimExpr l, DimExpr r) { return l.text() < r.text(); });
  DimExpr whole = parts.back();
  for (size_t i = parts.size() - 1; i > 0 && !whole.is_unknown(); --i)
    whole = dims::MakeBinary(DimKind::kBroadcast, parts[i - 1], whole);
  return whole;
}

}  // namespace tenon
