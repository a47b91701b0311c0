#include "drr/rule/words.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drr/rule/condition.h"
#include "drr/rule/term_values.h"
#include "ir/base/check.h"
#include "ir/core/constants/number_range.h"
#include "ir/core/operation.h"

namespace tenon::drr {
namespace {

// ---- values
// ---------------------------------------------------------------------------------------

std::optional<int64_t> RankWord(Value x) {
  return x.type().is_tensor() ? std::optional(x.type().rank()) : std::nullopt;
}
TermValue DimWord(Value x, int64_t axis) {
  const Type type = x.type();
  if (!type.is_tensor() || axis < -type.rank() || axis >= type.rank()) return {};
  return {SimpleExtent(type.dim(axis)), {}};
}
std::optional<Dims> ShapeWord(Value x) {
  if (!x.type().is_tensor()) return std::nullopt;
  return Dims(x.type().dims().begin(), x.type().dims().end());
}
std::optional<DType> DTypeWord(Value x) {
  return x.type().is_any_tensor() ? std::optional(x.type().dtype()) : std::nullopt;
}
bool ConstantWord(Value x) {
  return x.defining_op() != nullptr && x.defining_op()->Has(Trait::kConstantLike);
}
bool FloatWord(Value x) { return x.type().is_any_tensor() && IsFloat(x.type().dtype()); }
Truth SameTypeWord(Value a, Value b) { return SameTypes(a.type(), b.type()); }
std::string OpWord(Value x) {
  const Operation* op = x.defining_op();
  return op != nullptr ? std::string(op->name()) : std::string();
}
std::optional<Value> OperandWord(Value x, int64_t i) {
  const Operation* op = x.defining_op();
  if (op == nullptr || i < 0 || i >= static_cast<int64_t>(op->num_operands())) return std::nullopt;
  return op->operand(static_cast<unsigned>(i));
}
TermValue AttributeWord(Value x, const std::string& name) {
  const Operation* op = x.defining_op();
  if (op == nullptr || op->info().FindSlot(name) < 0) return {};
  return {ToAttrValue(op->attr(name)), {}};
}
bool OneUseWord(Value x) { return x.has_one_use(); }

// ---- numbers
// --------------------------------------------------------------------------------------

double NumberWord(double x) { return x; }
TermValue IntegerWord(const TermValue& x) {
  if (std::holds_alternative<int64_t>(x.data)) return x;
  const double* real = std::get_if<double>(&x.data);
  const std::optional<int64_t> whole = real != nullptr ? WholeOf(*real) : std::nullopt;
  return whole ? TermValue{*whole, {}} : TermValue();
}
TermValue AbsWord(const TermValue& x) {
  if (const int64_t* integer = std::get_if<int64_t>(&x.data))
    return *integer < 0 ? Combine(Arithmetic::kSubtract, {int64_t{0}, {}}, x) : x;
  const double* real = std::get_if<double>(&x.data);
  return real != nullptr ? TermValue{std::abs(*real), {}} : TermValue();
}
double SqrtWord(double x) { return std::sqrt(x); }
std::optional<double> RsqrtWord(double x) {
  return x == 0 ? std::nullopt : std::optional(1 / std::sqrt(x));
}
double ExpWord(double x) { return std::exp(x); }
double LogWord(double x) { return std::log(x); }
double PowWord(double x, double y) { return std::pow(x, y); }
double FloorWord(double x) { return std::floor(x); }
TermValue MinWord(const TermValue& a, const TermValue& b) { return LeastOf(a, b); }
TermValue MaxWord(const TermValue& a, const TermValue& b) { return MostOf(a, b); }
bool PowerOfTwoWord(double x) {
  int exponent;
  return std::frexp(std::abs(x), &exponent) == 0.5;
}
std::optional<double> HeldWord(DType type, double x) {
  // Types that are no floats hold what f32 does.
  const DType held = IsFloat(type) ? type : DType::kF32;
  const double size = std::abs(x);
  const bool holds = size == 0 || (size >= SmallestNormal(held) && size <= LargestFinite(held));
  return holds ? std::optional(x) : std::nullopt;
}
std::optional<double> HeldProductWord(DType type, double x, double y) {
  const double product = x * y;
  if (product == 0 && x != 0 && y != 0) return std::nullopt;
  return HeldWord(type, product);
}
double LargestFiniteWord(DType type) { return LargestFinite(type); }

// ---- extents and lists
// ------------------------------------------------------------------------------

bool FixedWord(const TermValue& x) {
  const auto elements = ElementsOf(x);
  if (!elements) return std::holds_alternative<int64_t>(x.data);
  return std::all_of(elements->begin(), elements->end(),
                     [](const AttrValue& e) { return std::holds_alternative<int64_t>(e); });
}
TermValue KnownWord(const TermValue& list) {
  const Dims* dims = std::get_if<Dims>(&list.data);
  const bool unknown = dims != nullptr && std::any_of(dims->begin(), dims->end(),
                                                      [](DimExpr d) { return d.is_unknown(); });
  return unknown ? TermValue() : list;
}
TermValue BroadcastWord(const TermValue& a, const TermValue& b) {
  const DimExpr *x = std::get_if<DimExpr>(&a.data), *y = std::get_if<DimExpr>(&b.data);
  const int64_t *i = std::get_if<int64_t>(&a.data), *j = std::get_if<int64_t>(&b.data);
  if ((x == nullptr && i == nullptr) || (y == nullptr && j == nullptr)) return {};
  if (i != nullptr && *i == 1) return b;
  if (j != nullptr && *j == 1) return a;
  if (i != nullptr && j != nullptr) return *i == *j ? a : TermValue();
  Context& context = (x != nullptr ? *x : *y).context();
  return {SimpleExtent(Broadcast(x != nullptr ? *x : DimExpr::Constant(context, *i),
                                 y != nullptr ? *y : DimExpr::Constant(context, *j))),
          {}};
}
Truth BroadcastsToWord(const TermValue& narrow, const TermValue& wide) {
  const auto from = ElementsOf(narrow), to = ElementsOf(wide);
  if (!from || !to) return std::nullopt;
  if (from->size() > to->size()) return false;
  const size_t shift = to->size() - from->size();
  Truth all = true;
  for (size_t i = 0; i < from->size(); ++i) {
    const TermValue own{(*from)[i], {}};
    all = Both(all, Either(Equal(own, {int64_t{1}, {}}), Equal(own, {(*to)[i + shift], {}})));
  }
  return all;
}

std::optional<int64_t> LenWord(const TermValue& list) {
  const auto elements = ElementsOf(list);
  return elements ? std::optional(static_cast<int64_t>(elements->size())) : std::nullopt;
}
TermValue PartOf(const TermValue& list, int64_t n, bool first) {
  auto elements = ElementsOf(list);
  if (!elements) return {};
  const auto size = static_cast<int64_t>(elements->size());
  if (n < -size || n > size) return {};
  const int64_t at = n < 0 ? size + n : n;
  if (first) {
    elements->resize(static_cast<size_t>(at));
  } else {
    elements->erase(elements->begin(), elements->begin() + at);
  }
  return ListOfElements(*elements);
}
TermValue TakeWord(const TermValue& list, int64_t n) { return PartOf(list, n, true); }
TermValue DropWord(const TermValue& list, int64_t n) { return PartOf(list, n, false); }
constexpr int64_t kMostElements = 1024;
std::optional<I64s> RangeWord(int64_t begin, int64_t end) {
  if (begin < 0 || end < begin || end > kMostElements) return std::nullopt;
  I64s list(static_cast<size_t>(end - begin));
  std::iota(list.begin(), list.end(), begin);
  return list;
}
std::optional<I64s> OnesWord(int64_t n) {
  if (n < 0 || n > kMostElements) return std::nullopt;
  return I64s(static_cast<size_t>(n), 1);
}
TermValue PaddedWord(const TermValue& list, int64_t n) {
  auto elements = ElementsOf(list);
  if (!elements || n > kMostElements || n < static_cast<int64_t>(elements->size())) return {};
  elements->insert(elements->begin(), static_cast<size_t>(n) - elements->size(), int64_t{1});
  return ListOfElements(*elements);
}
TermValue ProductWord(const TermValue& list) {
  const auto elements = ElementsOf(list);
  if (!elements) return {};
  TermValue product{int64_t{1}, {}};
  for (const AttrValue& element : *elements) {
    product = Combine(Arithmetic::kMultiply, product, {element, {}});
    if (!product.has_value()) return {};
  }
  return product;
}
TermValue SmallestWord(const TermValue& list) {
  const auto elements = ElementsOf(list);
  if (!elements || elements->empty() || !FixedWord(list)) return {};
  TermValue least{(*elements)[0], {}};
  for (const AttrValue& element : *elements) least = LeastOf(least, {element, {}});
  return least;
}
TermValue OnlyWord(const TermValue& list) {
  const auto elements = ElementsOf(list);
  return elements && elements->size() == 1 ? TermValue{(*elements)[0], {}} : TermValue();
}
TermValue SwapLastWord(const TermValue& list) {
  auto elements = ElementsOf(list);
  if (!elements || elements->size() < 2) return {};
  std::swap((*elements)[elements->size() - 2], elements->back());
  return ListOfElements(*elements);
}
std::optional<I64s> MovedWord(int64_t n, int64_t from, int64_t to) {
  if (n < 1 || n > kMostElements || from < -n || from >= n || to < -n || to >= n)
    return std::nullopt;
  if (from < 0) from += n;
  if (to < 0) to += n;
  I64s perm(static_cast<size_t>(n));
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return perm;
}
TermValue WithOnesWord(const TermValue& list, const I64s& places) {
  auto elements = ElementsOf(list);
  if (!elements) return {};
  for (int64_t place : places) {
    if (place < 0 || place >= static_cast<int64_t>(elements->size())) return {};
    (*elements)[static_cast<size_t>(place)] = int64_t{1};
  }
  return ListOfElements(*elements);
}

constexpr Word kWords[] = {
    MakeWord<&RankWord>("rank", "how many axes x has"),
    MakeWord<&DimWord>("dim", "the extent of an axis of x; a negative axis counts from the end"),
    MakeWord<&ShapeWord>("shape", "the extents of x"),
    MakeWord<&DTypeWord>("dtype", "the element type of x, such as f32"),
    MakeWord<&ConstantWord>("constant", "x is a constant"),
    MakeWord<&FloatWord>("float", "the elements of x are floats"),
    MakeWord<&SameTypeWord>("same_type", "the values have one element type and one shape"),
    MakeWord<&OpWord>("op", "the operation that computes x, as \"nn.softmax\"; \"\" if none does"),
    MakeWord<&OperandWord>("operand", "an operand of the operation that computes x"),
    MakeWord<&AttributeWord>("attribute", "an attribute of the operation that computes x"),
    MakeWord<&OneUseWord>("one_use", "the program uses x once"),
    MakeWord<&IsComputedFromConstants>("of_constants",
                                       "x is computed from constants alone, by few operations"),
    MakeWord<&NumberWord>("number", "the number as a float"),
    MakeWord<&IntegerWord>("integer", "the number as an integer, if it has no fraction"),
    MakeWord<&AbsWord>("abs", "|a|"),
    MakeWord<&SqrtWord>("sqrt", "the square root"),
    MakeWord<&RsqrtWord>("rsqrt", "1 / sqrt(a)"),
    MakeWord<&ExpWord>("exp", "e to the power a"),
    MakeWord<&LogWord>("log", "the natural logarithm"),
    MakeWord<&PowWord>("pow", "a to the power b"),
    MakeWord<&FloorWord>("floor", "the largest whole number that is not larger"),
    MakeWord<&MinWord>("min", "the smaller one of two numbers or extents"),
    MakeWord<&MaxWord>("max", "the larger one of two numbers or extents"),
    MakeWord<&PowerOfTwoWord>("power_of_two", "|a| is a power of two, such as 0.25"),
    MakeWord<&HeldWord>("held", "the number, if the type holds it as 0 or as a normal number"),
    MakeWord<&HeldProductWord>("held_product",
                               "a * b, if the type holds it so, and it is not 0 by underflow"),
    MakeWord<&LargestFiniteWord>("largest_finite", "the largest finite number of a type"),
    MakeWord<&FixedWord>("fixed", "the extent, or each one of a list, is a number"),
    MakeWord<&KnownWord>("known", "the list, if no extent in it is unknown"),
    MakeWord<&BroadcastWord>("broadcast", "the extent that two extents broadcast to"),
    MakeWord<&BroadcastsToWord>("broadcasts_to", "the first shape broadcasts to the second"),
    MakeWord<&LenWord>("len", "how many elements a list has"),
    MakeWord<&TakeWord>("take", "the first n elements; for a negative n all but the last -n"),
    MakeWord<&DropWord>("drop", "all but the first n elements; for a negative n the last -n"),
    MakeWord<&RangeWord>("range", "the integers from a to b - 1"),
    MakeWord<&OnesWord>("ones", "n ones"),
    MakeWord<&PaddedWord>("padded", "the list behind ones, n elements in all"),
    MakeWord<&ProductWord>("product", "the product of the elements"),
    MakeWord<&SmallestWord>("smallest", "the smallest element, if all are numbers"),
    MakeWord<&OnlyWord>("only", "the only element, if it is"),
    MakeWord<&SwapLastWord>("swap_last", "the list with its last two elements swapped"),
    MakeWord<&MovedWord>("moved", "the permutation of n axes that brings axis a to place b"),
    MakeWord<&WithOnesWord>("with_ones", "the list with 1 in these places"),
};

}  // namespace

std::span<const Word> BaseWords() { return kWords; }

const Word& BaseWord(std::string_view name) {
  const auto* at = std::find_if(std::begin(kWords), std::end(kWords),
                                [&](const Word& w) { return w.name == name; });
  TENON_CHECK(at != std::end(kWords));
  return *at;
}

Term RankOf(const Val& x) { return Call(BaseWord("rank"), x); }
Term ExtentOf(const Val& x, const Term& axis) { return Call(BaseWord("dim"), x, axis); }
Term ShapeOf(const Val& x) { return Call(BaseWord("shape"), x); }
Term DTypeOf(const Val& x) { return Call(BaseWord("dtype"), x); }
Term OpOf(const Term& x) { return Call(BaseWord("op"), x); }
Term OperandOf(const Term& x, const Term& i) { return Call(BaseWord("operand"), x, i); }
Term AttributeOf(const Term& x, const char* name) { return Call(BaseWord("attribute"), x, name); }
Term HasOneUse(const Val& x) { return Call(BaseWord("one_use"), x); }
Term Real(const Term& a) { return Call(BaseWord("number"), a); }
Term AbsOf(const Term& a) { return Call(BaseWord("abs"), a); }
Term SqrtOf(const Term& a) { return Call(BaseWord("sqrt"), a); }
Term FloorOf(const Term& a) { return Call(BaseWord("floor"), a); }
Term MinOf(const Term& a, const Term& b) { return Call(BaseWord("min"), a, b); }
Term MaxOf(const Term& a, const Term& b) { return Call(BaseWord("max"), a, b); }
Term IsPowerOfTwo(const Term& a) { return Call(BaseWord("power_of_two"), a); }
Term Held(const Term& type, const Term& a) { return Call(BaseWord("held"), type, a); }
Term HeldProduct(const Term& type, const Term& a, const Term& b) {
  return Call(BaseWord("held_product"), type, a, b);
}
Term LargestFiniteOf(const Term& type) { return Call(BaseWord("largest_finite"), type); }
Term Exists(const Term& term) { return MakeCall(*FindOperator("exists", 1), {term.node()}); }
Term IsFixed(const Term& e) { return Call(BaseWord("fixed"), e); }
Term IsNotNumber(const Term& e, int64_t number) {
  return !And(IsFixed(e), Compare(e, "==", number));
}
Term Known(const Term& e) { return Call(BaseWord("known"), e); }
Term BroadcastOf(const Term& a, const Term& b) { return Call(BaseWord("broadcast"), a, b); }
Term BroadcastsTo(const Term& a, const Term& b) { return Call(BaseWord("broadcasts_to"), a, b); }
Term LengthOf(const Term& list) { return Call(BaseWord("len"), list); }
Term Take(const Term& list, const Term& n) { return Call(BaseWord("take"), list, n); }
Term Drop(const Term& list, const Term& n) { return Call(BaseWord("drop"), list, n); }
Term IntegersFrom(const Term& a, const Term& b) { return Call(BaseWord("range"), a, b); }
Term Ones(const Term& n) { return Call(BaseWord("ones"), n); }
Term Padded(const Term& list, const Term& n) { return Call(BaseWord("padded"), list, n); }
Term ProductOf(const Term& list) { return Call(BaseWord("product"), list); }
Term SmallestOf(const Term& list) { return Call(BaseWord("smallest"), list); }
Term OnlyOf(const Term& list) { return Call(BaseWord("only"), list); }
Term SwapLast(const Term& list) { return Call(BaseWord("swap_last"), list); }
Term MovedAxis(const Term& n, const Term& from, const Term& to) {
  return Call(BaseWord("moved"), n, from, to);
}
Term WithOnes(const Term& list, const Term& places) {
  return Call(BaseWord("with_ones"), list, places);
}

}  // namespace tenon::drr
