// Convolutions: batch norm folded into the weights, then bias, residual and activation in one op.
#include "patterns/activations.h"

namespace tenon::pattern {
namespace {

struct ConvAttrs {
  Attr<I64s> strides{"strides"}, pads{"pads"}, dilations{"dilations"};
  Attr<int64_t> group{"group"};
  Attr<std::string> auto_pad{"auto_pad"};
  nn::ConvArgs args() const {
    return {.strides = strides,
            .pads = pads,
            .dilations = dilations,
            .group = group,
            .auto_pad = auto_pad};
  }
  fused::ConvArgs fused_args() const {
    return {.strides = strides,
            .pads = pads,
            .dilations = dilations,
            .group = group,
            .auto_pad = auto_pad};
  }
};

// [M, 1, 1, …] of w's rank, to scale w's output channels.
std::optional<Dims> PerOutputChannel(Value w) {
  Type type = w.type();
  if (!type.is_tensor() || type.rank() < 3) return std::nullopt;
  Dims dims(static_cast<size_t>(type.rank()), DimExpr::Constant(type.context(), 1));
  dims[0] = type.dim(0);
  return dims;
}

// The shape of b is that of one value a channel of x: [C, 1, …] or [1, C, 1, …].
bool IsPerChannel(Value b, Value x) {
  Type type = b.type(), conv = x.type();
  if (!type.is_tensor() || !conv.is_tensor() || conv.rank() < 3 || type.rank() > conv.rank())
    return false;
  int64_t channel = type.rank() - (conv.rank() - 1);
  for (int64_t i = 0; i < type.rank(); ++i) {
    bool fits = i == channel ? DimExpr::ProvablyEqual(type.dim(i), conv.dim(1))
                             : type.dim(i).is_constant(1);
    if (!fits) return false;
  }
  return channel >= 0;
}

std::optional<Dims> ChannelsOf(Value x) {
  Type type = x.type();
  if (!type.is_tensor() || type.rank() < 3) return std::nullopt;
  return Dims{type.dim(1)};
}

// batch_norm(conv(x, w) [+ b]): with k = scale / sqrt(var + eps), conv(x, w * k) + (b - mean) * k +
// bias. The new weights are computed from constants, and folded.
Rule ConvBatchNorm(const char* name, bool with_bias, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  ConvAttrs a;
  Val x("x"), w = Const("w"), b = Const("b");
  Val scale = Const("scale"), bias = Const("bias"), mean = Const("mean"), var = Const("var");
  Attr<float> epsilon("epsilon");
  Val conv = nn::Conv(x, w, with_bias ? OptVal(b) : OptVal(), a.args());
  Val k = Div(scale, Sqrt(Add(var, Splat(epsilon))));
  Val weights = Mul(w, Reshape(k, {.shape = Compute(PerOutputChannel, w)}));
  Val offset = with_bias ? Add(Mul(Sub(b, mean), k), bias) : Sub(bias, Mul(mean, k));
  return Rule(name, file, line)
      .Summary("batch_norm(conv(x)) = conv(x) with scaled weights")
      .Match(BatchNorm(conv, scale, bias, mean, var, {.epsilon = epsilon}))
      .Replace(nn::Conv(x, weights, offset, a.args()))
      .Lowers("batch norms");
}

Rule ConvBias() {
  ConvAttrs a;
  Val x("x"), w("w"), b = Const("b");
  Val conv = nn::Conv(x, w, {}, a.args());
  return Rule("conv-bias")
      .Summary("conv(x) + b with a number for each channel")
      .Match(Add(conv, b))
      .Where(If("b has an element for each channel", IsPerChannel, b, conv))
      .Replace(nn::Conv(x, w, Reshape(b, {.shape = Compute(ChannelsOf, conv)}), a.args()))
      .Lowers("additions");
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

// activation(conv), with or without a residual
Rule ConvActivation(const char* name, bool with_residual, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  ConvAttrs a;
  Val x("x"), w("w"), b("b"), residual("residual");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  fused::ConvArgs made = a.fused_args();
  made.activation = activation;
  made.alpha = alpha;
  made.beta = beta;
  Val conv = with_residual ? fused::Conv(x, w, Maybe(b), residual, a.fused_args())
                           : nn::Conv(x, w, Maybe(b), a.args());
  return Rule(name, file, line)
      .Summary(with_residual ? "activation(conv(x) + residual)" : "activation(conv(x))")
      .Match(AnyActivation(conv, activation, alpha, beta))
      .Replace(fused::Conv(x, w, b, with_residual ? OptVal(residual) : OptVal(), made))
      .RequireKernel();
}

}  // namespace

RuleSet ConvRules() {
  return {ConvBatchNorm("conv-batch-norm", false),
          ConvBatchNorm("conv-bias-batch-norm", true),
          ConvBias(),
          ConvResidual(),
          ConvActivation("conv-activation", false),
          ConvActivation("conv-residual-activation", true)};
}

}  // namespace tenon::pattern
