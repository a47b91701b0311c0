#include "ir/core/dims/dim_expr.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/dims/dim_expr_rewrite.h"
#include "ir/core/dims/dim_expr_terms.h"

namespace tenon {
namespace {

using DimKind = DimExpr::Kind;
using dims::AddTerm;
using dims::AnyUnknown;
using dims::FloorDivide;
using dims::FromSum;
using dims::MakeBinary;
using dims::Sum;
using dims::Terms;
using dims::ToTerms;

// Products beyond this are given up as Unknown: their size would grow exponentially with their
// depth.
constexpr size_t kMaxTerms = 256;
// So are products of more extents and expressions of longer text: what computes with its own
// results can double them each time.
constexpr size_t kMaxFactors = 64, kMaxText = size_t{1} << 14;

bool IsPlainSymbol(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name) {
    if (!letter(c) && !digit(c) && c != '.' && c != '$') return false;
  }
  for (std::string_view word : {"floordiv", "mod", "min", "max", "broadcast"}) {
    if (name == word) return false;
  }
  return true;
}

// Is it written in parentheses as an operand of * floordiv mod?
bool NeedsParentheses(DimExpr e) {
  return e.kind() == DimKind::kSum || e.kind() == DimKind::kFloorDiv || e.kind() == DimKind::kMod;
}

std::string AtomText(DimExpr e) {
  return NeedsParentheses(e) ? fmt::format("({})", e.text()) : e.text();
}

int AtomDepth(DimExpr e) { return e.storage()->depth + (NeedsParentheses(e) ? 1 : 0); }

std::string FactorsText(const DimTerm& term) {
  std::string out;
  for (DimExpr f : term.factors) {
    if (!out.empty()) out += " * ";
    out += AtomText(f);
  }
  return out;
}

DimExpr Intern(Context& context, DimKind kind, std::string text,
               const std::function<void(DimExprStorage&)>& fill) {
  const DimExprStorage::Key key{kind, 0, text};
  return DimExpr(ImplOf(context).dim_exprs.GetOrCreate(key, [&](DimExprStorage& s) {
    s.context = &context;
    s.kind = kind;
    s.text = std::move(text);
    fill(s);
  }));
}

}  // namespace

namespace dims {

DimExpr MakeBinary(DimKind kind, DimExpr a, DimExpr b) {
  const bool call = kind != DimKind::kFloorDiv && kind != DimKind::kMod;
  const int depth = call ? 1 + std::max(a.storage()->depth, b.storage()->depth)
                         : std::max(AtomDepth(a), AtomDepth(b));
  if (depth > kMaxDepth) return DimExpr::Unknown(a.context());
  std::string text;
  switch (kind) {
    case DimKind::kFloorDiv:
      text = fmt::format("{} floordiv {}", AtomText(a), AtomText(b));
      break;
    case DimKind::kMod:
      text = fmt::format("{} mod {}", AtomText(a), AtomText(b));
      break;
    case DimKind::kMin:
      text = fmt::format("min({}, {})", a.text(), b.text());
      break;
    default:
      text = fmt::format("broadcast({}, {})", a.text(), b.text());
      break;
  }
  if (text.size() > kMaxText) return DimExpr::Unknown(a.context());
  return Intern(a.context(), kind, std::move(text),
                [&](DimExprStorage& s) { s.a = a, s.b = b, s.depth = depth; });
}

Terms ToTerms(DimExpr e) {
  if (e.is_constant()) return e.constant() == 0 ? Terms{} : Terms{{e.constant(), {}}};
  if (e.kind() == DimKind::kSum) return e.storage()->terms;
  return {{1, {e}}};
}

// Normal form of a sum; Unknown on overflow is decided by the caller.
DimExpr FromSum(Context& context, const Sum& sum) {
  Terms terms;
  int64_t constant = 0;
  for (const auto& [text, term] : sum) {
    if (term.coefficient == 0) continue;
    if (term.factors.empty()) {
      constant = term.coefficient;
    } else {
      terms.push_back(term);
    }
  }
  if (terms.empty()) return DimExpr::Constant(context, constant);
  // Positive terms first, so that text rarely starts with a minus sign.
  std::stable_partition(terms.begin(), terms.end(),
                        [](const DimTerm& t) { return t.coefficient > 0; });
  if (constant != 0) terms.push_back({constant, {}});
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1)
    return terms[0].factors[0];
  std::string text;
  int depth = 0;
  for (const DimTerm& term : terms) {
    for (DimExpr factor : term.factors) depth = std::max(depth, AtomDepth(factor));
    uint64_t magnitude = term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                              : static_cast<uint64_t>(term.coefficient);
    if (text.empty()) {
      if (term.coefficient < 0) text += "-";
    } else {
      text += term.coefficient < 0 ? " - " : " + ";
    }
    if (term.factors.empty()) {
      text += fmt::format("{}", magnitude);
    } else {
      if (magnitude != 1) text += fmt::format("{} * ", magnitude);
      text += FactorsText(term);
    }
  }
  if (text.size() > kMaxText || depth > kMaxDepth) return DimExpr::Unknown(context);
  return Intern(context, DimKind::kSum, std::move(text),
                [&](DimExprStorage& s) { s.terms = std::move(terms), s.depth = depth; });
}

