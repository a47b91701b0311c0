// What can be proved about dimension expressions for all values of their symbols.
#include "ir/core/dims/dim_expr_terms.h"

namespace tenon {
namespace {

using DimKind = DimExpr::Kind;

// Finds a proof that a sum is not negative by putting simpler bounds in place of its min,
// floordiv and mod terms.
class Prover {
 public:
  bool Prove(DimExpr e, int depth) {
    if (e.kind() != DimKind::kSum) return ProveAtom(e, depth);
    if (AllPositive(e, depth)) return true;
    if (depth == 0 || --budget_ < 0) return false;
    for (const DimTerm& term : e.storage()->terms) {
      for (size_t f = 0; f < term.factors.size(); ++f) {
        if (TryFactor(e, term, f, depth - 1)) return true;
      }
    }
    return false;
  }

 private:
  bool ProveAtom(DimExpr e, int depth) {
    switch (e.kind()) {
      case DimKind::kConstant:
        return e.constant() >= 0;
      case DimKind::kSymbol:
        return true;
      case DimKind::kMod:
        return Prove(e.storage()->b, depth);
      case DimKind::kFloorDiv:
      case DimKind::kMin:
      case DimKind::kBroadcast:
        return Prove(e.storage()->a, depth) && Prove(e.storage()->b, depth);
      default:
        return false;
    }
  }

  bool AllPositive(DimExpr e, int depth) {
    for (const DimTerm& term : e.storage()->terms) {
      if (term.coefficient < 0) return false;
      for (DimExpr f : term.factors) {
        if (!Prove(f, depth)) return false;
      }
    }
    return true;
  }

  // e >= 0 if it is so with one factor of `term` bounded from the side that makes e smaller.
  bool TryFactor(DimExpr e, const DimTerm& term, size_t factor, int depth) {
    const DimExpr f = term.factors[factor];
    const DimKind kind = f.kind();
    if (kind == DimKind::kSymbol || kind == DimKind::kBroadcast || kind == DimKind::kSum)
      return false;
    DimExpr scale = DimExpr::Constant(e.context(), term.coefficient);
    for (size_t i = 0; i < term.factors.size(); ++i) {
      if (i == factor) continue;
      if (!Prove(term.factors[i], depth)) return false;
      scale = scale * term.factors[i];
    }
    const DimExpr rest = e - scale * f;
    const DimExpr a = f.storage()->a, b = f.storage()->b;
    const auto holds = [&](DimExpr bound) { return Prove(rest + scale * bound, depth); };
    const bool upper = term.coefficient < 0;  // f's upper bound makes e smallest
    if (kind == DimKind::kMin) {
      if (!upper) return holds(a) && holds(b);
      if (holds(a) || holds(b)) return true;
      // Of several copies each may be bounded in its own way.
      return term.factors.size() == 1 && term.coefficient < -1 &&
             (Prove(e + f - a, depth) || Prove(e + f - b, depth));
    }
    if (kind == DimKind::kMod) {
      if (!upper) return holds(DimExpr::Constant(e.context(), 0));
      return (b.is_constant() && b.constant() > 0 && holds(b - 1)) ||
             (Prove(a, depth) && Prove(b, depth) && holds(a));
    }
    // floordiv by k: a - (k - 1) <= k * f <= a.
    if (!b.is_constant() || b.constant() <= 0) return false;
    const int64_t k = b.constant();
    if (term.coefficient % k == 0) {
      const std::optional<DimExpr> part = DimExpr::ExactDiv(scale, b);
      if (part && Prove(rest + *part * (upper ? a : a - (k - 1)), depth)) return true;
    }
    return Prove(a, depth) && holds(upper ? a : DimExpr::Constant(e.context(), 0));
  }

  int budget_ = 64;
};

constexpr int kDepth = 6;

}  // namespace

bool dims::NonNegative(DimExpr e) { return !e.is_unknown() && Prover().Prove(e, kDepth); }

bool DimExpr::ProvablyLessEqual(DimExpr a, DimExpr b) {
  if (a.is_unknown() || b.is_unknown()) return false;
  return a == b || dims::NonNegative(b - a);
}

}  // namespace tenon
