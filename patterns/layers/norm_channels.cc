// Norms over the channels of images, which are norms over the last axis between transposes, and
// over groups of channels.
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

Condition IsChannelAxis(const Attr<I64s>& axes, const Val& x) {
  return If("the norm is over the channels of images", RankOf(x) > 3 && axes == ListOf({1}));
}

Term LastAxisIndex(const Val& x) { return RankOf(x) - 1; }

Rule RmsNormOfChannels() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Val moved = Transpose(x, {.perm = MovedAxis(RankOf(x), First(axes), -1)});
  Val norm = RmsNorm(moved, {}, {.axis = LastAxisIndex(x), .epsilon = epsilon});
  return Rule("rms-norm-of-channels")
      .Summary(
          "an RMS norm over the channels of images is one over the last axis, between transposes")
      .Match(Quotient(x, RootMeanSquare(Square(x), axes, epsilon)))
      .Where(IsChannelAxis(axes, x))
      .Replace(Transpose(norm, {.perm = MovedAxis(RankOf(x), -1, First(axes))}))
      .Lowers(OpsOf({"ten.reduce_mean"}));
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
      .Where(If("the axis of the mean becomes the last one",
                axes == ListOf({Term(perm)[-1]}) && axis == LengthOf(perm) - 1))
      .Replace(LayerNorm(Transpose(x, {.perm = perm}), w, {}, {.axis = axis, .epsilon = epsilon}));
}

// w has an element for each one of the axis of transpose(x, perm) that was x's last one, and 1 on
// all others.
Condition IsAlongLast(const Val& w, const Val& x, const Attr<I64s>& perm) {
  return If("the scale or bias has an element for each channel",
            LengthOf(perm) == RankOf(x) &&
                Padded(ShapeOf(w), RankOf(x)) ==
                    ListOf({Spread(Ones(RankOf(x) - 1)), ExtentOf(x, -1)})[perm]);
}

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
      .Where(If("only the last axis is normalized", axis == LastAxisIndex(x)) &&
             IsAlongLast(added, x, perm))
      .Replace(Transpose(made, {.perm = perm}))
      .Lowers(OpsBefore({"ten.transpose"}, {"ten.add", "ten.mul"}));
}

// ---- groups of channels ------------------------------------------------------------------------

// `split` is x with its channels in groups: [B, G, …].
Condition SplitsChannels(const Val& x, const Val& split, const Val& back) {
  return If("the channels are split into groups, and joined again",
            RankOf(x) > 2 && RankOf(split) > 2 && ExtentOf(x, 0) == ExtentOf(split, 0) &&
                ShapeOf(x) == ShapeOf(back) && IsFixed(ExtentOf(split, 1)) &&
                ExtentOf(x, 1) % ExtentOf(split, 1) == 0);
}

Term GroupsOf(const Val& split) { return ExtentOf(split, 1); }

// reshape(layer_norm(reshape(x, [B, G, …])))
Rule GroupNormFromLayerNorm() {
  Val x("x");
  Attr<float> epsilon("epsilon");
  Val split = Reshape(x, {.shape = kAny});
  Val root = Reshape(LayerNorm(split, {}, {}, {.axis = 2, .epsilon = epsilon}), {.shape = kAny});
  return Rule("group-norm")
      .Summary("the layer norm of groups of channels")
      .Match(root)
      .Where(SplitsChannels(x, split, root))
      .Replace(GroupNorm(x, {}, {}, {.groups = GroupsOf(split), .epsilon = epsilon}));
}

// The scale or bias of each group, such as that of GroupNormalization before opset 21, becomes one
// of each channel behind the reshape that joins the groups.
Rule ScaleOfGroups(const char* name, bool bias, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x"), w("_w"), k("k");
  Val split = Reshape(x, {.shape = kAny});
  Val norm = LayerNorm(split, {}, {}, {.axis = 2, .epsilon = kAny});
  Val inner = bias ? Mul(norm, w) : norm;
  Val root = Reshape(bias ? Add(inner, k) : Mul(inner, k), {.shape = kAny});
  const Term groups = ExtentOf(split, 1), channels = ExtentOf(x, 1);
  Val columns = Reshape(k, {.shape = ListOf({groups, 1})});
  Val each = Reshape(Expand(columns, {.shape = ListOf({groups, channels / groups})}),
                     {.shape = ListOf({channels, Spread(Ones(RankOf(x) - 2))})});
  Val joined = Reshape(inner, {.shape = ShapeOf(x)});
  return Rule(name, file, line)
      .Summary(bias ? "a bias of each group becomes one of each channel"
                    : "a scale of each group becomes one of each channel")
      .Match(root)
      .Where(SplitsChannels(x, split, root) && IsFixed(channels) && channels > 0 &&
             If("there is an element for each group", IsPerChannel(k, split)))
      .Replace(bias ? Add(joined, each) : Mul(joined, each))
      .Lowers(OpsBefore({bias ? "ten.add" : "ten.mul"}, {"ten.reshape"}))
      .Benefit(1);
}