bool AddTerm(Sum& sum, const DimTerm& term) {
  auto [it, inserted] = sum.try_emplace(FactorsText(term), term);
  if (inserted) return true;
  return !__builtin_add_overflow(it->second.coefficient, term.coefficient, &it->second.coefficient);
}

DimExpr FromTerm(Context& context, const DimTerm& term) {
  return FromSum(context, {{FactorsText(term), term}});
}

}  // namespace dims

DimExpr DimExpr::Constant(Context& context, int64_t value) {
  const auto& small = ImplOf(context).small_dims;
  if (value >= 0 && value < static_cast<int64_t>(small.size()) && small[value]) return small[value];
  const DimExprStorage::Key key{DimKind::kConstant, value, {}};
  return DimExpr(ImplOf(context).dim_exprs.GetOrCreate(key, [&](DimExprStorage& s) {
    s.context = &context;
    s.kind = DimKind::kConstant;
    s.text = fmt::format_int(value).str();
    s.value = value;
  }));
}

DimExpr DimExpr::Symbol(Context& context, std::string_view name) {
  std::string text = IsPlainSymbol(name) ? std::string(name) : fmt::format("`{}`", name);
  std::replace(text.begin() + 1, text.end() - (text[0] == '`' ? 1 : 0), '`', '\'');
  return Intern(context, DimKind::kSymbol, std::move(text), [](DimExprStorage&) {});
}

DimExpr DimExpr::Unknown(Context& context) {
  if (ImplOf(context).unknown_dim) return ImplOf(context).unknown_dim;
  return Intern(context, DimKind::kUnknown, "?", [](DimExprStorage&) {});
}

DimExpr::Kind DimExpr::kind() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->kind;
}
Context& DimExpr::context() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return *storage_->context;
}
int64_t DimExpr::constant() const {
  TENON_CHECK_READ(is_constant());
  return storage_->value;
}
std::string_view DimExpr::symbol() const {
  TENON_CHECK_READ(kind() == DimKind::kSymbol);
  return storage_->symbol();
}
const std::string& DimExpr::text() const { return storage_->text; }

std::optional<int64_t> DimExpr::Evaluate(
    const std::function<std::optional<int64_t>(std::string_view)>& lookup) const {
  switch (kind()) {
    case DimKind::kConstant:
      return storage_->value;
    case DimKind::kSymbol:
      return lookup(storage_->symbol());
    case DimKind::kUnknown:
      return std::nullopt;
    case DimKind::kSum: {
      int64_t sum = 0;
      for (const DimTerm& term : storage_->terms) {
        int64_t product = term.coefficient;
        for (DimExpr f : term.factors) {
          std::optional<int64_t> v = f.Evaluate(lookup);
          if (!v || __builtin_mul_overflow(product, *v, &product)) return std::nullopt;
        }
        if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
      }
      return sum;
    }
    default:
      break;
  }
  std::optional<int64_t> a = storage_->a.Evaluate(lookup), b = storage_->b.Evaluate(lookup);
  if (!a || !b) return std::nullopt;
  switch (kind()) {
    case DimKind::kFloorDiv:
      if (*b == 0 || (*b == -1 && *a == std::numeric_limits<int64_t>::min())) return std::nullopt;
      return FloorDivide(*a, *b);
    case DimKind::kMod:
      if (*b == 0) return std::nullopt;
      if (*b == -1) return 0;
      return *a - FloorDivide(*a, *b) * *b;
    case DimKind::kMin:
      return std::min(*a, *b);
    default:  // broadcast
      if (*a == *b || *b == 1) return *a;
      if (*a == 1) return *b;
      return std::nullopt;
  }
}

