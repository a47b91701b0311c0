// Transposed convolutions: batch norm and numbers for each channel go into weights and bias, then
// the activation into the op.
#include "patterns/layers/activations.h"
#include "patterns/layers/conv_parts.h"
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

// batch_norm(conv_transpose(x, w)): w is [C, M, kernel…]
Rule ConvTransposeBatchNorm(const char* name, bool with_bias, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  Val x("x"), w = Const("w"), b = Const("b");
  Val scale = Const("scale"), bias = Const("bias"), mean = Const("mean"), var = Const("var");
  Attr<float> epsilon("epsilon");
  Attr<I64s> strides("strides"), pads("pads"), dilations("dilations"), more("output_padding");
  nn::ConvTransposeArgs args{
      .strides = strides, .pads = pads, .dilations = dilations, .output_padding = more};
  Val conv = nn::ConvTranspose(x, w, with_bias ? OptVal(b) : OptVal(), args);
  Val k = Div(scale, Sqrt(Add(var, Splat(epsilon))));
  Val weights = Mul(w, Reshape(k, {.shape = ChannelShape(conv)}));
  Val offset = with_bias ? Add(Mul(Sub(b, mean), k), bias) : Sub(bias, Mul(mean, k));
  return Rule(name, file, line)
      .Summary("batch_norm(conv_transpose(x)) = conv_transpose(x) with scaled weights")
      .Match(BatchNorm(conv, scale, bias, mean, var, {.epsilon = epsilon}))
      .Where(AreFiniteStatistics(scale, mean, var))
      .Replace(nn::ConvTranspose(x, weights, offset, args))
      .Lowers(OpsOf({"nn.batch_norm"}));
}

// What a transposed convolution has besides its operands; the filters may be of groups.
struct ConvTransposeAttrs {
  Attr<I64s> strides{"strides"}, pads{"pads"}, dilations{"dilations"}, more{"output_padding"};
  Attr<int64_t> group{"group"};
  nn::ConvTransposeArgs args() const {
    return {.strides = strides,
            .pads = pads,
            .dilations = dilations,
            .output_padding = more,
            .group = group};
  }
};

Rule ConvTransposeBias(const char* name, bool second, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  ConvTransposeAttrs a;
  Val x("x"), w("w"), b = Const("b"), first("first");
  Val conv = nn::ConvTranspose(x, w, second ? OptVal(first) : OptVal(), a.args());
  Val bias = AsChannels(b, conv);
  return Rule(name, file, line)
      .Summary("conv_transpose(x) + b with a number for each channel")
      .Match(Add(conv, b))
      .Where(IsPerChannelOrNumber("b has an element for each channel", b, conv))
      .Replace(nn::ConvTranspose(x, w, second ? Add(first, bias) : bias, a.args()))
      .Lowers(OpsBefore({"nn.conv_transpose"}, {"ten.add"}));
}

// conv_transpose(x, w, b) * k = conv_transpose(x, w * k, b * k)
Rule ConvTransposeScale(const char* name, bool with_bias, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  ConvTransposeAttrs a;
  Val x("x"), w("w"), b("b"), k = Const("k");
  nn::ConvTransposeArgs args = a.args();
  args.group = 1;
  Val conv = nn::ConvTranspose(x, w, with_bias ? OptVal(b) : OptVal(), args);
  Val channels = AsChannels(k, conv);
  Val weights = Mul(w, Reshape(channels, {.shape = ChannelShape(conv)}));
  return Rule(name, file, line)
      .Summary("conv_transpose(x) times a number for each channel scales the weights")
      .Match(Mul(conv, k))
      .Where(IsPerChannelOrNumber("k has an element for each channel", k, conv) &&
             If("nothing else uses the weights", HasOneUse(w)) && AreFinite("k is finite", k) &&
             FollowsFromConstants(w))
      .Where(with_bias ? FollowsFromConstants(b) : Condition())
      .Replace(nn::ConvTranspose(x, weights, with_bias ? OptVal(Mul(b, channels)) : OptVal(), args))
      .Lowers(OpsBefore({"nn.conv_transpose"}, {"ten.mul"}));
}

Rule ConvTransposeActivation() {
  Val x("x"), w("w"), b("b");
  Attr<I64s> strides("strides"), pads("pads"), dilations("dilations"), more("output_padding");
  Attr<int64_t> group("group");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  Val conv = nn::ConvTranspose(x, w, Maybe(b),
                               {.strides = strides,
                                .pads = pads,
                                .dilations = dilations,
                                .output_padding = more,
                                .group = group});
  return Rule("conv-transpose-activation")
      .Summary("activation(conv_transpose(x))")
      .Match(AnyActivation(conv, activation, alpha, beta))
      .Replace(fused::ConvTranspose(x, w, b,
                                    {.strides = strides,
                                     .pads = pads,
                                     .dilations = dilations,
                                     .output_padding = more,
                                     .group = group,
                                     .activation = activation,
                                     .alpha = alpha,
                                     .beta = beta}))
      .RequireKernel();
}

}  // namespace

RuleSet ConvTransposeRules() {
  return {ConvTransposeBatchNorm("conv-transpose-batch-norm", false),
          ConvTransposeBatchNorm("conv-transpose-bias-batch-norm", true),
          ConvTransposeScale("conv-transpose-scale", false),
          ConvTransposeScale("conv-transpose-bias-scale", true),
          ConvTransposeBias("conv-transpose-bias", false),
          ConvTransposeBias("conv-transpose-second-bias", true),
          ConvTransposeActivation()};
}

}  // namespace tenon::pattern
