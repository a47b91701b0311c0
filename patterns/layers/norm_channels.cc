// Norms over the channels of images, which are norms over the last axis between transposes, and
// over groups of channels.
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

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

int64_t LastAxisIndex(Value x) { return x.type().is_tensor() ? x.type().rank() - 1 : 0; }

Rule RmsNormOfChannels() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val moved = Transpose(x, {.perm = Compute(ToLast, axes, x)});
  Val norm = RmsNorm(moved, {}, {.axis = Compute(LastAxisIndex, x), .epsilon = epsilon});
  return Rule("rms-norm-of-channels")
      .Summary(
          "an RMS norm over the channels of images is one over the last axis, between transposes")
      .Match(Quotient(x, RootMeanSquare(Square(x), axes, epsilon)))
      .Where(If("the norm is over the channels of images", IsChannelAxis, axes, x))
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

bool NormalisesLast(int64_t axis, Value x) { return axis == LastAxisIndex(x); }

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
      .Where(If("only the last axis is normalized", NormalisesLast, axis, x) &&
             If("the scale or bias has an element for each channel", IsAlongLast, added, x, perm))
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
bool HasChannelShape(Value w, Value x) {
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

Val AsChannelVector(const Val& w, const Val& x) {
  return Reshape(w, {.shape = Compute(Channels, x)});
}

Rule GroupNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  return Rule("group-norm-scale")
      .Summary("group_norm(x) * w")
      .Match(Mul(GroupNorm(x, {}, {}, {.groups = groups, .epsilon = epsilon}), w))
      .Where(If("w has an element for each channel", HasChannelShape, w, x))
      .Replace(GroupNorm(x, AsChannelVector(w, x), {}, {.groups = groups, .epsilon = epsilon}))
      .Lowers("products");
}

Rule GroupNormBias() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  return Rule("group-norm-bias")
      .Summary("group_norm(x, w) + b")
      .Match(Add(GroupNorm(x, Maybe(w), {}, {.groups = groups, .epsilon = epsilon}), b))
      .Where(If("b has an element for each channel", HasChannelShape, b, x))
      .Replace(GroupNorm(x, w, AsChannelVector(b, x), {.groups = groups, .epsilon = epsilon}))
      .Lowers("sums");
}

// The norm of every channel of images: as many groups as channels.
Rule InstanceNorm() {
  Val x("x"), w("w");
  Attr<float> epsilon("epsilon");
  return Rule("instance-norm")
      .Summary("the norm of every channel of images, times a number for each")
      .Match(Mul(LayerNorm(x, {}, {}, {.axis = 2, .epsilon = epsilon}), w))
      .Where(RankAtLeast(x, 4) && If("w has an element for each channel", HasChannelShape, w, x))
      .Replace(GroupNorm(x, AsChannelVector(w, x), {},
                         {.groups = Compute(GroupsOf, x), .epsilon = epsilon}))
      .Lowers("products");
}

}  // namespace

RuleSet ChannelNormRules() {
  return {RmsNormOfChannels(),
          LayerNormOfChannels(),
          MovedNorm("moved-rms-norm-scale", Moved::kRmsScale),
          MovedNorm("moved-layer-norm-scale", Moved::kLayerScale),
          MovedNorm("moved-layer-norm-bias", Moved::kLayerBias),
          GroupNormFromLayerNorm(),
          GroupNormScale(),
          GroupNormBias(),
          InstanceNorm()};
}

}  // namespace tenon::pattern