DimExpr DimExpr::Substitute(
    const std::function<std::optional<DimExpr>(std::string_view)>& lookup) const {
  return Rewrite(*this, [&](DimExpr term) {
    return term.kind() == DimKind::kSymbol ? lookup(term.symbol()) : std::nullopt;
  });
}

void DimExpr::CollectSymbols(std::vector<std::string_view>& out) const {
  switch (kind()) {
    case DimKind::kConstant:
    case DimKind::kUnknown:
      return;
    case DimKind::kSymbol:
      if (std::find(out.begin(), out.end(), storage_->symbol()) == out.end())
        out.push_back(storage_->symbol());
      return;
    case DimKind::kSum:
      for (const DimTerm& term : storage_->terms) {
        for (DimExpr f : term.factors) f.CollectSymbols(out);
      }
      return;
    default:
      storage_->a.CollectSymbols(out);
      storage_->b.CollectSymbols(out);
  }
}

DimExpr operator+(DimExpr a, DimExpr b) {
  if (AnyUnknown(a, b)) return DimExpr::Unknown(a.context());
  if (a.is_constant() && b.is_constant()) {
    int64_t sum;
    if (__builtin_add_overflow(a.constant(), b.constant(), &sum))
      return DimExpr::Unknown(a.context());
    return DimExpr::Constant(a.context(), sum);
  }
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  Sum sum;
  for (DimExpr e : {a, b}) {
    for (const DimTerm& term : ToTerms(e)) {
      if (!AddTerm(sum, term)) return DimExpr::Unknown(a.context());
    }
  }
  return FromSum(a.context(), sum);
}

DimExpr operator-(DimExpr a, DimExpr b) {
  if (a.is_constant() && b.is_constant()) {
    int64_t difference;
    if (__builtin_sub_overflow(a.constant(), b.constant(), &difference))
      return DimExpr::Unknown(a.context());
    return DimExpr::Constant(a.context(), difference);
  }
  return a + b * -1;
}

DimExpr operator*(DimExpr a, DimExpr b) {
  if (AnyUnknown(a, b)) return DimExpr::Unknown(a.context());
  if (a.is_constant() && b.is_constant()) {
    int64_t product;
    if (__builtin_mul_overflow(a.constant(), b.constant(), &product))
      return DimExpr::Unknown(a.context());
    return DimExpr::Constant(a.context(), product);
  }
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  const Terms left = ToTerms(a), right = ToTerms(b);
  if (left.size() * right.size() > kMaxTerms) return DimExpr::Unknown(a.context());
  Sum sum;
  for (const DimTerm& x : left) {
    for (const DimTerm& y : right) {
      DimTerm product;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &product.coefficient)) {
        return DimExpr::Unknown(a.context());
      }
      if (x.factors.size() + y.factors.size() > kMaxFactors) return DimExpr::Unknown(a.context());
      product.factors = x.factors;
      product.factors.insert(product.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(product.factors.begin(), product.factors.end(),
                [](DimExpr l, DimExpr r) { return l.text() < r.text(); });
      if (!AddTerm(sum, product)) return DimExpr::Unknown(a.context());
    }
  }
  return FromSum(a.context(), sum);
}

DimExpr operator+(DimExpr a, int64_t b) { return a + DimExpr::Constant(a.context(), b); }
DimExpr operator-(DimExpr a, int64_t b) { return a - DimExpr::Constant(a.context(), b); }
DimExpr operator*(DimExpr a, int64_t b) { return a * DimExpr::Constant(a.context(), b); }

