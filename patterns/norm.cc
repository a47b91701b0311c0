// Layer norm and RMS norm from the parts that exporters write.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// The axes are the last ones of x, all of them from some axis on.
bool AreLast(const I64s& axes, Value x) {
  if (!x.type().is_tensor() || axes.empty()) return false;
  int64_t axis = x.type().rank() - static_cast<int64_t>(axes.size());
  for (int64_t a : axes) {
    if (a != axis++) return false;
  }
  return true;
}

int64_t First(const I64s& axes) { return axes.empty() ? 0 : axes.front(); }

// The shape of w is x's from `axis` on.
bool IsNormalizedShape(Value w, Value x, int64_t axis) {
  Type a = w.type(), b = x.type();
  if (!a.is_tensor() || !b.is_tensor() || axis < 0 || a.rank() != b.rank() - axis) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), b.dim(axis + i))) return false;
  }
  return true;
}

Val Square(const Val& x) { return AnyOf(Pow(x, Splat(2)), Mul(x, x)); }

// x / r
Val Quotient(const Val& x, const Val& r) {
  return AnyOf(Div(x, r), Mul(x, Reciprocal(r)), Mul(x, Div(Splat(1), r)));
}

// (x - mean) / sqrt(mean((x - mean)^2) + eps)
Rule LayerNormFromParts() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val centered = Sub(x, ReduceMean(x, {.axes = axes}));
  Val variance = ReduceMean(Square(centered), {.axes = axes});
  Val deviation = Sqrt(Add(variance, Splat(epsilon)));
  return Rule("layer-norm")
      .Summary("(x - mean) / sqrt(variance + eps) over the last axes")
      .Match(Quotient(centered, deviation))
      .Where(If("the axes are the last ones", AreLast, axes, x))
      .Replace(LayerNorm(x, {}, {}, {.axis = Compute(First, axes), .epsilon = epsilon}));
}

Rule LayerNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("layer-norm-scale")
      .Summary("layer_norm(x) * w")
      .Match(Mul(LayerNorm(x, {}, {}, {.axis = axis, .epsilon = epsilon}), w))
      .Where(If("w has the shape of the normalised axes", IsNormalizedShape, w, x, axis))
      .Replace(LayerNorm(x, w, {}, {.axis = axis, .epsilon = epsilon}));
}

Rule LayerNormBias() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("layer-norm-bias")
      .Summary("layer_norm(x, w) + b")
      .Match(Add(LayerNorm(x, Maybe(w), {}, {.axis = axis, .epsilon = epsilon}), b))
      .Where(If("b has the shape of the normalised axes", IsNormalizedShape, b, x, axis))
      .Replace(LayerNorm(x, w, b, {.axis = axis, .epsilon = epsilon}));
}

// x / sqrt(mean(x^2) + eps)
Rule RmsNormFromParts() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val deviation = Sqrt(Add(ReduceMean(Square(x), {.axes = axes}), Splat(epsilon)));
  return Rule("rms-norm")
      .Summary("x / sqrt(mean(x^2) + eps) over the last axes")
      .Match(Quotient(x, deviation))
      .Where(If("the axes are the last ones", AreLast, axes, x))
      .Replace(RmsNorm(x, {}, {.axis = Compute(First, axes), .epsilon = epsilon}));
}

Rule RmsNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("rms-norm-scale")
      .Summary("rms_norm(x) * w")
      .Match(Mul(RmsNorm(x, {}, {.axis = axis, .epsilon = epsilon}), w))
      .Where(If("w has the shape of the normalised axes", IsNormalizedShape, w, x, axis))
      .Replace(RmsNorm(x, w, {.axis = axis, .epsilon = epsilon}));
}

}  // namespace

RuleSet NormRules() {
  return {LayerNormFromParts(), LayerNormScale(), LayerNormBias(), RmsNormFromParts(),
          RmsNormScale()};
}

}  // namespace tenon::pattern
