// Layer norm and RMS norm from the parts that exporters write. `arithmetic` has brought means,
// squares and quotients to one form; what is divided by the root of its mean square is an RMS norm,
// and an RMS norm of x - mean(x) is a layer norm.
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

// Has w an element for each one of x's axes from `axis` on, up to leading axes of extent 1?
bool IsNormalizedShape(Value w, Value x, int64_t axis) {
  Type a = w.type(), b = x.type();
  if (!a.is_tensor() || !b.is_tensor() || axis < 0 || axis >= b.rank() || a.rank() > b.rank())
    return false;
  const int64_t shift = b.rank() - a.rank();
  if (axis < shift) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (i + shift < axis ? !a.dim(i).is_constant(1)
                         : !DimExpr::ProvablyEqual(a.dim(i), b.dim(i + shift)))
      return false;
  }
  return true;
}

// The dimensions of x from `axis` on.
std::optional<Dims> NormalizedShape(Value x, int64_t axis) {
  Type type = x.type();
  if (!type.is_tensor() || axis < 0 || axis > type.rank()) return std::nullopt;
  return Dims(type.dims().begin() + axis, type.dims().end());
}

Val InNormalizedShape(const Val& w, const Val& x, const Attr<int64_t>& axis) {
  return Reshape(w, {.shape = Compute(NormalizedShape, x, axis)});
}

// sqrt(mean(x^2) + eps); without an epsilon it is 0.
Val RootMeanSquare(const Val& square, const AttrArg<I64s>& axes, const Attr<float>& epsilon) {
  Val mean = ReduceMean(square, {.axes = axes});
  return Sqrt(AnyOf(Add(mean, Splat(epsilon)), mean.Let(epsilon, 0)));
}

bool IsPositive(double epsilon) { return epsilon > 0; }

Val Square(const Val& x) { return Mul(x, x); }

// x / r, also where 1 / r is shared
Val Quotient(const Val& x, const Val& r) { return AnyOf(Div(x, r), Mul(x, Reciprocal(r))); }

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
      .Where(If("epsilon is positive", IsPositive, epsilon))
      .Replace(made)
      .Lowers("layer norms in another form");
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
      .Where(If("epsilon is positive", IsPositive, epsilon))
      .Replace(Mul(Div(x, r), w))
      .Lowers("scales inside of norms");
}

// ---- norms over the last axes ------------------------------------------------------------------

Rule RmsNormFromParts() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  return Rule("rms-norm")
      .Summary("x / sqrt(mean(x^2) + eps) over the last axes")
      .Match(Quotient(x, RootMeanSquare(Square(x), axes, epsilon)))
      .Where(If("the axes are the last ones", AreLast, axes, x))
      .Replace(RmsNorm(x, {}, {.axis = Compute(First, axes), .epsilon = epsilon}));
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
      .Where(If("the axes are the last ones", AreLast, axes, x))
      .Replace(RmsNorm(x, {}, {.axis = Compute(First, axes), .epsilon = epsilon}));
}

bool StartAt(const I64s& axes, int64_t axis, Value x) {
  return AreLast(axes, x) && First(axes) == axis;
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
      .Where(If("the means are of the normalised axes", StartAt, axes, axis, x))
      .Replace(LayerNorm(x, w, {}, {.axis = axis, .epsilon = epsilon}));
}

Rule LayerNormOfCentered() {
  Val x("x"), w("w"), b("b");
  Attr<I64s> axes("axes");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val centered = Sub(x, ReduceMean(x, {.axes = axes}));
  return Rule("layer-norm-of-centered")
      .Summary("layer_norm(x - mean(x)) = layer_norm(x)")
      .Match(LayerNorm(centered, Maybe(w), Maybe(b), {.axis = axis, .epsilon = epsilon}))
      .Where(If("the means are of the normalised axes", StartAt, axes, axis, x))
      .Replace(LayerNorm(x, w, b, {.axis = axis, .epsilon = epsilon}));
}

Rule LayerNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("layer-norm-scale")
      .Summary("layer_norm(x) * w")
      .Match(Mul(LayerNorm(x, {}, {}, {.axis = axis, .epsilon = epsilon}), w))
      .Where(If("w has the shape of the normalised axes", IsNormalizedShape, w, x, axis))
      .Replace(LayerNorm(x, InNormalizedShape(w, x, axis), {}, {.axis = axis, .epsilon = epsilon}))
      .Lowers("products");
}

