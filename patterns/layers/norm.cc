// Layer norm and RMS norm from the parts that exporters write. `arithmetic` has brought means,
// squares and quotients to one form; what is divided by the root of its mean square is an RMS norm,
// and an RMS norm of x - mean(x) is a layer norm.
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

// The axes are the last ones of x, all of them from some axis on.
Term LieAtTheEnd(const Attr<I64s>& axes, const Val& x) {
  return And(Compare(LengthOf(axes), ">=", 1),
             Compare(axes, "==", IntegersFrom(RankOf(x) - LengthOf(axes), RankOf(x))));
}

Condition AreLast(const Attr<I64s>& axes, const Val& x) {
  return If("the axes are the last ones", LieAtTheEnd(axes, x));
}

// w has an element for each one of x's axes from `axis` on, up to leading axes of extent 1.
Condition IsNormalizedShape(const char* words, const Val& w, const Val& x,
                            const Attr<int64_t>& axis) {
  return If(words, RankOf(w) <= RankOf(x) &&
                       ShapeOf(w) == ListOf({OnesBefore(), Spread(NormalizedShape(x, axis))}));
}

Condition IsPositive(const Attr<float>& epsilon) { return If("epsilon is positive", epsilon > 0); }

// w / r
Val ScaledReciprocal(const Val& w, const Val& r) { return AnyOf(Div(w, r), Mul(w, Reciprocal(r))); }

// ---- the forms around the quotient -------------------------------------------------------------

// x * g + (b - mean * g) for g = w / r, the form of batch norm: (x - mean) / r * w + b
Rule NormAsBatchNorm(const char* name, bool with_scale, bool with_bias,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w = Const("w"), b = Const("b");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val mean = ReduceMean(x, {.axes = axes});
  Val centered = Sub(x, mean);
  Val r = Sqrt(Add(ReduceMean(Square(centered), {.axes = axes}), Splat(epsilon)));
  Val g = with_scale ? ScaledReciprocal(w, r) : Reciprocal(r);
  Val shift = Mul(mean, g), product = Mul(x, g);
  Val root = with_bias ? Add(product, Sub(b, shift)) : Sub(product, shift);
  Val made = Div(centered, r);
  if (with_scale) made = Mul(made, w);
  if (with_bias) made = Add(made, b);
  return Rule(name, file, line)
      .Summary("x * g + (b - mean * g), the batch norm's form of a layer norm")
      .Match(root)
      .Where(IsPositive(epsilon))
      .Where(with_scale ? AreFinite("the scale is finite", w) : Condition())
      .Replace(made)
      .Lowers(OpsOf({"ten.mul"}));
}

// x * (w / r) and (x * w) / r as x / r * w
Rule NormScaleLast() {
  Val x("x"), y("y"), w = Const("w");
  Attr<float> epsilon("epsilon");
  Val r = Sqrt(Add(ReduceMean(Square(y), {.axes = kAny}), Splat(epsilon)));
  return Rule("norm-scale-last")
      .Summary("a scale inside of the quotient of a norm is one outside")
      .Match(
          AnyOf(Mul(x, ScaledReciprocal(w, r)), Div(Mul(x, w), r), Mul(Mul(x, w), Reciprocal(r))))
      .Where(IsPositive(epsilon))
      .MayOverflow(If("the norm is of x", Term(x) == Term(y)))
      .Replace(Mul(Div(x, r), w))
      .Lowers(OpsBefore({"core.constant"}, {MeasuredOp("ten.div").At(0), "ten.reciprocal"}));
}

// ---- norms over the last axes ------------------------------------------------------------------

Rule RmsNormFromParts() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  return Rule("rms-norm")
      .Summary("x / sqrt(mean(x^2) + eps) over the last axes")
      .Match(Quotient(x, RootMeanSquare(Square(x), axes, epsilon)))
      .Where(AreLast(axes, x))
      .Replace(RmsNorm(x, {}, {.axis = First(axes), .epsilon = epsilon}));
}

// The same for a difference whose square was taken the other way round.
Rule RmsNormOfDifference() {
  Val a("a"), b("b");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val x = Sub(a, b);
  return Rule("rms-norm-of-difference")
      .Summary("(a - b) / sqrt(mean((b - a)^2) + eps) over the last axes")
      .Match(Quotient(x, RootMeanSquare(Square(Sub(b, a)), axes, epsilon)))
      .Where(AreLast(axes, x))
      .Replace(RmsNorm(x, {}, {.axis = First(axes), .epsilon = epsilon}));
}

