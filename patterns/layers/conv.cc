// Convolutions and transposed ones: batch norm and numbers for each channel go into weights and
// bias, then residual and activation into the op.
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "patterns/activations/activations.h"
#include "patterns/facts/magnitude.h"
#include "patterns/layers/conv_parts.h"
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

// Convolutions and transposed ones have the same rules for what is computed of their results. They
// differ in attributes, and in the axis of the weights along which the channels of the result lie.
struct Kind {
  bool transposed;
  ConvAttrs attrs;

  std::string_view name() const { return transposed ? "conv_transpose" : "conv"; }
  // `summary` with this name for each "{conv}".
  std::string In(std::string_view summary) const {
    return fmt::format(fmt::runtime(summary), fmt::arg("conv", name()));
  }
  Val Of(const Val& x, const Val& w, const OptVal& bias) const {
    return transposed ? nn::ConvTranspose(x, w, bias, attrs.Of(nn::ConvTransposeArgs()))
                      : nn::Conv(x, w, bias, attrs.args());
  }
  // The same with weights that have one axis for all channels of the result. Those of a transposed
  // convolution with groups have none: [C, M / groups, kernel…].
  Val OneAxis(const Val& x, const Val& w, const OptVal& bias) const {
    if (!transposed) return Of(x, w, bias);
    nn::ConvTransposeArgs args = attrs.Of(nn::ConvTransposeArgs());
    args.group = 1;
    return nn::ConvTranspose(x, w, bias, args);
  }
  // The shape of a number for each channel of the result `conv`, to scale the weights: [M, 1, 1, …]
  // of their rank for [M, C, kernel…], one axis less for [C, M, kernel…].
  Term ScaleShape(const Val& w, const Val& conv) const {
    return transposed ? ChannelShape(conv) : ListOf({ExtentOf(w, 0), Spread(Ones(RankOf(w) - 1))});
  }
  // What absorbs an operation behind it.
  std::vector<MeasuredOp> Absorbs(bool with_residual) const {
    if (transposed) return {"nn.conv_transpose"};
    return with_residual ? std::vector<MeasuredOp>{"nn.conv", "fused.conv"}
                         : std::vector<MeasuredOp>{"nn.conv"};
  }
};

// batch_norm(conv(x, w) [+ b]): with k = scale / sqrt(var + eps), conv(x, w * k) + (b - mean) * k +
// bias. The new weights are computed from constants, and folded.
Rule ConvBatchNorm(const char* name, const Kind& kind, bool with_bias,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w = Const("w"), b = Const("b");
  Val scale = Const("scale"), bias = Const("bias"), mean = Const("mean"), var = Const("var");
  Attr<float> epsilon("epsilon");
  Val conv = kind.OneAxis(x, w, with_bias ? OptVal(b) : OptVal());
  Val k = Div(scale, Sqrt(Add(var, Splat(epsilon))));
  Val weights = Mul(w, Reshape(k, {.shape = kind.ScaleShape(w, conv)}));
  Val offset = with_bias ? Add(Mul(Sub(b, mean), k), bias) : Sub(bias, Mul(mean, k));
  return Rule(name, file, line)
      .Summary(kind.In("batch_norm({conv}(x)) = {conv}(x) with scaled weights"))
      .Match(BatchNorm(conv, scale, bias, mean, var, {.epsilon = epsilon}))
      .Where(AreFiniteStatistics(scale, mean, var) &&
             StatisticsLeaveTerms(scale, var, epsilon, conv))
      .Replace(kind.OneAxis(x, weights, offset))
      .Lowers(OpsOf({"nn.batch_norm"}));
}

Rule ConvBias(const char* name, const Kind& kind, bool second, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  Val x("x"), w("w"), b = Const("b"), first("first");
  Val conv = kind.Of(x, w, second ? OptVal(first) : OptVal());
  Val bias = AsChannels(b, conv);
  return Rule(name, file, line)
      .Summary(kind.In("{conv}(x) + b with a number for each channel"))
      .Match(Add(conv, b))
      .Where(IsPerChannelOrNumber("b has an element for each channel", b, conv))
      .Replace(kind.Of(x, w, second ? Add(first, bias) : bias))
      .Lowers(OpsBefore(kind.Absorbs(true), {"ten.add"}));
}