Rule LayerNormBias() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("layer-norm-bias")
      .Summary("layer_norm(x, w) + b")
      .Match(Add(LayerNorm(x, Maybe(w), {}, {.axis = axis, .epsilon = epsilon}), b))
      .Where(If("b has the shape of the normalised axes", IsNormalizedShape, b, x, axis))
      .Replace(LayerNorm(x, w, InNormalizedShape(b, x, axis), {.axis = axis, .epsilon = epsilon}))
      .Lowers("sums");
}

Rule RmsNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  return Rule("rms-norm-scale")
      .Summary("rms_norm(x) * w")
      .Match(Mul(RmsNorm(x, {}, {.axis = axis, .epsilon = epsilon}), w))
      .Where(If("w has the shape of the normalised axes", IsNormalizedShape, w, x, axis))
      .Replace(RmsNorm(x, InNormalizedShape(w, x, axis), {.axis = axis, .epsilon = epsilon}))
      .Lowers("products");
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
      .Where(If("it has the shape of the normalised axes", IsNormalizedShape, k, x, axis))
      .Replace(made)
      .Lowers("scales and biases behind norms");
}

// ---- the channels of images: the norm of a transpose -------------------------------------------

bool IsChannelAxis(const I64s& axes, Value x) {
  return x.type().is_tensor() && x.type().rank() >= 4 && axes.size() == 1 && axes[0] == 1;
}

// Moves the axis to the end, and back.
I64s ToLast(const I64s& axes, Value x) {
  I64s perm;
  for (int64_t i = 0; i < x.type().rank(); ++i) {
    if (i != First(axes)) perm.push_back(i);
  }
  perm.push_back(First(axes));
  return perm;
}

I64s FromLast(const I64s& axes, Value x) {
  I64s perm;
  const int64_t last = x.type().rank() - 1;
  for (int64_t i = 0; i <= last; ++i) {
    perm.push_back(i < First(axes) ? i : i == First(axes) ? last : i - 1);
  }
  return perm;
}

int64_t LastAxis(Value x) { return x.type().is_tensor() ? x.type().rank() - 1 : 0; }

Rule RmsNormOfChannels() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val moved = Transpose(x, {.perm = Compute(ToLast, axes, x)});
  Val norm = RmsNorm(moved, {}, {.axis = Compute(LastAxis, x), .epsilon = epsilon});
  return Rule("rms-norm-of-channels")
      .Summary(
          "an RMS norm over the channels of images is one over the last axis, between transposes")
      .Match(Quotient(x, RootMeanSquare(Square(x), axes, epsilon)))
      .Where(If("it is over the channels of images", IsChannelAxis, axes, x))
      .Replace(Transpose(norm, {.perm = Compute(FromLast, axes, x)}))
      .Lowers("norms in parts");
}

// Does perm bring the only one of `axes` to the end, and is only the last axis normalised?
bool BringsToEnd(const I64s& perm, const I64s& axes, int64_t axis) {
  return axes.size() == 1 && !perm.empty() && perm.back() == axes[0] &&
         axis + 1 == static_cast<int64_t>(perm.size());
}

Rule LayerNormOfChannels() {
  Val x("x"), w("w");
  Attr<I64s> axes("axes"), perm("perm");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val centered = Sub(x, ReduceMean(x, {.axes = axes}));
  return Rule("layer-norm-of-channels")
      .Summary("rms_norm(transpose(x - mean(x))) = layer_norm(transpose(x))")
      .Match(RmsNorm(Transpose(centered, {.perm = perm}), Maybe(w),
                     {.axis = axis, .epsilon = epsilon}))
      .Where(If("the axis of the mean becomes the last one", BringsToEnd, perm, axes, axis))
      .Replace(LayerNorm(Transpose(x, {.perm = perm}), w, {}, {.axis = axis, .epsilon = epsilon}));
}

// Has w an element for each one of the axis of transpose(x, perm) that was x's last one, and 1 on
// all others?
bool IsAlongLast(Value w, Value x, const I64s& perm) {
  Type a = w.type(), b = x.type();
  const auto rank = static_cast<int64_t>(perm.size());
  if (!a.is_tensor() || !b.is_tensor() || b.rank() != rank || a.rank() > rank) return false;
  const int64_t shift = rank - a.rank();
  bool found = false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    const bool last = perm[static_cast<size_t>(i + shift)] == rank - 1;
    found |= last;
    if (last ? !DimExpr::ProvablyEqual(a.dim(i), b.dim(-1)) : !a.dim(i).is_constant(1))
      return false;
  }
  return found;
}

bool IsLast(int64_t axis, Value x) { return axis == LastAxis(x); }

