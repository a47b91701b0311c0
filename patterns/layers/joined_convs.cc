// Activations behind convolutions that lie side by side: each convolution computes its part with
// the activation. Part of the family `conv`.
#include "patterns/layers/conv_parts.h"

namespace tenon::pattern {
namespace {

// f(concat(…, conv(x), …)) = concat(f(…), f(conv(x)), f(…)). What lies beside the convolution keeps
// an activation of its own, over its part alone.
template <typename F>
Rule ActivationOfJoined(const char* name, F f, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val before = Each("before"), rest = Each("rest");
  Val x("_x"), w("_w"), b("_b"), residual("_residual");
  Attr<int64_t> axis("axis");
  Val plain =
      nn::Conv(x, w, Maybe(b),
               {.strides = kAny, .pads = kAny, .dilations = kAny, .group = kAny, .auto_pad = kAny});
  Val with_residual = fused::Conv(
      x, w, Maybe(b), residual,
      {.strides = kAny, .pads = kAny, .dilations = kAny, .group = kAny, .auto_pad = kAny});
  Val transposed = nn::ConvTranspose(
      x, w, Maybe(b),
      {.strides = kAny, .pads = kAny, .dilations = kAny, .output_padding = kAny, .group = kAny});
  Val conv = AnyOf(plain, with_residual, transposed);
  return Rule(name, file, line)
      .Summary("an activation behind convolutions side by side comes before they are joined")
      .Match(f(Concat({before, conv, rest}, {.axis = axis})))
      .Keep(conv)
      .Where(If("nothing else uses the convolution", HasOneUse(conv)))
      .Replace(Concat({Each(f(before)), f(conv), Each(f(rest))}, {.axis = axis}))
      .Lowers(OpsBefore({"ten.concat"}, {f(x).ref().node->op}));
}

}  // namespace

RuleSet JoinedConvRules() {
  Attr<std::string> approximate("approximate");
  Attr<double> low("low"), high("high");
  Attr<float> slope("slope"), gain("gain"), offset("offset");
  return {
      ActivationOfJoined("relu-of-joined-convs", [](const Val& y) { return Relu(y); }),
      ActivationOfJoined("gelu-of-joined-convs",
                         [=](const Val& y) { return Gelu(y, {.approximate = approximate}); }),
      ActivationOfJoined("silu-of-joined-convs", [](const Val& y) { return Silu(y); }),
      ActivationOfJoined("sigmoid-of-joined-convs", [](const Val& y) { return Sigmoid(y); }),
      ActivationOfJoined("tanh-of-joined-convs", [](const Val& y) { return Tanh(y); }),
      ActivationOfJoined("hard-swish-of-joined-convs", [](const Val& y) { return HardSwish(y); }),
      ActivationOfJoined("mish-of-joined-convs", [](const Val& y) { return Mish(y); }),
      ActivationOfJoined("clip-of-joined-convs",
                         [=](const Val& y) { return Clip(y, {.min = low, .max = high}); }),
      ActivationOfJoined("leaky-relu-of-joined-convs",
                         [=](const Val& y) { return LeakyRelu(y, {.alpha = slope}); }),
      ActivationOfJoined("hard-sigmoid-of-joined-convs", [=](const Val& y) {
        return HardSigmoid(y, {.alpha = gain, .beta = offset});
      })};
}

}  // namespace tenon::pattern