// A bias that was added after the residual.
Rule ConvBiasAfterResidual(const char* name, bool second, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  ConvAttrs a;
  Val x("x"), w("w"), b = Const("b"), first("first"), residual("residual");
  Val conv = fused::Conv(x, w, second ? OptVal(first) : OptVal(), residual, a.fused_args());
  Val bias = AsChannels(b, conv);
  return Rule(name, file, line)
      .Summary("conv(x) + r + b: the bias belongs to the convolution")
      .Match(Add(conv, b))
      .Where(IsPerChannelOrNumber("b has an element for each channel", b, conv))
      .Replace(fused::Conv(x, w, second ? Add(first, bias) : bias, residual, a.fused_args()))
      .Lowers(OpsBefore({"nn.conv", "fused.conv"}, {"ten.add"}))
      .RequireKernel();
}

// conv(x) + (r + b), with an activation behind or not: the number of each channel is the bias.
Rule ConvBiasOfResidual(const char* name, bool second, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  ConvAttrs a;
  Val x("x"), w("w"), b = Const("b"), first("first"), residual("residual");
  fused::ConvArgs args = a.fused_args();
  args.activation = Attr<std::string>("activation");
  args.alpha = Attr<float>("alpha");
  args.beta = Attr<float>("beta");
  Val conv = fused::Conv(x, w, second ? OptVal(first) : OptVal(), Add(residual, b), args);
  Val bias = AsChannels(b, conv);
  return Rule(name, file, line)
      .Summary("conv(x) + (r + b): the bias belongs to the convolution")
      .Match(conv)
      .Where(IsPerChannelOrNumber("b has an element for each channel", b, conv) &&
             SameShape(residual, conv))
      .Where(second ? FollowsFromConstants(first) : Condition())
      .Replace(fused::Conv(x, w, second ? Add(first, bias) : bias, residual, args))
      .Lowers(OpsOf({"ten.add"}))
      .RequireKernel();
}

// conv(x, w, b) * k = conv(x, w * k, b * k)
Rule ConvScale(const char* name, const Kind& kind, bool with_bias,
               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b"), k = Const("k");
  Val conv = kind.OneAxis(x, w, with_bias ? OptVal(b) : OptVal());
  Val channels = AsChannels(k, conv);
  Val weights = Mul(w, Reshape(channels, {.shape = kind.ScaleShape(w, conv)}));
  return Rule(name, file, line)
      .Summary(kind.In("{conv}(x) times a number for each channel scales the weights"))
      .Match(Mul(conv, k))
      .Where(IsPerChannelOrNumber("k has an element for each channel", k, conv) &&
             If("nothing else uses the weights", HasOneUse(w)) && AreFactorsOfTerms(k, conv) &&
             FollowsFromConstants(w))
      .Where(with_bias ? FollowsFromConstants(b) : Condition())
      .Replace(kind.OneAxis(x, weights, with_bias ? OptVal(Mul(b, channels)) : OptVal()))
      .Lowers(OpsBefore(kind.Absorbs(false), {"ten.mul"}));
}

// conv(x * k, w) = conv(x, w * k): zeros around the image stay zeros.
Rule ConvOfScaled() {
  ConvAttrs a;
  Val x("x"), w("w"), b("b"), k = Const("k");
  nn::ConvArgs args = a.args();
  args.group = 1;
  Val scaled = Mul(x, k);
  Val factors = Reshape(AsChannels(k, scaled), {.shape = ChannelShape(w)});
  return Rule("conv-of-scaled")
      .Summary("a number for each channel of the image scales the weights")
      .Match(nn::Conv(scaled, w, Maybe(b), args))
      .Where(IsPerChannelOrNumber("k has an element for each channel", k, x) &&
             If("nothing else uses the weights", HasOneUse(w)) && AreFinite("k is finite", k) &&
             FollowsFromConstants(w))
      .Replace(nn::Conv(x, Mul(w, factors), b, args))
      .Lowers(OpsBefore({"ten.mul"}, {MeasuredOp("nn.conv").At(0)}));
}

