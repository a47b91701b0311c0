// A pattern for the activation after an op that can absorb one.
#ifndef TENON_PATTERNS_LAYERS_ACTIVATIONS_H_
#define TENON_PATTERNS_LAYERS_ACTIVATIONS_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

// Matches any activation of `x` that the fused ops support. Binds its name as the attribute
// `activation` has it, and its two parameters (0 if it has none).
inline Val AnyActivation(const Val& x, const Attr<std::string>& name, const Attr<float>& alpha,
                         const Attr<float>& beta) {
  Attr<double> low("low"), high("high");
  Attr<float> slope("slope"), gain("gain"), offset("offset");
  auto plain = [&](const Val& y, const char* text) {
    return y.Let(name, text).Let(alpha, 0).Let(beta, 0);
  };
  return AnyOf(
      plain(Relu(x), "relu"), plain(Gelu(x), "gelu"),
      plain(Gelu(x, {.approximate = "tanh"}), "gelu_tanh"),
      plain(Gelu(x, {.approximate = "sigmoid"}), "gelu_sigmoid"), plain(Silu(x), "silu"),
      plain(Sigmoid(x), "sigmoid"), plain(Tanh(x), "tanh"), plain(HardSwish(x), "hard_swish"),
      plain(Mish(x), "mish"),
      Clip(x, {.min = low, .max = high})
          .Let(name, "clip")
          .Let(alpha, Real(low))
          .Let(beta, Real(high)),
      LeakyRelu(x, {.alpha = slope}).Let(name, "leaky_relu").Let(alpha, Real(slope)).Let(beta, 0),
      HardSigmoid(x, {.alpha = gain, .beta = offset})
          .Let(name, "hard_sigmoid")
          .Let(alpha, Real(gain))
          .Let(beta, Real(offset)));
}

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LAYERS_ACTIVATIONS_H_