// The sum in place of the mean, and the root of their number as a factor. The factor is rounded, in
// f16 to three digits: what is left of it becomes a scale.
Rule RmsNormFromSum() {
  Val x("x");
  Attr<float> epsilon("epsilon"), factor("factor");
  const Term last = RankOf(x) - 1, count = ExtentOf(x, -1);
  Val r = Sqrt(Add(ReduceSum(Square(x), {.axes = ListOf({last})}), Splat(epsilon)));
  Val scale = Expand(Splat(Term(factor) / SqrtOf(count)), {.shape = ListOf({count})});
  return Rule("rms-norm-from-sum")
      .Summary("x * sqrt(n) / sqrt(sum(x^2) + n eps) over n elements = rms_norm(x)")
      .Match(AnyOf(Quotient(Mul(x, Splat(factor)), r), Mul(Quotient(x, r), Splat(factor))))
      .Where(IsPositive(epsilon) && IsFixed(count) && count > 0 &&
             If("the factor is the root of the number of elements",
                AbsOf(Term(factor) * factor - count) <= 2e-3 * count && factor > 0))
      .Replace(RmsNorm(x, scale, {.axis = last, .epsilon = Term(epsilon) / count}))
      .Lowers(OpsOf({"ten.reduce_sum"}));
}

Rule LayerNormFromRmsNorm() {
  Val x("x"), w("w");
  Attr<I64s> axes("axes");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val centered = Sub(x, ReduceMean(x, {.axes = axes}));
  return Rule("layer-norm")
      .Summary("rms_norm(x - mean(x)) = layer_norm(x)")
      .Match(RmsNorm(centered, Maybe(w), {.axis = axis, .epsilon = epsilon}))
      .Where(If("the means are of the normalized axes",
                And(LieAtTheEnd(axes, x), Compare(First(axes), "==", axis))))
      .Replace(LayerNorm(x, w, {}, {.axis = axis, .epsilon = epsilon}));
}

// The variance may be that of the centred values: their mean, 0 but for rounding, is taken off once
// more. Where that is done to what is divided, too, it is there to centre better than one rounded
// mean does, and stays: a layer norm of x - mean(x).
Rule LayerNormOfCenteredVariance() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val centered = Sub(x, ReduceMean(x, {.axes = axes}));
  Val again = Sub(centered, ReduceMean(centered, {.axes = axes}));
  return Rule("layer-norm-of-centered-variance")
      .Summary("(x - mean(x)) / sqrt(var(x - mean(x)) + eps) = layer_norm(x)")
      .Match(Quotient(centered, RootMeanSquare(Square(again), axes, epsilon)))
      .Where(AreLast(axes, x))
      .Replace(LayerNorm(x, {}, {}, {.axis = First(axes), .epsilon = epsilon}));
}

Rule LayerNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("layer-norm-scale")
      .Summary("layer_norm(x) * w")
      .Match(Mul(LayerNorm(x, {}, {}, {.axis = axis, .epsilon = epsilon}), w))
      .Where(IsNormalizedShape("w has the shape of the normalized axes", w, x, axis))
      .Replace(LayerNorm(x, InNormalizedShape(w, x, axis), {}, {.axis = axis, .epsilon = epsilon}))
      .Lowers(OpsOf({"ten.mul"}));
}

Rule LayerNormBias() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("layer-norm-bias")
      .Summary("layer_norm(x, w) + b")
      .Match(Add(LayerNorm(x, Maybe(w), {}, {.axis = axis, .epsilon = epsilon}), b))
      .Where(IsNormalizedShape("b has the shape of the normalized axes", b, x, axis))
      .Replace(LayerNorm(x, w, InNormalizedShape(b, x, axis), {.axis = axis, .epsilon = epsilon}))
      .Lowers(OpsOf({"ten.add"}));
}

Rule RmsNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("rms-norm-scale")
      .Summary("rms_norm(x) * w")
      .Match(Mul(RmsNorm(x, {}, {.axis = axis, .epsilon = epsilon}), w))
      .Where(IsNormalizedShape("w has the shape of the normalized axes", w, x, axis))
      .Replace(RmsNorm(x, InNormalizedShape(w, x, axis), {.axis = axis, .epsilon = epsilon}))
      .Lowers(OpsOf({"ten.mul"}));
}

// ---- a second scale or bias ---------------------------------------------------------------------

enum class Second { kRmsScale, kLayerScale, kLayerScaleAndBias, kLayerBias };

// layer_norm(x, w, b) * k = layer_norm(x, w * k, b * k), and so on; exporters write scales of 1.
Rule SecondAffine(const char* name, Second kind, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b"), k = Const("k");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val row = InNormalizedShape(k, x, axis);
  nn::LayerNormArgs layer{.axis = axis, .epsilon = epsilon};
  nn::RmsNormArgs rms{.axis = axis, .epsilon = epsilon};
  Val norm = x, made = x;
  switch (kind) {
    case Second::kRmsScale:
      norm = RmsNorm(x, w, rms);
      made = RmsNorm(x, Mul(w, row), rms);
      break;
    case Second::kLayerScale:
      norm = LayerNorm(x, w, {}, layer);
      made = LayerNorm(x, Mul(w, row), {}, layer);
      break;
    case Second::kLayerScaleAndBias:
      norm = LayerNorm(x, w, b, layer);
      made = LayerNorm(x, Mul(w, row), Mul(b, row), layer);
      break;
    case Second::kLayerBias:
      norm = LayerNorm(x, Maybe(w), b, layer);
      made = LayerNorm(x, w, Add(b, row), layer);
      break;
  }
  return Rule(name, file, line)
      .Summary("a second scale or bias of a norm becomes part of the first")
      .Match(kind == Second::kLayerBias ? Add(norm, k) : Mul(norm, k))
      .Where(
          IsNormalizedShape("the scale or bias has the shape of the normalized axes", k, x, axis))
      .Where(kind == Second::kLayerBias ? Condition() : FollowsFromConstants(w))
      .Where(kind == Second::kLayerScaleAndBias ? AreFinite("the second scale is finite", k)
                                                : Condition())
      .Where(kind == Second::kLayerScaleAndBias || kind == Second::kLayerBias
                 ? FollowsFromConstants(b)
                 : Condition())
      .Replace(made)
      .Lowers(OpsBefore({"nn.layer_norm", "nn.rms_norm"}, {"ten.mul", "ten.add"}));
}