enum class Moved { kRmsScale, kLayerScale, kLayerBias };

// transpose(norm(x)) * w = transpose(norm(x, w)), and the same for a bias
Rule MovedNorm(const char* name, Moved kind, const char* file = __builtin_FILE(),
               int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b");
  Attr<I64s> perm("perm");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  const bool rms = kind == Moved::kRmsScale, bias = kind == Moved::kLayerBias;
  const Val& added = bias ? b : w;
  Val in = InNormalizedShape(added, x, axis);
  Val norm = rms    ? RmsNorm(x, {}, {.axis = axis, .epsilon = epsilon})
             : bias ? LayerNorm(x, Maybe(w), {}, {.axis = axis, .epsilon = epsilon})
                    : LayerNorm(x, {}, {}, {.axis = axis, .epsilon = epsilon});
  Val made = rms    ? RmsNorm(x, in, {.axis = axis, .epsilon = epsilon})
             : bias ? LayerNorm(x, w, in, {.axis = axis, .epsilon = epsilon})
                    : LayerNorm(x, in, {}, {.axis = axis, .epsilon = epsilon});
  Val transposed = Transpose(norm, {.perm = perm});
  return Rule(name, file, line)
      .Summary("a scale or bias behind the transpose of a norm belongs to the norm")
      .Match(bias ? Add(transposed, added) : Mul(transposed, added))
      .Where(If("only the last axis is normalised", IsLast, axis, x) &&
             If("it has an element for each of the normalised axis", IsAlongLast, added, x, perm))
      .Replace(Transpose(made, {.perm = perm}))
      .Lowers("scales and biases beside norms");
}

// ---- groups of channels ------------------------------------------------------------------------

// Is `split` x with its channels in groups: [B, G, …]?
bool SplitsChannels(Value x, Value split, Value back) {
  Type a = x.type(), b = split.type(), c = back.type();
  if (!a.is_tensor() || !b.is_tensor() || !c.is_tensor() || a.rank() < 3 || b.rank() < 3 ||
      a.rank() != c.rank() || !a.dim(1).is_constant() || !b.dim(1).is_constant() ||
      !DimExpr::ProvablyEqual(a.dim(0), b.dim(0)))
    return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), c.dim(i))) return false;
  }
  const int64_t groups = b.dim(1).constant();
  return groups > 0 && a.dim(1).constant() % groups == 0;
}

std::optional<int64_t> GroupsOf(Value split) {
  Type type = split.type();
  if (!type.is_tensor() || type.rank() < 2 || !type.dim(1).is_constant() ||
      type.dim(1).constant() < 1)
    return std::nullopt;
  return type.dim(1).constant();
}

// reshape(layer_norm(reshape(x, [B, G, …])))
Rule GroupNormFromLayerNorm() {
  Val x("x");
  Attr<float> epsilon("epsilon");
  Val split = Reshape(x, {.shape = kAny});
  Val root = Reshape(LayerNorm(split, {}, {}, {.axis = 2, .epsilon = epsilon}), {.shape = kAny});
  return Rule("group-norm")
      .Summary("the layer norm of groups of channels")
      .Match(root)
      .Where(If("the channels are split into groups, and joined again", SplitsChannels, x, split,
                root))
      .Replace(GroupNorm(x, {}, {}, {.groups = Compute(GroupsOf, split), .epsilon = epsilon}));
}

// Has w one element for each channel of x: [C, 1, …] or [1, C, 1, …]?
bool IsPerChannel(Value w, Value x) {
  Type a = w.type(), b = x.type();
  if (!a.is_tensor() || !b.is_tensor() || b.rank() < 3 || a.rank() > b.rank() ||
      a.rank() + 1 < b.rank() || !b.dim(1).is_constant())
    return false;
  const int64_t channel = a.rank() - (b.rank() - 1);
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (i == channel ? !DimExpr::ProvablyEqual(a.dim(i), b.dim(1)) : !a.dim(i).is_constant(1))
      return false;
  }
  return true;
}

std::optional<Dims> Channels(Value x) {
  Type type = x.type();
  if (!type.is_tensor() || type.rank() < 2) return std::nullopt;
  return Dims{type.dim(1)};
}

Val AsChannels(const Val& w, const Val& x) { return Reshape(w, {.shape = Compute(Channels, x)}); }

Rule GroupNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  return Rule("group-norm-scale")
      .Summary("group_norm(x) * w")
      .Match(Mul(GroupNorm(x, {}, {}, {.groups = groups, .epsilon = epsilon}), w))
      .Where(If("w has an element for each channel", IsPerChannel, w, x))
      .Replace(GroupNorm(x, AsChannels(w, x), {}, {.groups = groups, .epsilon = epsilon}))
      .Lowers("products");
}

