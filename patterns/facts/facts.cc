#include "patterns/facts/facts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/base/check.h"
#include "ir/core/constants/constant.h"
#include "ir/core/constants/number_range.h"
#include "ir/core/operation.h"
#include "ir/dialect/folds/zero_signs.h"
#include "patterns/facts/magnitude.h"
#include "patterns/facts/value_range.h"

namespace tenon::pattern {
namespace {

using drr::AbsOf;
using drr::Term;
using drr::Val;
using drr::Word;

double MagnitudeWord(Value x) { return MagnitudeOf(x); }
double LowerWord(Value x) { return ProvenRange(x).low; }
double UpperWord(Value x) { return ProvenRange(x).high; }

std::optional<NumberRange> RangeOfConstant(Value x) {
  const Attribute elements = ConstantElementsOf(x);
  return elements ? std::optional(RangeOf(elements)) : std::nullopt;
}
std::optional<double> SmallestSizeWord(Value x) {
  const auto range = RangeOfConstant(x);
  return range ? std::optional(range->smallest) : std::nullopt;
}
std::optional<double> LargestSizeWord(Value x) {
  const auto range = RangeOfConstant(x);
  if (!range) return std::nullopt;
  return range->is_finite() ? range->largest() : std::numeric_limits<double>::infinity();
}
// Of numbers that f32 has rounded: the quotient of such a product and its factor is off by a few
// units in the last place.
std::optional<double> LargestMultipleWord(Value x, Value units) {
  constexpr double kRounding = 4 * std::numeric_limits<float>::epsilon();
  const Attribute numbers = ConstantElementsOf(x), steps = ConstantElementsOf(units);
  if (!numbers || !steps) return std::nullopt;
  const int64_t n = numbers.type().num_elements(), num_steps = steps.type().num_elements();
  if (num_steps != 1 && num_steps != n) return std::nullopt;
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double multiple =
        std::abs(numbers.ElementAsDouble(i) / steps.ElementAsDouble(num_steps == 1 ? 0 : i));
    // Written so that NaN is none.
    if (!(std::abs(multiple - std::round(multiple)) <= kRounding * multiple)) return std::nullopt;
    largest = std::max(largest, multiple);
  }
  return largest;
}
std::optional<bool> HasZeroWord(Value x) {
  const auto range = RangeOfConstant(x);
  return range ? std::optional(range->has_zero) : std::nullopt;
}
std::optional<bool> UniformWord(Value x) {
  const Attribute elements = ConstantElementsOf(x);
  return elements ? std::optional(elements.is_splat()) : std::nullopt;
}
// What is not proved may be so nevertheless.
std::optional<bool> ZerosAndOnesWord(Value x) {
  return IsZeroOrOne(x) ? std::optional(true) : std::nullopt;
}

constexpr Word kFacts[] = {
    drr::MakeWord<&MagnitudeWord>(
        "magnitude", "a proven bound of |x|, whatever the inputs hold; inf if none is"),
    drr::MakeWord<&LowerWord>("lower_bound", "a proven lower bound of the elements of x"),
    drr::MakeWord<&UpperWord>("upper_bound", "a proven upper bound of the elements of x"),
    drr::MakeWord<&SmallestSizeWord>("smallest_size",
                                     "the smallest |x| other than 0 in a constant"),
    drr::MakeWord<&LargestSizeWord>("largest_size",
                                    "the largest |x| in a constant; inf for infinity and NaN"),
    drr::MakeWord<&LargestMultipleWord>("largest_multiple",
                                        "the largest |x / u| if the constant x holds whole "
                                        "multiples of the constant u, which is one "
                                        "number or as many as x has; f32 may have rounded them"),
    drr::MakeWord<&HasZeroWord>("has_zero", "a constant has a zero"),
    drr::MakeWord<&UniformWord>("uniform",
                                "the elements of a constant are equal; no value for other values"),
    drr::MakeWord<&MayTellSignOfZero>("tells_zero_sign",
                                      "what is computed from x may tell +0 from -0"),
    drr::MakeWord<&ZerosAndOnesWord>(
        "zeros_and_ones", "true if every element of x is provably 0 or 1, else no value"),
};

const Word& Fact(std::string_view name) {
  const auto* at = std::find_if(std::begin(kFacts), std::end(kFacts),
                                [&](const Word& word) { return word.name == name; });
  TENON_CHECK(at != std::end(kFacts));
  return *at;
}

constexpr double kNoBound = std::numeric_limits<double>::infinity();

}  // namespace