namespace {

// x for (x + k - 1) floordiv k, which is positive where x is; the quotient itself otherwise.
DimExpr RoundedUp(DimExpr quotient) {
  const DimExpr k = quotient.storage()->b;
  if (!k.is_constant() || k.constant() < 1) return quotient;
  const DimExpr x = quotient.storage()->a - (k.constant() - 1);
  return x.kind() == DimKind::kSymbol ? x : quotient;
}

// min(1, e) says whether e > 0, and so does this: for a sum of terms that are not negative neither
// coefficients, powers nor min(k, x) in the place of x matter.
DimExpr PositiveWith(DimExpr e) {
  Sum sum;
  for (DimTerm term : ToTerms(e)) {
    for (DimExpr& factor : term.factors) {
      if (!dims::NonNegative(factor)) return e;
      if (factor.kind() == DimKind::kFloorDiv) factor = RoundedUp(factor);
      if (factor.kind() != DimKind::kMin) continue;
      DimExpr bound = factor.storage()->a, x = factor.storage()->b;
      if (x.is_constant()) std::swap(bound, x);
      if (bound.is_constant() && bound.constant() > 0 && x.kind() == DimKind::kSymbol) factor = x;
    }
    std::sort(term.factors.begin(), term.factors.end(),
              [](DimExpr l, DimExpr r) { return l.text() < r.text(); });
    term.factors.erase(std::unique(term.factors.begin(), term.factors.end()), term.factors.end());
    term.coefficient = 0;  // adding a term again changes nothing
    AddTerm(sum, term);
  }
  for (auto& [text, term] : sum) term.coefficient = 1;
  return FromSum(e.context(), sum);
}

// min(p, n) with fewer parts: of n = min(u, v) + w a part is left out that p does not exceed. Null
// if there is none.
DimExpr MinWithoutPart(DimExpr p, DimExpr n) {
  for (const DimTerm& term : ToTerms(n)) {
    if (term.coefficient < 1 || term.factors.size() != 1) continue;
    const DimExpr inner = term.factors[0];
    if (inner.kind() != DimKind::kMin) continue;
    const DimExpr w = n - inner, u = inner.storage()->a + w, v = inner.storage()->b + w;
    if (DimExpr::ProvablyLessEqual(p, u)) return Min(p, v);
    if (DimExpr::ProvablyLessEqual(p, v)) return Min(p, u);
  }
  return DimExpr();
}

}  // namespace

// min(a, b) = r + g * min(p, n), where g * (p - n) = a - b, p and n have positive coefficients
// without a common divisor, and no term in common: expressions that are equal get one form.
DimExpr Min(DimExpr a, DimExpr b) {
  Context& context = a.context();
  if (AnyUnknown(a, b)) return DimExpr::Unknown(context);
  if (DimExpr::ProvablyLessEqual(a, b)) return a;
  if (DimExpr::ProvablyLessEqual(b, a)) return b;
  const DimExpr difference = a - b;
  if (difference.is_unknown()) return difference;
  int64_t divisor = 0;
  for (const DimTerm& term : ToTerms(difference)) {
    // Its magnitude is no int64_t.
    if (term.coefficient == std::numeric_limits<int64_t>::min()) return DimExpr::Unknown(context);
    divisor = std::gcd(divisor, term.coefficient);
  }
  DimExpr p = DimExpr::Constant(context, 0), n = p;
  for (DimTerm term : ToTerms(difference)) {
    term.coefficient /= divisor;
    const bool positive = term.coefficient > 0;
    if (!positive) term.coefficient = -term.coefficient;
    DimExpr& side = positive ? p : n;
    side = side + dims::FromTerm(context, term);
  }
  const DimExpr rest = a - p * divisor;
  DimExpr fewer = MinWithoutPart(p, n);
  if (!fewer) fewer = MinWithoutPart(n, p);
  if (fewer) return rest + fewer * divisor;
  if (p.is_constant(1)) n = PositiveWith(n);
  if (n.is_constant(1)) p = PositiveWith(p);
  if (n.text() < p.text()) std::swap(p, n);
  return rest + MakeBinary(DimKind::kMin, p, n) * divisor;
}

DimExpr Max(DimExpr a, DimExpr b) { return a + b - Min(a, b); }

DimExpr Product(Context& context, std::span<const DimExpr> dims) {
  DimExpr numbers = DimExpr::Constant(context, 1), product = numbers;
  for (DimExpr d : dims) {
    DimExpr& part = d.is_constant() ? numbers : product;
    part = part * d;
  }
  return numbers * product;
}

}  // namespace tenon
