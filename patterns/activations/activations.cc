#include "patterns/activations/activations.h"

namespace tenon::pattern {
namespace {

using Floats = const Attr<float>&;

// An activation without parameters.
template <Val (*kOf)(const Val& x)>
FusedActivation Plain(const char* name) {
  const auto of = [](const Val& x, Floats, Floats) { return kOf(x); };
  return {.name = name, .parameters = 0, .matched = of, .made = of};
}

FusedActivation ClipOf() {
  return {
      .name = "clip",
      .parameters = 2,
      .matched =
          [](const Val& x, Floats alpha, Floats beta) {
            Attr<double> low("low"), high("high");
            return Clip(x, {.min = low, .max = high}).Let(alpha, Real(low)).Let(beta, Real(high));
          },
      .made = [](const Val& x, Floats alpha,
                 Floats beta) { return Clip(x, {.min = Real(alpha), .max = Real(beta)}); }};
}

FusedActivation LeakyReluOf() {
  return {.name = "leaky_relu",
          .parameters = 1,
          .matched =
              [](const Val& x, Floats alpha, Floats) {
                Attr<float> slope("slope");
                return LeakyRelu(x, {.alpha = slope}).Let(alpha, Real(slope));
              },
          .made = [](const Val& x, Floats alpha,
                     Floats) { return LeakyRelu(x, {.alpha = Real(alpha)}); }};
}

FusedActivation HardSigmoidOf() {
  return {.name = "hard_sigmoid",
          .parameters = 2,
          .matched =
              [](const Val& x, Floats alpha, Floats beta) {
                Attr<float> gain("gain"), offset("offset");
                return HardSigmoid(x, {.alpha = gain, .beta = offset})
                    .Let(alpha, Real(gain))
                    .Let(beta, Real(offset));
              },
          .made =
              [](const Val& x, Floats alpha, Floats beta) {
                return HardSigmoid(x, {.alpha = Real(alpha), .beta = Real(beta)});
              }};
}

Val ReluOf(const Val& x) { return Relu(x); }
Val GeluOf(const Val& x) { return Gelu(x); }
Val GeluTanhOf(const Val& x) { return Gelu(x, {.approximate = "tanh"}); }
Val GeluSigmoidOf(const Val& x) { return Gelu(x, {.approximate = "sigmoid"}); }
Val SiluOf(const Val& x) { return Silu(x); }
Val SigmoidOf(const Val& x) { return Sigmoid(x); }
Val TanhOf(const Val& x) { return Tanh(x); }
Val HardSwishOf(const Val& x) { return HardSwish(x); }
Val MishOf(const Val& x) { return Mish(x); }

}  // namespace

std::span<const FusedActivation> FusedActivations() {
  static const FusedActivation kAll[] = {
      Plain<ReluOf>("relu"),
      Plain<GeluOf>("gelu"),
      Plain<GeluTanhOf>("gelu_tanh"),
      Plain<GeluSigmoidOf>("gelu_sigmoid"),
      Plain<SiluOf>("silu"),
      Plain<SigmoidOf>("sigmoid"),
      Plain<TanhOf>("tanh"),
      Plain<HardSwishOf>("hard_swish"),
      Plain<MishOf>("mish"),
      ClipOf(),
      LeakyReluOf(),
      HardSigmoidOf(),
  };
  return kAll;
}

Val AnyActivation(const Val& x, const Attr<std::string>& name, const Attr<float>& alpha,
                  const Attr<float>& beta) {
  std::vector<ValRef> alternatives;
  for (const FusedActivation& activation : FusedActivations()) {
    Val val = activation.matched(x, alpha, beta).Let(name, activation.name);
    if (activation.parameters < 1) val = val.Let(alpha, 0);
    if (activation.parameters < 2) val = val.Let(beta, 0);
    alternatives.push_back(val.ref());
  }
  return MakeAnyOf(std::move(alternatives));
}

}  // namespace tenon::pattern