Rule GroupNormBias() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  return Rule("group-norm-bias")
      .Summary("group_norm(x, w) + b")
      .Match(Add(GroupNorm(x, Maybe(w), {}, {.groups = groups, .epsilon = epsilon}), b))
      .Where(If("b has an element for each channel", IsPerChannel, b, x))
      .Replace(GroupNorm(x, w, AsChannels(b, x), {.groups = groups, .epsilon = epsilon}))
      .Lowers("sums");
}

// The norm of every channel of images: as many groups as channels.
Rule InstanceNorm() {
  Val x("x"), w("w");
  Attr<float> epsilon("epsilon");
  return Rule("instance-norm")
      .Summary("the norm of every channel of images, times a number for each")
      .Match(Mul(LayerNorm(x, {}, {}, {.axis = 2, .epsilon = epsilon}), w))
      .Where(RankAtLeast(x, 4) && If("w has an element for each channel", IsPerChannel, w, x))
      .Replace(
          GroupNorm(x, AsChannels(w, x), {}, {.groups = Compute(GroupsOf, x), .epsilon = epsilon}))
      .Lowers("products");
}

// ---- mixed precision ---------------------------------------------------------------------------

// f16 -> f32 -> norm -> f16: every kernel sums in f32 or wider anyway.
Rule NormInCasts(const char* name, bool layer, bool with_scale, bool with_bias,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val wide = ten::Cast(x, {.to = DType::kF32});
  auto narrow = [](const Val& v) { return ten::Cast(v, {.to = DType::kF16}); };
  auto norm = [&](const Val& y, const OptVal& scale, const OptVal& bias) {
    return layer ? LayerNorm(y, scale, bias, {.axis = axis, .epsilon = epsilon})
                 : RmsNorm(y, scale, {.axis = axis, .epsilon = epsilon});
  };
  Val inner = norm(wide, with_scale ? OptVal(w) : OptVal(), with_bias ? OptVal(b) : OptVal());
  Val made =
      norm(x, with_scale ? OptVal(narrow(w)) : OptVal(), with_bias ? OptVal(narrow(b)) : OptVal());
  Condition where = DTypeIs(x, DType::kF16);
  if (with_scale) where = where && DTypeIs(w, DType::kF32);
  if (with_bias) where = where && DTypeIs(b, DType::kF32);
  return Rule(name, file, line)
      .Summary("a norm of f16 computed in f32 is a norm of f16")
      .Match(narrow(inner))
      .Where(where)
      .Keep(wide)
      .Replace(made)
      .Lowers("norms of wider numbers");
}

}  // namespace

RuleSet NormRules() {
  return {NormAsBatchNorm("norm-as-batch-norm", true, true),
          NormAsBatchNorm("norm-as-batch-norm-without-bias", true, false),
          NormAsBatchNorm("norm-as-batch-norm-without-scale", false, true),
          NormAsBatchNorm("norm-as-batch-norm-alone", false, false),
          NormScaleLast(),
          RmsNormFromParts(),
          RmsNormOfDifference(),
          LayerNormFromRmsNorm(),
          LayerNormOfCentered(),
          LayerNormScale(),
          LayerNormBias(),
          RmsNormScale(),
          SecondAffine("rms-norm-second-scale", Second::kRmsScale),
          SecondAffine("layer-norm-second-scale", Second::kLayerScale),
          SecondAffine("layer-norm-second-affine", Second::kLayerScaleAndBias),
          SecondAffine("layer-norm-second-bias", Second::kLayerBias),
          RmsNormOfChannels(),
          LayerNormOfChannels(),
          MovedNorm("moved-rms-norm-scale", Moved::kRmsScale),
          MovedNorm("moved-layer-norm-scale", Moved::kLayerScale),
          MovedNorm("moved-layer-norm-bias", Moved::kLayerBias),
          GroupNormFromLayerNorm(),
          GroupNormScale(),
          GroupNormBias(),
          InstanceNorm(),
          NormInCasts("rms-norm-in-casts", false, false, false),
          NormInCasts("rms-norm-in-casts-scale", false, true, false),
          NormInCasts("layer-norm-in-casts", true, false, false),
          NormInCasts("layer-norm-in-casts-scale", true, true, false),
          NormInCasts("layer-norm-in-casts-bias", true, true, true)};
}

}  // namespace tenon::pattern
