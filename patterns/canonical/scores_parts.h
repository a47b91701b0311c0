// Patterns shared by the rules of attention scores. Private to patterns.
#ifndef TENON_PATTERNS_CANONICAL_SCORES_PARTS_H_
#define TENON_PATTERNS_CANONICAL_SCORES_PARTS_H_

#include "patterns/facts/magnitude.h"
#include "patterns/facts/numbers.h"
#include "patterns/prelude.h"

namespace tenon::pattern {

// A product, its scale and its sums, with the names that the rules use.
struct Scores {
  Val a{"_a"}, b{"_b"}, bias{"_bias"}, second{"_second"};
  Attr<float> multiplier{"multiplier"}, divisor{"divisor"}, factor{"factor"};
  Val product = Matmul(a, b, {.transpose_a = kAny, .transpose_b = kAny}).As("product");
  Val scaled = AnyOf(Mul(product, Splat(multiplier)).Let(factor, Real(multiplier)),
                     Div(product, Splat(divisor)).Let(factor, 1.0 / divisor), product);
  Val sum = AnyOf(Add(Add(scaled, bias), second), Add(scaled, bias), scaled);
};

inline Condition IsScaledModerately(const Scores& s) {
  return IsFloat(s.product) && !IsConstant(s.b) &&
         IsModerateScale("the scale is a moderate number", s.factor);
}

inline Condition IsProductOfActivations(const Scores& s) {
  return IsScaledModerately(s) && RankAtLeast(s.product, 3);
}

// The rules of scores_transposes.cc, scores_sequences.cc and scores_views.cc, in order.
RuleSet ScoreTransposeRules();
RuleSet ScoreSequenceRules();
RuleSet ScoreViewRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_CANONICAL_SCORES_PARTS_H_