// No window meets zeros around the image, which a summand would have to reach as well.
Condition NothingIsPadded(const ConvAttrs& a) {
  const Term pads = a.pads, none = Ones(LengthOf(pads));
  return If("nothing is padded",
            Or(Compare(a.auto_pad, "==", "VALID"),
               And(Compare(a.auto_pad, "==", "NOTSET"), Compare(pads + none, "==", none))));
}

// What a summand [C] of the image adds to each result: the sum of w * o over all but its filters.
Val SumOverWindow(const Val& w, const Val& o) {
  return ReduceSum(Mul(w, Reshape(o, {.shape = ChannelShape(w)})),
                   {.axes = IntegersFrom(1, RankOf(w)), .keepdims = false});
}

// conv(x + o, w) = conv(x, w) + sum(w * o)
Rule ConvOfShifted(const char* name, bool with_bias, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  ConvAttrs a;
  Val x("x"), w = Const("w"), b("b"), o = Const("o");
  nn::ConvArgs args = a.args();
  args.group = 1;
  Val shifted = Add(x, o);
  Val bias = SumOverWindow(w, AsChannels(o, shifted));
  return Rule(name, file, line)
      .Summary("a number added to each channel of the image goes into the bias")
      .Match(nn::Conv(shifted, w, with_bias ? OptVal(b) : OptVal(), args))
      .Where(IsPerChannelOrNumber("o has an element for each channel", o, x) &&
             NothingIsPadded(a) && AreFinite("o is finite", o) &&
             AreFinite("the weights are finite", w))
      .Replace(nn::Conv(x, w, with_bias ? Add(b, bias) : bias, args))
      .Lowers(OpsBefore({"ten.add"}, {MeasuredOp("nn.conv").At(0)}));
}

// conv(batch_norm(x), w): the factors go into the weights, the summands into the bias.
Rule ConvOfBatchNorm(const char* name, bool with_bias, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  ConvAttrs a;
  Val x("x"), w = Const("w"), b("b");
  Val scale = Const("scale"), bias = Const("bias"), mean = Const("mean"), var = Const("var");
  Attr<float> epsilon("epsilon");
  nn::ConvArgs args = a.args();
  args.group = 1;
  Val norm = BatchNorm(x, scale, bias, mean, var, {.epsilon = epsilon});
  Val k = Div(scale, Sqrt(Add(var, Splat(epsilon))));
  Val weights = Mul(w, Reshape(k, {.shape = ChannelShape(w)}));
  Val sum = SumOverWindow(w, Sub(bias, Mul(mean, k)));
  return Rule(name, file, line)
      .Summary("conv(batch_norm(x)) without padding = conv(x) with scaled weights")
      .Match(nn::Conv(norm, w, with_bias ? OptVal(b) : OptVal(), args))
      .Where(NothingIsPadded(a) && AreFiniteStatistics(scale, mean, var) &&
             StatisticsLeaveTerms(scale, var, epsilon, norm) &&
             AreFinite("the weights are finite", w))
      .Replace(nn::Conv(x, weights, with_bias ? Add(b, sum) : sum, args))
      .Lowers(OpsOf({"nn.batch_norm"}));
}

// Only spatial axes are padded, by known numbers: those before each axis, then those behind.
Condition PadsSpace(const Attr<Dims>& added) {
  const Term pads = added, rank = LengthOf(pads) / 2;
  return If("only spatial axes are padded", SmallestOf(pads) >= 0 && rank >= 3 &&
                                                Take(pads, 2) == ListOf({0, 0}) &&
                                                Take(Drop(pads, rank), 2) == ListOf({0, 0}));
}

Term SumOfPads(const Attr<I64s>& pads, const Attr<Dims>& added) {
  const Term rank = LengthOf(added) / 2;
  return pads + ListOf({Spread(Drop(Take(added, rank), 2)), Spread(Drop(added, rank + 2))});
}

