// Patterns shared by the rules of norms. Private to patterns.
#ifndef TENON_PATTERNS_LAYERS_NORM_PARTS_H_
#define TENON_PATTERNS_LAYERS_NORM_PARTS_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

inline int64_t First(const I64s& axes) { return axes.empty() ? 0 : axes.front(); }

// Returns the dimensions of `x` from `axis` on.
inline std::optional<Dims> NormalizedShape(Value x, int64_t axis) {
  Type type = x.type();
  if (!type.is_tensor() || axis < 0 || axis > type.rank()) return std::nullopt;
  return Dims(type.dims().begin() + axis, type.dims().end());
}

// `w` reshaped to those dimensions.
inline Val InNormalizedShape(const Val& w, const Val& x, const Attr<int64_t>& axis) {
  return Reshape(w, {.shape = Compute(NormalizedShape, x, axis)});
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

// The rules of norm_channels.cc, in order.
RuleSet ChannelNormRules();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LAYERS_NORM_PARTS_H_
