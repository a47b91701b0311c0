// The operators of terms, as words.
#include <algorithm>

#include "drr/rule/term.h"
#include "drr/rule/term_values.h"

namespace tenon::drr {
namespace {

TermValue Add(const TermValue& a, const TermValue& b) { return Combine(Arithmetic::kAdd, a, b); }
TermValue Subtract(const TermValue& a, const TermValue& b) {
  return Combine(Arithmetic::kSubtract, a, b);
}
TermValue Multiply(const TermValue& a, const TermValue& b) {
  return Combine(Arithmetic::kMultiply, a, b);
}
TermValue Divide(const TermValue& a, const TermValue& b) {
  return Combine(Arithmetic::kDivide, a, b);
}
TermValue Remainder(const TermValue& a, const TermValue& b) {
  return Combine(Arithmetic::kRemainder, a, b);
}
TermValue Negate(const TermValue& a) {
  if (const double* number = std::get_if<double>(&a.data)) return {-*number, {}};
  return Combine(Arithmetic::kSubtract, {int64_t{0}, {}}, a);
}
bool Not(bool flag) { return !flag; }

Truth AreEqual(const TermValue& a, const TermValue& b) { return Equal(a, b); }
Truth Differ(const TermValue& a, const TermValue& b) {
  const Truth equal = Equal(a, b);
  return equal ? Truth(!*equal) : equal;
}
Truth Less(const TermValue& a, const TermValue& b) { return IsLess(a, b, false); }
Truth LessOrEqual(const TermValue& a, const TermValue& b) { return IsLess(a, b, true); }
Truth Greater(const TermValue& a, const TermValue& b) { return IsLess(b, a, false); }
Truth GreaterOrEqual(const TermValue& a, const TermValue& b) { return IsLess(b, a, true); }

TermValue Element(const TermValue& list, const TermValue& index) {
  const auto elements = ElementsOf(list);
  const auto indices =
      std::holds_alternative<int64_t>(index.data) ? std::nullopt : ElementsOf(index);
  if (!elements) return {};
  const auto at = [&](const AttrValue& i) -> AttrValue {
    const int64_t* place = std::get_if<int64_t>(&i);
    const auto size = static_cast<int64_t>(elements->size());
    if (place == nullptr || *place < -size || *place >= size) return {};
    return (*elements)[static_cast<size_t>(*place < 0 ? *place + size : *place)];
  };
  if (!indices) return {at(index.data), {}};
  std::vector<AttrValue> picked;
  for (const AttrValue& i : *indices) {
    picked.push_back(at(i));
    if (std::holds_alternative<std::monostate>(picked.back())) return {};
  }
  return ListOfElements(picked);
}

// What Evaluate does itself, because it does not need the values of all operands.
constexpr Word Lazy(std::string_view name, int least, int most) {
  Word word{name, "", name == "if" ? TermKind::kAny : TermKind::kFlag};
  word.least = least;
  word.most = most;
  return word;
}

constexpr Word kOperators[] = {
    MakeWord<&Add>("+", ""),
    MakeWord<&Subtract>("-", ""),
    MakeWord<&Negate>("-", ""),
    MakeWord<&Multiply>("*", ""),
    MakeWord<&Divide>("/", ""),
    MakeWord<&Remainder>("%", ""),
    MakeWord<&Not>("!", ""),
    MakeWord<&AreEqual>("==", ""),
    MakeWord<&Differ>("!=", ""),
    MakeWord<&Less>("<", ""),
    MakeWord<&LessOrEqual>("<=", ""),
    MakeWord<&Greater>(">", ""),
    MakeWord<&GreaterOrEqual>(">=", ""),
    MakeWord<&Element>("[]", ""),
    Lazy("if", 2, 3),
    Lazy("&&", 2, 2),
    Lazy("||", 2, 2),
    Lazy("in", 2, 2),
    Lazy("exists", 1, 1),
};

}  // namespace

const Word* FindOperator(std::string_view sign, size_t arity) {
  const auto count = static_cast<int>(arity);
  const auto* at =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Word& word) {
        return word.name == sign && count >= word.least && count <= word.most;
      });
  return at == std::end(kOperators) ? nullptr : at;
}

bool IsOperator(const Word& word) {
  return &word >= std::begin(kOperators) && &word < std::end(kOperators);
}

}  // namespace tenon::drr