// conv(pad(x)) with zeros
Rule ConvOfPad() {
  ConvAttrs a;
  Val x("x"), w("w"), b("b");
  Attr<Dims> added("added");
  nn::ConvArgs match = a.args(), made = a.args();
  match.auto_pad = "NOTSET";
  made.auto_pad = "NOTSET";
  made.pads = SumOfPads(a.pads, added);
  return Rule("conv-of-pad")
      .Summary("zeros around the image are the convolution's own padding")
      .Match(nn::Conv(AnyOf(Pad(x, {}, {.pads = added}), Pad(x, Splat(0), {.pads = added})), w,
                      Maybe(b), match))
      .Where(PadsSpace(added))
      .IgnoresInfinity(AreFinite("the weights are finite", w))
      .Replace(nn::Conv(x, w, b, made));
}

// For each spatial axis the first element of the window that does not only meet the padding,
// wherever the window stands, then for each the last one; null where an extent is not known, or
// nothing can be left out.
std::optional<I64s> SeenTaps(Value conv, Value x, Value w, const I64s& strides, const I64s& pads,
                             const I64s& dilations) {
  if (!x.type().is_tensor() || !w.type().is_tensor() || !conv.type().is_tensor()) {
    return std::nullopt;
  }
  const size_t axes = strides.size();
  I64s seen(2 * axes);
  bool leaves_out = false;
  for (size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<int64_t>(i + 2);
    const DimExpr in = x.type().dim(axis), out = conv.type().dim(axis), k = w.type().dim(axis);
    if (!in.is_constant() || !out.is_constant() || !k.is_constant()) return std::nullopt;
    const int64_t begin = pads[i], end = pads[axes + i];
    const auto is_seen = [&](int64_t tap) {
      // By the first position that is not in front of the image.
      const int64_t start = tap * dilations[i] - begin;
      const int64_t o = start >= 0 ? 0 : (strides[i] - 1 - start) / strides[i];
      return o < out.constant() && o * strides[i] + start < in.constant();
    };
    // What is left out leaves no less padding than 0.
    int64_t first = 0, last = k.constant() - 1;
    while (first < last && (first + 1) * dilations[i] <= begin && !is_seen(first)) ++first;
    while (last > first && (k.constant() - last) * dilations[i] <= end && !is_seen(last)) --last;
    leaves_out |= first > 0 || last < k.constant() - 1;
    seen[i] = first, seen[axes + i] = last;
  }
  if (!leaves_out) return std::nullopt;
  return seen;
}

I64s WindowAxes(const I64s& strides) {
  I64s axes(strides.size());
  std::iota(axes.begin(), axes.end(), int64_t{2});
  return axes;
}

Dims TapStarts(Value w, const I64s& seen) {
  Dims starts;
  for (size_t i = 0; i < seen.size() / 2; ++i) {
    starts.push_back(DimExpr::Constant(w.type().context(), seen[i]));
  }
  return starts;
}

Dims TapEnds(Value w, const I64s& seen) {
  Dims ends;
  for (size_t i = seen.size() / 2; i < seen.size(); ++i) {
    ends.push_back(DimExpr::Constant(w.type().context(), seen[i] + 1));
  }
  return ends;
}

I64s PadsOfSeenTaps(Value w, I64s pads, const I64s& dilations, const I64s& seen) {
  const size_t axes = dilations.size();
  for (size_t i = 0; i < axes; ++i) {
    const int64_t last = w.type().dim(static_cast<int64_t>(i + 2)).constant() - 1;
    pads[i] -= seen[i] * dilations[i];
    pads[axes + i] -= (last - seen[axes + i]) * dilations[i];
  }
  return pads;
}

// Dilated windows that are larger than the image, as in pyramids of them for segmentation.
Rule ConvUnseenTaps() {
  ConvAttrs a;
  Val x("x"), w = Const("w"), b("b");
  Attr<I64s> seen("seen");
  nn::ConvArgs args = a.args();
  args.auto_pad = "NOTSET";
  Val conv = nn::Conv(x, w, Maybe(b), args);
  nn::ConvArgs made = args;
  made.pads = Compute(PadsOfSeenTaps, w, a.pads, a.dilations, seen);
  Val part = Slice(
      w, {.axes = Compute(WindowAxes, a.strides),
          .starts = Compute(TapStarts, w, seen),
          .ends = Compute(TapEnds, w, seen),
          .steps = Compute([](const I64s& axes) { return I64s(axes.size(), 1); }, a.strides)});
  return Rule("conv-unseen-taps")
      .Summary("elements at the ends of a window that only ever meet padding are left out")
      .Match(conv.Let(seen, Compute(SeenTaps, conv, x, w, a.strides, a.pads, a.dilations)))
      .Replace(nn::Conv(x, part, b, made))
      .Lowers(OpsOf({ReadsOf("nn.conv")}))
      .Opaque("the taps that are seen are found by walking over each axis");
}