std::span<const Word> Facts() { return kFacts; }

Term Magnitude(const Val& x) { return drr::Call(Fact("magnitude"), x); }
Term LowerBound(const Val& x) { return drr::Call(Fact("lower_bound"), x); }
Term UpperBound(const Val& x) { return drr::Call(Fact("upper_bound"), x); }
Term SmallestSize(const Val& x) { return drr::Call(Fact("smallest_size"), x); }
Term LargestSize(const Val& x) { return drr::Call(Fact("largest_size"), x); }
Term LargestMultiple(const Val& x, const Val& units) {
  return drr::Call(Fact("largest_multiple"), x, units);
}
Term HasZero(const Val& x) { return drr::Call(Fact("has_zero"), x); }
Term IsUniform(const Val& x) { return drr::Call(Fact("uniform"), x); }
Term HoldsZerosAndOnes(const Val& x) { return drr::Call(Fact("zeros_and_ones"), x); }
Term TellsSignOfZero(const Val& x) { return drr::Call(Fact("tells_zero_sign"), x); }

drr::Condition IsBounded(const char* words, const Val& x) {
  return drr::If(words, Magnitude(x) < kNoBound);
}
drr::Condition HasModerateSize(const char* words, const Val& x) {
  return drr::If(words, Magnitude(x) <= 1e20);
}
Term IsModerateNumber(const Term& scale) {
  return drr::And(drr::Compare(AbsOf(scale), ">=", 1e-4), drr::Compare(AbsOf(scale), "<=", 1e4));
}
drr::Condition IsModerateScale(const char* words, const Term& scale) {
  return drr::If(words, IsModerateNumber(scale));
}
Term StaysFinite(const Val& x, const Term& factor) {
  return drr::Or(
      drr::Compare(AbsOf(factor), "<=", 1),
      drr::Compare(Magnitude(x) * AbsOf(factor), "<=", drr::LargestFiniteOf(drr::DTypeOf(x))));
}
Term IsFactorOfTerms(const Term& size, const Val& sum) {
  constexpr double kHeadroom = 1099511627776;  // 2^40
  return drr::Or(drr::Compare(drr::DTypeOf(sum), "==", DType::kF16),
                 drr::Compare(size, "<=", kHeadroom));
}
drr::Condition AreFactorsOfTerms(const Val& factors, const Val& sum) {
  return AreFinite("the factors are finite", factors) &&
         drr::OnConstants(drr::If("the factors leave the terms of the sum finite",
                                  IsFactorOfTerms(LargestSize(factors), sum)));
}
drr::Condition AreFinite(const char* words, const Val& constant) {
  return drr::OnConstants(drr::If(words, LargestSize(constant) < kNoBound));
}

Term IsRow(const Val& b, const Val& y) {
  return drr::And(
      drr::Compare(drr::ShapeOf(b), "==", drr::ListOf({drr::OnesBefore(), drr::ExtentOf(y, -1)})),
      drr::Compare(drr::RankOf(b), "<=", drr::RankOf(y)));
}
Term IsNumber(const Val& b, const Val& y) {
  return drr::And(drr::Compare(drr::ProductOf(drr::ShapeOf(b)), "==", 1),
                  drr::Compare(drr::RankOf(b), "<=", drr::RankOf(y)));
}
Term IsPerChannel(const Val& b, const Val& y) {
  return drr::And(drr::Compare(drr::ShapeOf(b), "==",
                               drr::ListOf({drr::OnesBefore(), drr::ExtentOf(y, 1),
                                            drr::Spread(drr::Ones(drr::RankOf(y) - 2))})),
                  drr::And(drr::Compare(drr::RankOf(b), "<=", drr::RankOf(y)),
                           drr::Compare(drr::RankOf(y), ">", 2)));
}

}  // namespace tenon::pattern
