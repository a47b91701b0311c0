// Activation functions from the parts that exporters write. `arithmetic` has brought powers, signs,
// halves and bounds to one form.
#include "patterns/facts/numbers.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;
constexpr double kSqrt2OverPi = 0.7978845608028654;
constexpr double kCubic = 0.044715;

// x * (1 + f) / 2, in every order of multiplication
Val HalfProduct(const Val& x, const Val& f) {
  Val y = Add(f, Splat(1)), half = Splat(0.5);
  return AnyOf(Mul(Mul(x, y), half), Mul(Mul(x, half), y), Mul(x, Mul(y, half)),
               Mul(x, Add(Mul(f, half), half)), Div(Mul(x, y), Splat(2)), Mul(Div(x, Splat(2)), y),
               Mul(x, Div(y, Splat(2))), Mul(Add(Mul(x, f), x), half),
               Add(Mul(Mul(x, half), f), Mul(x, half)),
               Mul(x, Sub(Splat(1), Mul(Sub(Splat(1), f), half))));
}

// x * (1 + erf(x / sqrt(2))) / 2
Rule GeluErf() {
  Val x("x");
  Val scaled = AnyOf(Div(x, Splat(kSqrt2)), Mul(x, Splat(1 / kSqrt2)));
  return Rule("gelu-erf")
      .Summary("x * (1 + erf(x / sqrt(2))) / 2")
      .Match(HalfProduct(x, Erf(scaled)))
      .MayCoincide()  // x / 2 in both terms of a sum
      .Replace(Gelu(x));
}

// x * (1 + f) times a number that is no half: one that followed may have become one with the half.
Rule ScaledHalfProduct(const char* name, const char* summary, const Val& x, const Val& f,
                       const Val& made, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  Attr<float> factor("factor"), divisor("divisor"), multiplier("multiplier");
  Val y = Add(f, Splat(1)), number = Splat(multiplier);
  Val product = AnyOf(AnyOf(Mul(Mul(x, y), number), Mul(Mul(x, number), y), Mul(x, Mul(y, number)))
                          .Let(factor, Real(multiplier)),
                      Div(Mul(x, y), Splat(divisor)).Let(factor, 1.0 / divisor));
  return Rule(name, file, line)
      .Summary(summary)
      .Match(product)
      .Where(If("the number is no half", factor != 0.5) &&
             IsModerateScale("a number from 1e-4 to 1e4", factor))
      .Replace(Mul(made, Splat(Term(factor) * 2)));
}

Rule ScaledGeluErf() {
  Val x("x");
  return ScaledHalfProduct("gelu-erf-scaled", "x * (1 + erf(x / sqrt(2))) * a = gelu(x) * 2 a", x,
                           Erf(AnyOf(Div(x, Splat(kSqrt2)), Mul(x, Splat(1 / kSqrt2)))), Gelu(x));
}

// The product of a gate with something else may come before the gate is complete.
Rule GeluOfProduct() {
  Val x("x"), u("u"), half = Splat(0.5), product = Mul(x, u);
  Val y = Add(Erf(AnyOf(Div(x, Splat(kSqrt2)), Mul(x, Splat(1 / kSqrt2)))), Splat(1));
  return Rule("gelu-of-product")
      .Summary("x * u * (1 + erf(x / sqrt(2))) / 2 = gelu(x) * u in every order")
      .Match(
          AnyOf(Mul(Mul(product, half), y), Mul(product, Mul(y, half)), Mul(Mul(product, y), half)))
      .Replace(Mul(Gelu(x), u));
}

// k * (x + 0.044715 x^3)
Val CubicArgument(const Val& x, double k) {
  Val square = AnyOf(Mul(x, x), Pow(x, Splat(2)));
  Val cube = AnyOf(Pow(x, Splat(3)), Mul(square, x));
  Val factor = Add(AnyOf(Mul(square, Splat(kCubic)), Mul(Mul(x, Splat(kCubic)), x)), Splat(1));
  Val sum = AnyOf(Add(x, Mul(cube, Splat(kCubic))), Add(x, Mul(square, Mul(x, Splat(kCubic)))),
                  Add(x, Mul(Mul(Mul(x, Splat(kCubic)), x), x)), Mul(x, factor));
  return AnyOf(Mul(sum, Splat(k)), Mul(Mul(x, Splat(k)), factor), Mul(x, Mul(factor, Splat(k))),
               Add(Mul(x, Splat(k)), Mul(cube, Splat(k * kCubic))),
               Mul(x, Add(Mul(square, Splat(k * kCubic)), Splat(k))));
}

// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
Rule GeluTanh() {
  Val x("x");
  return Rule("gelu-tanh")
      .Summary("x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2")
      .Match(HalfProduct(x, Tanh(CubicArgument(x, kSqrt2OverPi))))
      .MayCoincide()
      .Replace(Gelu(x, {.approximate = "tanh"}));
}