Rule ConvResidual() {
  ConvAttrs a;
  Val x("x"), w("w"), b("b"), residual("residual");
  Val conv = nn::Conv(x, w, Maybe(b), a.args());
  return Rule("conv-residual")
      .Summary("conv(x) + residual of the same shape")
      .Match(Add(conv, residual))
      .Where(SameShape(conv, residual))
      .Replace(fused::Conv(x, w, b, residual, a.fused_args()))
      .RequireKernel();
}

// What an activation takes of a convolution, with or without a residual.
Rule ConvActivation(const char* name, const Kind& kind, bool with_residual,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b"), residual("residual");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  const auto with = [&]<typename Args>(Args made) {
    made.activation = activation;
    made.alpha = alpha;
    made.beta = beta;
    return made;
  };
  Val conv = with_residual ? fused::Conv(x, w, Maybe(b), residual, kind.attrs.fused_args())
                           : kind.Of(x, w, Maybe(b));
  Val made = kind.transposed
                 ? fused::ConvTranspose(x, w, b, with(kind.attrs.Of(fused::ConvTransposeArgs())))
                 : fused::Conv(x, w, b, with_residual ? OptVal(residual) : OptVal(),
                               with(kind.attrs.fused_args()));
  return Rule(name, file, line)
      .Summary(
          kind.In(with_residual ? "activation({conv}(x) + residual)" : "activation({conv}(x))"))
      .Match(AnyActivation(conv, activation, alpha, beta))
      .Replace(made)
      .RequireKernel();
}

}  // namespace

RuleSet ConvRules() {
  const Kind plain{.transposed = false, .attrs = {}}, transposed{.transposed = true, .attrs = {}};
  RuleSet rules = {ConvBatchNorm("conv-transpose-batch-norm", transposed, false),
                   ConvBatchNorm("conv-transpose-bias-batch-norm", transposed, true),
                   ConvScale("conv-transpose-scale", transposed, false),
                   ConvScale("conv-transpose-bias-scale", transposed, true),
                   ConvBias("conv-transpose-bias", transposed, false),
                   ConvBias("conv-transpose-second-bias", transposed, true),
                   ConvActivation("conv-transpose-activation", transposed, false),
                   ConvBatchNorm("conv-batch-norm", plain, false),
                   ConvBatchNorm("conv-bias-batch-norm", plain, true),
                   ConvOfBatchNorm("conv-of-batch-norm", false),
                   ConvOfBatchNorm("conv-bias-of-batch-norm", true),
                   ConvOfPad(),
                   ConvUnseenTaps(),
                   ConvScale("conv-scale", plain, false),
                   ConvScale("conv-bias-scale", plain, true),
                   ConvBias("conv-bias", plain, false),
                   ConvBias("conv-second-bias", plain, true),
                   ConvOfScaled(),
                   ConvOfShifted("conv-of-shifted", false),
                   ConvOfShifted("conv-bias-of-shifted", true),
                   ConvResidual(),
                   ConvBiasAfterResidual("conv-bias-after-residual", false),
                   ConvBiasAfterResidual("conv-second-bias-after-residual", true),
                   ConvBiasOfResidual("conv-bias-of-residual", false),
                   ConvBiasOfResidual("conv-second-bias-of-residual", true),
                   ConvActivation("conv-activation", plain, false),
                   ConvActivation("conv-residual-activation", plain, true)};
  for (const Rule& rule : JoinedConvRules()) rules.push_back(rule);
  return rules;
}

}  // namespace tenon::pattern
