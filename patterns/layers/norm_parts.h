// Patterns shared by the rules of norms. Private to patterns.
#ifndef TENON_PATTERNS_LAYERS_NORM_PARTS_H_
#define TENON_PATTERNS_LAYERS_NORM_PARTS_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

namespace fused {
// Norms of a sum without an offset.
inline Val SkipLayerNorm(const Val& x, const Val& skip, const OptVal& scale, const OptVal& bias,
                         const SkipLayerNormArgs& args) {
  return SkipLayerNorm(x, skip, scale, bias, OptVal(), args);
}
inline Val SkipRmsNorm(const Val& x, const Val& skip, const OptVal& scale,
                       const SkipRmsNormArgs& args) {
  return SkipRmsNorm(x, skip, scale, OptVal(), args);
}
}  // namespace fused

// The first of the axes.
inline Term First(const Attr<I64s>& axes) { return Term(axes)[0]; }

// The dimensions of `x` from `axis` on.
inline Term NormalizedShape(const Val& x, const Attr<int64_t>& axis) {
  return Drop(ShapeOf(x), axis);
}

// `w` reshaped to those dimensions.
inline Val InNormalizedShape(const Val& w, const Val& x, const Attr<int64_t>& axis) {
  return Reshape(w, {.shape = NormalizedShape(x, axis)});
}

// sqrt(mean(square) + epsilon); an absent epsilon is bound as 0.
inline Val RootMeanSquare(const Val& square, const AttrArg<I64s>& axes,
                          const Attr<float>& epsilon) {
  Val mean = ReduceMean(square, {.axes = axes});
  return Sqrt(AnyOf(Add(mean, Splat(epsilon)), mean.Let(epsilon, 0)));
}

inline Val Square(const Val& x) { return Mul(x, x); }

// x / r, also written as x * (1 / r).
inline Val Quotient(const Val& x, const Val& r) { return AnyOf(Div(x, r), Mul(x, Reciprocal(r))); }

// What scales by a batch norm's factor moves it to other operands. An infinite one makes NaN of a
// weight that is zero, and of a difference that the batch norm does not compute.
inline Condition AreFiniteStatistics(const Val& scale, const Val& mean, const Val& var) {
  return AreFinite("the scale is finite", scale) && AreFinite("the mean is finite", mean) &&
         AreFinite("the variance is finite", var);
}

// The factors scale / sqrt(var + epsilon) may move to the terms of `sum` (IsFactorOfTerms). They
// are computed in its type, which must hold epsilon.
inline Condition StatisticsLeaveTerms(const Val& scale, const Val& var, const Attr<float>& epsilon,
                                      const Val& sum) {
  const Term square = LargestSize(scale) * LargestSize(scale);
  constexpr double kHeadroom = 1099511627776;  // 2^40
  return If("the type holds epsilon", Compare(epsilon, "<=", LargestFiniteOf(DTypeOf(sum)))) &&
         OnConstants(
             If("the factors leave the terms of the sum finite",
                Or(Compare(DTypeOf(sum), "==", DType::kF16),
                   Compare(square, "<=", kHeadroom * kHeadroom * (LowerBound(var) + epsilon)))));
}

// The rules of norm_channels.cc, in order.
RuleSet ChannelNormRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LAYERS_NORM_PARTS_H_