// w has one element for each channel of x, whose number is known.
Condition HasChannelShape(const char* words, const Val& w, const Val& x) {
  return If(words, And(IsPerChannel(w, x), IsFixed(ExtentOf(x, 1))));
}

Val AsChannelVector(const Val& w, const Val& x) {
  return Reshape(w, {.shape = ListOf({ExtentOf(x, 1)})});
}

Rule GroupNormScale() {
  Val x("x"), w("w");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  return Rule("group-norm-scale")
      .Summary("group_norm(x) * w")
      .Match(Mul(GroupNorm(x, {}, {}, {.groups = groups, .epsilon = epsilon}), w))
      .Where(HasChannelShape("w has an element for each channel", w, x))
      .Replace(GroupNorm(x, AsChannelVector(w, x), {}, {.groups = groups, .epsilon = epsilon}))
      .Lowers(OpsOf({"ten.mul"}));
}

Rule GroupNormBias() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  return Rule("group-norm-bias")
      .Summary("group_norm(x, w) + b")
      .Match(Add(GroupNorm(x, Maybe(w), {}, {.groups = groups, .epsilon = epsilon}), b))
      .Where(HasChannelShape("b has an element for each channel", b, x))
      .Replace(GroupNorm(x, w, AsChannelVector(b, x), {.groups = groups, .epsilon = epsilon}))
      .Lowers(OpsOf({"ten.add"}));
}

// ---- groups of channels that are last ----------------------------------------------------------

// `split` is x with its channels, which are last, in groups: [B, …, G, C / G].
Condition SplitsLastChannels(const Val& x, const Val& split) {
  return If("the channels, which are last, are split into groups",
            RankOf(x) > 2 && RankOf(split) > 3 && ExtentOf(x, 0) == ExtentOf(split, 0) &&
                IsFixed(ExtentOf(split, -2)) &&
                ExtentOf(x, -1) == ExtentOf(split, -2) * ExtentOf(split, -1));
}

// What lies between the batch and the channels: positions, pixels, or pixels that the split has in
// one axis.
enum class Places { kRows, kPixels, kJoinedPixels };