Rule ScaledGeluTanh() {
  Val x("x");
  return ScaledHalfProduct(
      "gelu-tanh-scaled", "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) * a = gelu(x) * 2 a",
      x, Tanh(CubicArgument(x, kSqrt2OverPi)), Gelu(x, {.approximate = "tanh"}));
}

// (1 + tanh(u)) / 2 = sigmoid(2 u)
Rule GeluTanhFromSigmoid() {
  Val x("x");
  return Rule("gelu-tanh-from-sigmoid")
      .Summary("x * sigmoid(2 sqrt(2 / pi) * (x + 0.044715 x^3))")
      .Match(Mul(x, Sigmoid(CubicArgument(x, 2 * kSqrt2OverPi))))
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

// ---- sigmoid -----------------------------------------------------------------------------------

// 1 / (1 + exp(-z)) and y / (1 + exp(-z)), for -z and for a negative multiple of z
Rule SigmoidFromExp(const char* name, bool divides, bool scaled,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val y("y"), z("z");
  Attr<float> factor("factor");
  Val minus = scaled ? Mul(z, Splat(factor)) : Neg(z);
  Val sum = Add(Exp(minus), Splat(1));
  Val sigmoid = Sigmoid(scaled ? Mul(z, Splat(-Term(factor))) : z);
  Condition where = IsFloat(z);
  if (scaled) {
    where = where && If("the factor is negative", factor < 0);
  }
  return Rule(name, file, line)
      .Summary(divides ? "y / (1 + exp(-z)) = y * sigmoid(z)" : "1 / (1 + exp(-z)) = sigmoid(z)")
      .Match(divides ? Div(y, sum) : Reciprocal(sum))
      .Where(where)
      .Replace(divides ? Mul(y, sigmoid) : sigmoid);
}

Rule SigmoidFromTanh() {
  Val x("x"), half = Splat(0.5);
  Val tanh = Tanh(Mul(x, half));
  return Rule("sigmoid-from-tanh")
      .Summary("(1 + tanh(x / 2)) / 2 = sigmoid(x)")
      .Match(AnyOf(Mul(Add(tanh, Splat(1)), half), Add(Mul(tanh, half), half)))
      .Replace(Sigmoid(x));
}

Rule SiluFromSigmoid() {
  Val x("x");
  return Rule("silu")
      .Summary("x * sigmoid(x), also as x * (1 + tanh(x / 2)) / 2")
      .Match(AnyOf(Mul(x, Sigmoid(x)), HalfProduct(x, Tanh(Mul(x, Splat(0.5))))))
      .MayCoincide()
      .Replace(Silu(x));
}

// x * tanh(softplus(x))
Rule MishFromParts() {
  Val x("x");
  return Rule("mish")
      .Summary("x * tanh(log(1 + exp(x)))")
      .Match(Mul(x, Tanh(AnyOf(Softplus(x), Log(Add(Exp(x), Splat(1)))))))
      .Replace(Mish(x));
}

// The product of a gate with something else may come before the gate is complete.
Rule SiluOfProduct() {
  Val x("x"), y("y");
  return Rule("silu-of-product")
      .Summary("x * y * sigmoid(x) = silu(x) * y in every order")
      .Match(AnyOf(Mul(x, Mul(Sigmoid(x), y)), Mul(Mul(x, y), Sigmoid(x))))
      .Replace(Mul(Silu(x), y));
}

// ---- bounded lines -----------------------------------------------------------------------------

// An attribute of f32 cannot say 1/6 as exactly as a program in f64.
Condition NotF64(const Val& x) { return !DTypeIs(x, DType::kF64); }

// max(0, min(6, x + 3)) / 6
Rule HardSigmoidOfSix() {
  Val x("x");
  Val clipped = Clip(Add(x, Splat(3)), {.min = 0, .max = 6});
  return Rule("hard-sigmoid")
      .Summary("clip(x + 3, 0, 6) / 6 = clip(x / 6 + 1 / 2, 0, 1)")
      .Match(AnyOf(Div(clipped, Splat(6)), Mul(clipped, Splat(1.0 / 6)),
                   Clip(Add(AnyOf(Mul(x, Splat(1.0 / 6)), Div(x, Splat(6))), Splat(0.5)),
                        {.min = 0, .max = 1})))
      .Where(NotF64(x))
      .Replace(HardSigmoid(x, {.alpha = 1.0f / 6, .beta = 0.5f}));
}

Rule HardSigmoidFromClip() {
  Val x("x");
  Attr<float> alpha("alpha"), beta("beta"), factor("factor"), divisor("divisor");
  Val line = AnyOf(Mul(x, Splat(factor)).Let(alpha, Real(factor)),
                   Div(x, Splat(divisor)).Let(alpha, Held(DType::kF32, 1.0 / divisor)));
  return Rule("hard-sigmoid-from-clip")
      .Summary("clip(a x + b, 0, 1)")
      .Match(Clip(Add(line, Splat(beta)), {.min = 0, .max = 1}))
      .Where(NotF64(x))
      .Replace(HardSigmoid(x, {.alpha = Real(alpha), .beta = Real(beta)}));
}

// x * hard_sigmoid(x)
Rule HardSwishFromParts() {
  Val x("x");
  return Rule("hard-swish")
      .Summary("x * hard_sigmoid(x)")
      .Match(Mul(x, HardSigmoid(x, {.alpha = 1.0f / 6, .beta = 0.5f})))
      .Where(NotF64(x))
      .Replace(HardSwish(x));
}

Rule HardSwishOfSix() {
  Val x("x");
  Val clipped = Clip(Add(x, Splat(3)), {.min = 0, .max = 6});
  return Rule("hard-swish-of-six")
      .Summary("x * clip(x + 3, 0, 6) / 6")
      .Match(AnyOf(Div(Mul(x, clipped), Splat(6)), Mul(Mul(x, clipped), Splat(1.0 / 6)),
                   Mul(Div(x, Splat(6)), clipped), Mul(Mul(x, Splat(1.0 / 6)), clipped)))
      .Where(NotF64(x))
      .Replace(HardSwish(x));
}

Rule ReluFromMax() {
  Val x("x");
  return Rule("relu-from-max")
      .Summary("max(x, 0) = relu(x)")
      .Match(AnyOf(ten::Max(x, Splat(0)), Clip(x, {.min = 0})))
      .Replace(Relu(x))
      .Lowers(OpsOf({"ten.max", "ten.clip"}));
}

// max(x, a x) for 0 < a <= 1, and the same by a comparison for any finite a: a slope of 0 makes NaN
// of infinity, and an infinite one of 0.
Rule LeakyReluFromMax() {
  Val x("x");
  Attr<float> alpha("alpha");
  return Rule("leaky-relu-from-max")
      .Summary("max(x, a x)")
      .Match(ten::Max(x, Mul(x, Splat(alpha))))
      .Where(NotF64(x) && If("the slope is in (0, 1]", alpha > 0 && alpha <= 1))
      .Replace(LeakyRelu(x, {.alpha = Real(alpha)}));
}

Rule LeakyReluFromWhere() {
  Val x("x"), zero = Splat(0);
  Attr<float> alpha("alpha");
  Val slope = Mul(x, Splat(alpha));
  return Rule("leaky-relu-from-where")
      .Summary("x where x > 0, else a x")
      .Match(AnyOf(ten::Where(Greater(x, zero), x, slope),
                   ten::Where(GreaterEqual(x, zero), x, slope), ten::Where(Less(x, zero), slope, x),
                   ten::Where(LessEqual(x, zero), slope, x), ten::Where(Less(zero, x), x, slope)))
      .Where(NotF64(x) &&
             If("the slope is finite", Compare(AbsOf(alpha), "<=", LargestFiniteOf(DTypeOf(x)))))
      .Replace(LeakyRelu(x, {.alpha = Real(alpha)}));
}

// relu(x) - a relu(-x) and relu(x) + a min(x, 0), as Keras spells it. Of -0 both make 0, and the op
// makes -0.
Rule LeakyReluFromParts() {
  Val x("x");
  Attr<float> alpha("alpha"), slope("slope");
  Val mirrored = Relu(Neg(x));
  Val y = AnyOf(Sub(Relu(x), Mul(mirrored, Splat(slope))).Let(alpha, Real(slope)),
                Add(Relu(x), Mul(mirrored, Splat(slope))).Let(alpha, -Term(slope)),
                Add(Relu(x), Mul(Clip(x, {.max = 0}), Splat(slope))).Let(alpha, Real(slope)));
  return Rule("leaky-relu-from-parts")
      .Summary("relu(x) - a relu(-x)")
      .Match(y)
      .Where(NotF64(x) &&
             If("the slope is finite", Compare(AbsOf(alpha), "<=", LargestFiniteOf(DTypeOf(x)))))
      .IgnoresSignOfZero(If("nothing divides by the result", !TellsSignOfZero(y)))
      .Replace(LeakyRelu(x, {.alpha = Real(alpha)}));
}

}  // namespace

RuleSet ActivationRules() {
  return {GeluErf(),
          GeluTanh(),
          ScaledGeluErf(),
          ScaledGeluTanh(),
          GeluOfProduct(),
          GeluTanhFromSigmoid(),
          GeluSigmoid(),
          SigmoidFromExp("sigmoid-from-exp", false, false),
          SigmoidFromExp("sigmoid-from-scaled-exp", false, true),
          SigmoidFromExp("product-with-sigmoid", true, false),
          SigmoidFromExp("product-with-scaled-sigmoid", true, true),
          SigmoidFromTanh(),
          SiluFromSigmoid(),
          SiluOfProduct(),
          MishFromParts(),
          HardSigmoidOfSix(),
          HardSigmoidFromClip(),
          HardSwishFromParts(),
          HardSwishOfSix(),
          ReluFromMax(),
          LeakyReluFromMax(),
          LeakyReluFromWhere(),
          LeakyReluFromParts()};
}

}  // namespace tenon::pattern
