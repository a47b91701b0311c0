// Activation functions from the parts that exporters write.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;
constexpr double kSqrt2OverPi = 0.7978845608028654;

// x * y / 2, in every order of multiplication
Val HalfProduct(const Val& x, const Val& y) {
  return AnyOf(Mul(Mul(x, y), Splat(0.5)), Mul(Mul(x, Splat(0.5)), y), Mul(x, Mul(y, Splat(0.5))),
               Div(Mul(x, y), Splat(2)), Mul(Div(x, Splat(2)), y), Mul(x, Div(y, Splat(2))));
}

// x * (1 + erf(x / sqrt(2))) / 2
Rule GeluErf() {
  Val x("x");
  Val scaled = AnyOf(Div(x, Splat(kSqrt2)), Mul(x, Splat(1 / kSqrt2)));
  return Rule("gelu-erf")
      .Summary("x * (1 + erf(x / sqrt(2))) / 2")
      .Match(HalfProduct(x, Add(Erf(scaled), Splat(1))))
      .Replace(Gelu(x));
}

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
Rule GeluTanh() {
  Val x("x");
  Val square = AnyOf(Mul(x, x), Pow(x, Splat(2)));
  Val cube = AnyOf(Pow(x, Splat(3)), Mul(square, x));
  Val sum = AnyOf(Add(x, Mul(cube, Splat(0.044715))), Add(x, Mul(square, Mul(x, Splat(0.044715)))));
  Val inner = AnyOf(
      Mul(sum, Splat(kSqrt2OverPi)),
      Mul(Mul(x, Splat(kSqrt2OverPi)),
          Add(AnyOf(Mul(square, Splat(0.044715)), Mul(Mul(x, Splat(0.044715)), x)), Splat(1))));
  return Rule("gelu-tanh")
      .Summary("x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2")
      .Match(HalfProduct(x, Add(Tanh(inner), Splat(1))))
      .Replace(Gelu(x, {.approximate = "tanh"}));
}

// x * sigmoid(1.702 x)
Rule GeluSigmoid() {
  Val x("x");
  return Rule("gelu-sigmoid")
      .Summary("x * sigmoid(1.702 x)")
      .Match(Mul(x, Sigmoid(Mul(x, Splat(1.702)))))
      .Replace(Gelu(x, {.approximate = "sigmoid"}));
}

Rule SiluFromSigmoid() {
  Val x("x");
  return Rule("silu").Summary("x * sigmoid(x)").Match(Mul(x, Sigmoid(x))).Replace(Silu(x));
}

// An attribute of f32 cannot say 1/6 as exactly as a program in f64.
Condition NotF64(const Val& x) { return !DTypeIs(x, DType::kF64); }

// max(0, min(1, x / 6 + 1 / 2))
Rule HardSigmoidFromClip() {
  Val x("x");
  Val clipped = Clip(Add(x, Splat(3)), {.min = 0, .max = 6});
  return Rule("hard-sigmoid")
      .Summary("clip(x + 3, 0, 6) / 6")
      .Match(AnyOf(Div(clipped, Splat(6)), Mul(clipped, Splat(1.0 / 6))))
      .Where(NotF64(x))
      .Replace(HardSigmoid(x, {.alpha = 1.0f / 6, .beta = 0.5f}));
}

// x * hard_sigmoid(x)
Rule HardSwishFromParts() {
  Val x("x");
  Val clipped = Clip(Add(x, Splat(3)), {.min = 0, .max = 6});
  Val gate = HardSigmoid(x, {.alpha = 1.0f / 6, .beta = 0.5f});
  return Rule("hard-swish")
      .Summary("x * clip(x + 3, 0, 6) / 6")
      .Match(
          AnyOf(Mul(x, gate), Div(Mul(x, clipped), Splat(6)), Mul(Mul(x, clipped), Splat(1.0 / 6))))
      .Where(NotF64(x))
      .Replace(HardSwish(x));
}

Rule ReluFromMax() {
  Val x("x");
  return Rule("relu-from-max")
      .Summary("max(x, 0) = relu(x)")
      .Match(AnyOf(ten::Max(x, Splat(0)), Clip(x, {.min = 0})))
      .Replace(Relu(x))
      .Lowers("spellings of relu");
}

}  // namespace

RuleSet ActivationRules() {
  return {GeluErf(),
          GeluTanh(),
          GeluSigmoid(),
          SiluFromSigmoid(),
          HardSigmoidFromClip(),
          HardSwishFromParts(),
          ReluFromMax()};
}

}  // namespace tenon::pattern
