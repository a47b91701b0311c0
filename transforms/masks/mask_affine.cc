#include "transforms/masks/mask_affine.h"

#include "fmt/format.h"

namespace tenon::mask {

Affine Affine::Of(Context& context, Var variable, int64_t coefficient) {
  Affine a = Of(context, 0);
  if (coefficient != 0) a.terms.emplace_back(variable, DimExpr::Constant(context, coefficient));
  return a;
}

std::optional<Var> Affine::variable() const {
  const bool plain = terms.size() == 1 && constant.is_constant(0) && terms[0].second.is_constant(1);
  return plain ? std::optional<Var>(terms[0].first) : std::nullopt;
}

std::optional<int64_t> Affine::Coefficient(Var v) const {
  for (const auto& [variable, coefficient] : terms) {
    if (variable != v) continue;
    if (!coefficient.is_constant()) return std::nullopt;
    return coefficient.constant();
  }
  return 0;
}

VarSet Affine::variables() const {
  VarSet set = 0;
  for (const auto& term : terms) set |= SetOf(term.first);
  return set;
}

std::string Affine::text() const {
  static constexpr const char* kNames[] = {"b", "h", "i", "j"};
  std::string text;
  for (const auto& [variable, coefficient] : terms) {
    const std::string name =
        variable < kScoreVars ? kNames[variable] : fmt::format("u{}", variable - kScoreVars);
    if (coefficient.is_constant(1)) {
      text += text.empty() ? name : " + " + name;
    } else if (coefficient.is_constant(-1)) {
      text += text.empty() ? "-" + name : " - " + name;
    } else {
      text += fmt::format("{}({}) * {}", text.empty() ? "" : " + ", coefficient.text(), name);
    }
  }
  if (text.empty()) return constant.text();
  if (constant.is_constant(0)) return text;
  if (constant.is_constant() && constant.constant() < 0) {
    return fmt::format("{} - {}", text, (constant * -1).text());
  }
  return fmt::format("{} + {}", text, constant.text());
}

bool Affine::known() const {
  for (const auto& term : terms) {
    if (term.second.is_unknown()) return false;
  }
  return !constant.is_unknown();
}

bool Affine::operator==(const Affine& o) const {
  if (!known() || !(constant == o.constant) || terms.size() != o.terms.size()) return false;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].first != o.terms[i].first || !(terms[i].second == o.terms[i].second)) return false;
  }
  return true;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum = Affine::Of(a.constant + b.constant);
  size_t i = 0, k = 0;
  while (i < a.terms.size() || k < b.terms.size()) {
    if (k == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[k].first)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[k].first < a.terms[i].first) {
      sum.terms.push_back(b.terms[k++]);
    } else {
      const DimExpr coefficient = a.terms[i].second + b.terms[k].second;
      if (!coefficient.is_constant(0)) sum.terms.emplace_back(a.terms[i].first, coefficient);
      ++i, ++k;
    }
  }
  return sum;
}

Affine operator*(const Affine& a, DimExpr factor) {
  Affine product = Affine::Of(a.constant * factor);
  if (factor.is_constant(0)) return product;
  for (const auto& [variable, coefficient] : a.terms) {
    product.terms.emplace_back(variable, coefficient * factor);
  }
  return product;
}

Affine operator*(const Affine& a, int64_t factor) {
  return a * DimExpr::Constant(a.constant.context(), factor);
}
Affine operator+(const Affine& a, DimExpr b) { return a + Affine::Of(b); }
Affine operator+(const Affine& a, int64_t b) { return a + Affine::Of(a.constant.context(), b); }

Var Ranges::Add(DimExpr extent) {
  extents_.push_back(extent);
  return static_cast<Var>(extents_.size()) - 1;
}

DimExpr Ranges::Shifted(DimExpr e) const {
  return e.Substitute([&](std::string_view symbol) -> std::optional<DimExpr> {
    for (Var v = 0; v < kScoreVars; ++v) {
      const DimExpr extent = extents_[v];
      if (extent.kind() == DimExpr::Kind::kSymbol && extent.symbol() == symbol) return extent + 1;
    }
    return std::nullopt;
  });
}

DimExpr Ranges::Known(DimExpr e) const {
  if (assumed_.empty()) return e;
  return e.Substitute([&](std::string_view symbol) -> std::optional<DimExpr> {
    for (const auto& [known, extent] : assumed_) {
      if (symbol == known.symbol()) return extent;
    }
    return std::nullopt;
  });
}

bool Ranges::NonNegative(DimExpr e) const {
  e = Known(e);
  const DimExpr zero = DimExpr::Constant(e.context(), 0);
  return DimExpr::ProvablyLessEqual(zero, e) || DimExpr::ProvablyLessEqual(zero, Shifted(e));
}

bool Ranges::Equal(DimExpr a, DimExpr b) const {
  a = Known(a), b = Known(b);
  return DimExpr::ProvablyEqual(a, b) || DimExpr::ProvablyEqual(Shifted(a), Shifted(b));
}

std::optional<DimExpr> Ranges::LowerBound(const Affine& a) const {
  DimExpr bound = a.constant;
  for (const auto& [variable, coefficient] : a.terms) {
    if (NonNegative(coefficient)) continue;  // least at position 0
    if (!NonNegative(coefficient * -1)) return std::nullopt;
    bound = bound + coefficient * (extents_[variable] - DimExpr::Constant(context(), 1));
  }
  return bound;
}

bool Ranges::NonNegative(const Affine& a) const {
  const std::optional<DimExpr> bound = LowerBound(a);
  return bound && NonNegative(*bound);
}

bool Ranges::Negative(const Affine& a) const { return NonNegative(a * -1 + (-1)); }

bool Ranges::InRange(const Affine& a, DimExpr extent) const {
  return NonNegative(a) && NonNegative(Affine::Of(extent) - a + (-1));
}

}  // namespace tenon::mask