// The norm over all axes of the split but the first one and that of groups.
Rule GroupNormOfLastChannels(const char* name, Places places, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  const bool rows = places == Places::kRows, pixels = places == Places::kPixels;
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> epsilon("epsilon");
  Dim B("B"), H("H"), W("W"), G("G"), D("D");
  Val split = Reshape(x, {.shape = kAny});
  Val centered = Sub(split, ReduceMean(split, {.axes = axes}));
  Val images = Transpose(x, {.perm = MovedAxis(RankOf(x), -1, 1)});
  Val norm = GroupNorm(images, {}, {}, {.groups = ExtentOf(split, -2), .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary(pixels ? "the norm of groups of channels that are last is one between transposes"
               : rows ? "… of a sequence"
                      : "… where the split joins the pixels")
      .Match(Quotient(centered, RootMeanSquare(Square(centered), axes, epsilon)))
      .Where(rows ? ShapeIs(x, {B, W, G * D}) : ShapeIs(x, {B, H, W, G * D}))
      .Where(pixels ? ShapeIs(split, {B, H, W, G, D})
             : rows ? ShapeIs(split, {B, W, G, D})
                    : ShapeIs(split, {B, H * W, G, D}))
      .Where(IsFixed(ExtentOf(split, -2)) &&
             If("no group is empty", ExtentOf(split, -2) > 0 && ExtentOf(split, -1) > 0) &&
             If("the norm is over the channels of a group and what is between them and the batch",
                axes == (pixels ? ListOf({1, 2, 4}) : ListOf({1, 3}))))
      .Replace(Reshape(Transpose(norm, {.perm = MovedAxis(RankOf(x), 1, -1)}),
                       {.shape = ShapeOf(split)}))
      .Lowers(OpsOf({"ten.reduce_mean"}));
}

Rule JoinedGroups() {
  Val x("_x"), w("_w"), b("_b");
  Val norm = GroupNorm(x, Maybe(w), Maybe(b), {.groups = kAny, .epsilon = kAny});
  Val moved = Transpose(norm, {.perm = kAny});
  Val root = Reshape(Reshape(moved, {.shape = kAny}), {.shape = kAny});
  return Rule("group-norm-joined-channels")
      .Summary("channels of a norm that are split and joined again stay whole")
      .Match(root)
      .Where(SameShape(root, moved))
      .Replace(moved);
}

// The transposed norm, cut into groups, times a factor for each channel, or plus a bias.
Rule ScaleOfSplitChannels(const char* name, bool bias, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
  Val x("_x"), w("_w"), k = Const("k");
  Attr<Dims> shape("shape");
  Val norm = GroupNorm(x, Maybe(w), {}, {.groups = kAny, .epsilon = kAny});
  Val moved = Transpose(norm, {.perm = kAny});
  Val split = Reshape(moved, {.shape = shape});
  Val row = Reshape(k, {.shape = ListOf({ExtentOf(moved, -1)})});
  return Rule(name, file, line)
      .Summary(bias ? "a bias behind the split of channels is one before it"
                    : "a scale behind the split of channels is one before it")
      .Match(bias ? Add(split, k) : Mul(split, k))
      .Where(SplitsLastChannels(moved, split) && IsFixed(ExtentOf(moved, -1)) &&
             If("there is an element for each channel",
                RankOf(k) > 1 && RankOf(k) <= RankOf(split) &&
                    ShapeOf(k) == ListOf({OnesBefore(), ExtentOf(split, -2), ExtentOf(split, -1)})))
      .Replace(Reshape(bias ? Add(moved, row) : Mul(moved, row), {.shape = shape}))
      .Lowers(OpsBefore({"ten.reshape"}, {bias ? "ten.add" : "ten.mul"}));
}

// transpose(group_norm(x)) * k = transpose(group_norm(x, k)), and the same for a bias.
Rule ScaleOfMovedGroupNorm(const char* name, bool bias, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  Val x("x"), w("w"), k("k");
  Attr<I64s> perm("perm");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  const nn::GroupNormArgs args{.groups = groups, .epsilon = epsilon};
  const Term channels = ExtentOf(x, 1);
  Val each = AsChannelVector(k, x);
  Val norm = bias ? GroupNorm(x, Maybe(w), {}, args) : GroupNorm(x, {}, {}, args);
  Val transposed = Transpose(norm, {.perm = perm});
  return Rule(name, file, line)
      .Summary(bias ? "transpose(group_norm(x, w)) + b" : "transpose(group_norm(x)) * w")
      .Match(bias ? Add(transposed, k) : Mul(transposed, k))
      .Where(IsFixed(channels) &&
             If("there is an element for each channel",
                RankOf(k) <= RankOf(x) &&
                    Padded(ShapeOf(k), RankOf(x)) ==
                        ListOf({1, channels, Spread(Ones(RankOf(x) - 2))})[perm]))
      .Replace(Transpose(bias ? GroupNorm(x, w, each, args) : GroupNorm(x, each, {}, args),
                         {.perm = perm}))
      .Lowers(OpsOf({bias ? "ten.add" : "ten.mul"}));
}

// The norm of every channel of images: as many groups as channels.
Rule InstanceNorm() {
  Val x("x"), w("w");
  Attr<float> epsilon("epsilon");
  return Rule("instance-norm")
      .Summary("the norm of every channel of images, times a number for each")
      .Match(Mul(LayerNorm(x, {}, {}, {.axis = 2, .epsilon = epsilon}), w))
      .Where(RankAtLeast(x, 4) && HasChannelShape("w has an element for each channel", w, x) &&
             If("there are channels", ExtentOf(x, 1) > 0))
      .Replace(GroupNorm(x, AsChannelVector(w, x), {}, {.groups = GroupsOf(x), .epsilon = epsilon}))
      .Lowers(OpsOf({"ten.mul"}));
}

}  // namespace

RuleSet ChannelNormRules() {
  return {RmsNormOfChannels(),
          LayerNormOfChannels(),
          MovedNorm("moved-rms-norm-scale", Moved::kRmsScale),
          MovedNorm("moved-layer-norm-scale", Moved::kLayerScale),
          MovedNorm("moved-layer-norm-bias", Moved::kLayerBias),
          GroupNormFromLayerNorm(),
          ScaleOfGroups("scale-of-groups", false),
          ScaleOfGroups("bias-of-groups", true),
          GroupNormScale(),
          GroupNormBias(),
          GroupNormOfLastChannels("group-norm-of-last-channels", Places::kPixels),
          GroupNormOfLastChannels("group-norm-of-last-channels-joined", Places::kJoinedPixels),
          GroupNormOfLastChannels("group-norm-of-last-channels-in-rows", Places::kRows),
          JoinedGroups(),
          ScaleOfSplitChannels("scale-of-split-channels", false),
          ScaleOfSplitChannels("bias-of-split-channels", true),
          ScaleOfMovedGroupNorm("moved-group-norm-scale", false),
          ScaleOfMovedGroupNorm("moved-group-norm-bias", true),
          InstanceNorm()};
}

}  // namespace tenon::pattern