// ---- mixed precision ---------------------------------------------------------------------------

enum class Norm { kRms, kLayer, kGroup };

// f16 -> f32 -> norm -> f16, and the same of bf16: every kernel sums in f32 or wider anyway.
Rule NormInCasts(const std::string& name, DType narrow_type, Norm kind, bool with_scale,
                 bool with_bias, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> axis("axis"), groups("groups");
  Attr<float> epsilon("epsilon");
  Val wide = ten::Cast(x, {.to = DType::kF32});
  auto narrow = [&](const Val& v) { return ten::Cast(v, {.to = narrow_type}); };
  auto norm = [&](const Val& y, const OptVal& scale, const OptVal& bias) {
    return kind == Norm::kGroup
               ? nn::GroupNorm(y, scale, bias, {.groups = groups, .epsilon = epsilon})
           : kind == Norm::kLayer ? LayerNorm(y, scale, bias, {.axis = axis, .epsilon = epsilon})
                                  : RmsNorm(y, scale, {.axis = axis, .epsilon = epsilon});
  };
  Val inner = norm(wide, with_scale ? OptVal(w) : OptVal(), with_bias ? OptVal(b) : OptVal());
  Val made =
      norm(x, with_scale ? OptVal(narrow(w)) : OptVal(), with_bias ? OptVal(narrow(b)) : OptVal());
  Condition where = DTypeIs(x, narrow_type);
  if (with_scale) where = where && DTypeIs(w, DType::kF32) && FollowsFromConstants(w);
  if (with_bias) where = where && DTypeIs(b, DType::kF32) && FollowsFromConstants(b);
  return Rule(name, file, line)
      .Summary("a norm of 16 bits computed in f32 is a norm of 16 bits")
      .Match(narrow(inner))
      .Where(where)
      .Keep(wide)
      .Replace(made)
      .Lowers(OpsBefore({inner.ref().node->op}, {"ten.cast"}));
}

}  // namespace

RuleSet NormRules() {
  RuleSet rules = {NormAsBatchNorm("norm-as-batch-norm", true, true),
                   NormAsBatchNorm("norm-as-batch-norm-without-bias", true, false),
                   NormAsBatchNorm("norm-as-batch-norm-without-scale", false, true),
                   NormAsBatchNorm("norm-as-batch-norm-alone", false, false),
                   NormScaleLast(),
                   RmsNormFromParts(),
                   RmsNormOfDifference(),
                   RmsNormFromSum(),
                   LayerNormFromRmsNorm(),
                   LayerNormOfCenteredVariance(),
                   LayerNormScale(),
                   LayerNormBias(),
                   RmsNormScale(),
                   SecondAffine("rms-norm-second-scale", Second::kRmsScale),
                   SecondAffine("layer-norm-second-scale", Second::kLayerScale),
                   SecondAffine("layer-norm-second-affine", Second::kLayerScaleAndBias),
                   SecondAffine("layer-norm-second-bias", Second::kLayerBias)};
  for (Rule& rule : ChannelNormRules()) rules.push_back(std::move(rule));
  for (const auto& [type, suffix] :
       {std::pair(DType::kF16, ""), std::pair(DType::kBF16, "-of-bf16")}) {
    const auto add = [&](const char* name, Norm kind, bool with_scale, bool with_bias) {
      rules.push_back(NormInCasts(name + std::string(suffix), type, kind, with_scale, with_bias));
    };
    add("rms-norm-in-casts", Norm::kRms, false, false);
    add("rms-norm-in-casts-scale", Norm::kRms, true, false);
    add("layer-norm-in-casts", Norm::kLayer, false, false);
    add("layer-norm-in-casts-scale", Norm::kLayer, true, false);
    add("layer-norm-in-casts-bias", Norm::kLayer, true, true);
    add("group-norm-in-casts", Norm::kGroup, false, false);
    add("group-norm-in-casts-scale", Norm::kGroup, true, false);
    add("group-norm-in-casts-bias", Norm::kGroup, true, true);
  }
  return rules;
}

}  // namespace tenon::pattern
