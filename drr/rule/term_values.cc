#include "drr/rule/term_values.h"

#include <algorithm>
#include <cmath>

namespace tenon::drr {
namespace {

const int64_t* Integer(const AttrValue& value) { return std::get_if<int64_t>(&value); }

std::optional<double> Real(const AttrValue& value) {
  if (const double* real = std::get_if<double>(&value)) return *real;
  if (const int64_t* integer = Integer(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

// Two extents of which one may be a number. False if neither has a symbol, or one is no extent.
bool AsExtents(const AttrValue& a, const AttrValue& b, DimExpr& x, DimExpr& y) {
  const DimExpr *p = std::get_if<DimExpr>(&a), *q = std::get_if<DimExpr>(&b);
  if (p == nullptr && q == nullptr) return false;
  Context& context = (p != nullptr ? *p : *q).context();
  const auto extent = [&](const AttrValue& value, DimExpr& to) {
    if (const DimExpr* dim = std::get_if<DimExpr>(&value)) return to = *dim, true;
    if (const int64_t* integer = Integer(value))
      return to = DimExpr::Constant(context, *integer), true;
    return false;
  };
  return extent(a, x) && extent(b, y);
}

AttrValue CombineIntegers(Arithmetic how, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (how) {
    case Arithmetic::kAdd:
      return __builtin_add_overflow(a, b, &result) ? AttrValue() : AttrValue(result);
    case Arithmetic::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? AttrValue() : AttrValue(result);
    case Arithmetic::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? AttrValue() : AttrValue(result);
    case Arithmetic::kDivide:
      // The negated quotient of the least integer overflows.
      if (b == -1) return CombineIntegers(Arithmetic::kSubtract, 0, a);
      return b == 0 || a % b != 0 ? AttrValue() : AttrValue(a / b);
    case Arithmetic::kRemainder:
      if (b == -1) return int64_t{0};
      return b == 0 ? AttrValue() : AttrValue(a % b);
  }
  return {};
}

AttrValue CombineExtents(Arithmetic how, DimExpr a, DimExpr b) {
  switch (how) {
    case Arithmetic::kAdd:
      return SimpleExtent(a + b);
    case Arithmetic::kSubtract:
      return SimpleExtent(a - b);
    case Arithmetic::kMultiply:
      return SimpleExtent(a * b);
    case Arithmetic::kDivide: {
      const std::optional<DimExpr> quotient = DimExpr::ExactDiv(a, b);
      return quotient ? SimpleExtent(*quotient) : AttrValue();
    }
    case Arithmetic::kRemainder:
      return SimpleExtent(Mod(a, b));
  }
  return {};
}

AttrValue CombineReals(Arithmetic how, double a, double b) {
  switch (how) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSubtract:
      return a - b;
    case Arithmetic::kMultiply:
      return a * b;
    case Arithmetic::kDivide:
      return b == 0 ? AttrValue() : AttrValue(a / b);
    case Arithmetic::kRemainder:
      return b == 0 ? AttrValue() : AttrValue(std::fmod(a, b));
  }
  return {};
}

AttrValue CombineScalars(Arithmetic how, const AttrValue& a, const AttrValue& b) {
  const int64_t *i = Integer(a), *j = Integer(b);
  if (i != nullptr && j != nullptr) return CombineIntegers(how, *i, *j);
  DimExpr x, y;
  if (AsExtents(a, b, x, y)) return CombineExtents(how, x, y);
  const std::optional<double> p = Real(a), q = Real(b);
  return p && q ? CombineReals(how, *p, *q) : AttrValue();
}

Truth IsLessScalar(const AttrValue& a, const AttrValue& b, bool or_equal) {
  const int64_t *i = Integer(a), *j = Integer(b);
  if (i != nullptr && j != nullptr) return or_equal ? *i <= *j : *i < *j;
  DimExpr x, y;
  if (AsExtents(a, b, x, y)) {
    if (DimExpr::ProvablyLessEqual(or_equal ? x : x + 1, y)) return true;
    if (DimExpr::ProvablyLessEqual(or_equal ? y + 1 : y, x)) return false;
    return std::nullopt;
  }
  const std::optional<double> p = Real(a), q = Real(b);
  return p && q ? std::optional(or_equal ? *p <= *q : *p < *q) : std::nullopt;
}

Truth EqualScalars(const AttrValue& a, const AttrValue& b) {
  const int64_t *i = Integer(a), *j = Integer(b);
  if (i != nullptr && j != nullptr) return *i == *j;
  DimExpr x, y;
  if (AsExtents(a, b, x, y)) {
    if (DimExpr::ProvablyEqual(x, y)) return true;
    if (DimExpr::ProvablyLessEqual(x + 1, y) || DimExpr::ProvablyLessEqual(y + 1, x)) return false;
    return std::nullopt;
  }
  const std::optional<double> p = Real(a), q = Real(b);
  if (p && q) return *p == *q;
  return a.index() == b.index() && a.index() != 0 ? std::optional(a == b) : std::nullopt;
}

// Whether two extents are equal.
Truth EqualExtents(DimExpr a, DimExpr b) {
  if (a.is_constant() && b.is_constant()) return a.constant() == b.constant();
  return EqualScalars(SimpleExtent(a), SimpleExtent(b));
}

}  // namespace

AttrValue SimpleExtent(DimExpr extent) {
  if (extent && extent.is_constant()) return extent.constant();
  return extent;
}

std::optional<int64_t> WholeOf(double number) {
  constexpr double kEnd = 0x1p63;
  if (!(number >= -kEnd && number < kEnd) || std::trunc(number) != number) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<std::vector<AttrValue>> ElementsOf(const TermValue& list) {
  std::vector<AttrValue> elements;
  if (const I64s* integers = std::get_if<I64s>(&list.data)) {
    elements.assign(integers->begin(), integers->end());
  } else if (const Dims* extents = std::get_if<Dims>(&list.data)) {
    for (DimExpr extent : *extents) elements.push_back(SimpleExtent(extent));
  } else if (const F32s* numbers = std::get_if<F32s>(&list.data)) {
    for (float number : *numbers) elements.emplace_back(static_cast<double>(number));
  } else {
    return std::nullopt;
  }
  return elements;
}

TermValue ListOfElements(const std::vector<AttrValue>& elements) {
  const auto all = [&](const auto& is) {
    return std::all_of(elements.begin(), elements.end(), is);
  };
  if (all([](const AttrValue& e) { return Integer(e) != nullptr; })) {
    I64s integers;
    for (const AttrValue& element : elements) integers.push_back(*Integer(element));
    return {std::move(integers), {}};
  }
  const auto extent = std::find_if(elements.begin(), elements.end(), [](const AttrValue& e) {
    return std::holds_alternative<DimExpr>(e);
  });
  if (extent != elements.end()) {
    Dims extents;
    for (const AttrValue& element : elements) {
      DimExpr x, y;
      if (!AsExtents(element, *extent, x, y)) return {};
      extents.push_back(x);
    }
    return {std::move(extents), {}};
  }
  if (!all([](const AttrValue& e) { return Real(e).has_value(); })) return {};
  F32s numbers;
  for (const AttrValue& element : elements) numbers.push_back(static_cast<float>(*Real(element)));
  return {std::move(numbers), {}};
}

Truth Equal(const TermValue& a, const TermValue& b) {
  if (a.value || b.value)
    return a.value && b.value ? std::optional(a.value == b.value) : std::nullopt;
  const auto first = ElementsOf(a), second = ElementsOf(b);
  if (!first && !second) return EqualScalars(a.data, b.data);
  if (!first || !second) return std::nullopt;
  if (first->size() != second->size()) return false;
  bool known = true;
  for (size_t i = 0; i < first->size(); ++i) {
    const Truth equal = EqualScalars((*first)[i], (*second)[i]);
    if (equal && !*equal) return false;
    known = known && equal.has_value();
  }
  return known ? Truth(true) : std::nullopt;
}

Truth EqualBehindOnes(const TermValue& list, const TermValue& end) {
  const auto all = ElementsOf(list), last = ElementsOf(end);
  if (!all || !last) return std::nullopt;
  if (all->size() < last->size()) return false;
  const size_t before = all->size() - last->size();
  Truth equal = true;
  for (size_t i = 0; i < all->size(); ++i) {
    const AttrValue want = i < before ? AttrValue(int64_t{1}) : (*last)[i - before];
    equal = Both(equal, EqualScalars((*all)[i], want));
  }
  return equal;
}

Truth EqualShapes(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor()) return std::nullopt;
  if (a.rank() != b.rank()) return false;
  Truth all = true;
  for (int64_t i = 0; i < a.rank(); ++i) {
    all = Both(all, EqualExtents(a.dim(i), b.dim(i)));
    if (all == Truth(false)) break;
  }
  return all;
}

Truth SameTypes(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor()) return std::nullopt;
  return a.dtype() == b.dtype() ? EqualShapes(a, b) : Truth(false);
}

Truth Both(Truth a, Truth b) {
  if (a == Truth(false) || b == Truth(false)) return false;
  return a && b ? a : std::nullopt;
}

Truth Either(Truth a, Truth b) {
  if (a == Truth(true) || b == Truth(true)) return true;
  return a && b ? a : std::nullopt;
}

Truth IsLess(const TermValue& a, const TermValue& b, bool or_equal) {
  return IsLessScalar(a.data, b.data, or_equal);
}

TermValue LeastOf(const TermValue& a, const TermValue& b) {
  DimExpr x, y;
  if (AsExtents(a.data, b.data, x, y)) return {SimpleExtent(Min(x, y)), {}};
  if (!Real(a.data) || !Real(b.data)) return {};
  return IsLess(b, a, false) == Truth(true) ? b : a;
}

TermValue MostOf(const TermValue& a, const TermValue& b) {
  DimExpr x, y;
  if (AsExtents(a.data, b.data, x, y)) return {SimpleExtent(Max(x, y)), {}};
  if (!Real(a.data) || !Real(b.data)) return {};
  return IsLess(a, b, false) == Truth(true) ? b : a;
}

TermValue Combine(Arithmetic how, const TermValue& a, const TermValue& b) {
  const auto first = ElementsOf(a), second = ElementsOf(b);
  if (!first && !second) return {CombineScalars(how, a.data, b.data), {}};
  if (!first || !second || first->size() != second->size()) return {};
  std::vector<AttrValue> elements;
  for (size_t i = 0; i < first->size(); ++i) {
    elements.push_back(CombineScalars(how, (*first)[i], (*second)[i]));
    if (std::holds_alternative<std::monostate>(elements.back())) return {};
  }
  return ListOfElements(elements);
}

}  // namespace tenon::drr
