// Activation functions from the parts that exporters write. `arithmetic` has brought powers, signs,
// halves and bounds to one form.
#include "patterns/activations/activation_parts.h"
#include "patterns/facts/numbers.h"

namespace tenon::pattern {
namespace {

// ---- sigmoid -----------------------------------------------------------------------------------

// What the exponential is of: -z, a negative multiple of z, or any other value.
enum class Exponent { kNegative, kScaled, kAny };

// 1 / (1 + exp(-z)) and y / (1 + exp(-z))
Rule SigmoidFromExp(const char* name, bool divides, Exponent exponent,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val y("y"), z("z");
  Attr<float> factor("factor");
  Val minus = z, argument = Neg(z);
  Condition where = IsFloat(z);
  if (exponent == Exponent::kNegative) {
    minus = Neg(z), argument = z;
  } else if (exponent == Exponent::kScaled) {
    minus = Mul(z, Splat(factor)), argument = Mul(z, Splat(-Term(factor)));
    where = where && If("the factor is negative", factor < 0);
  }
  Val sum = Add(Exp(minus), Splat(1));
  return Rule(name, file, line)
      .Summary(divides ? "y / (1 + exp(-z)) = y * sigmoid(z)" : "1 / (1 + exp(-z)) = sigmoid(z)")
      .Match(divides ? Div(y, sum) : Reciprocal(sum))
      .Where(where)
      .Replace(divides ? Mul(y, Sigmoid(argument)) : Sigmoid(argument))
      .Lowers(OpsOf({"ten.exp"}));
}

// Where exp(x) overflows, the quotient is NaN.
Rule SigmoidFromQuotient(const char* name, bool multiplies, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  Val x("x"), y("y"), e = Exp(x);
  Val sum = Add(e, Splat(1));
  return Rule(name, file, line)
      .Summary(multiplies ? "y * exp(x) / (1 + exp(x)) = y * sigmoid(x)"
                          : "exp(x) / (1 + exp(x)) = sigmoid(x)")
      .Match(multiplies ? Div(Mul(y, e), sum) : Div(e, sum))
      .IgnoresInfinity(IsBounded("x is finite", x))
      .Replace(multiplies ? Mul(y, Sigmoid(x)) : Sigmoid(x));
}

// 1 - sigmoid(-z), for -z and for a negative multiple of z
Rule SigmoidOfComplement(const char* name, bool scaled, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  Val z("z");
  Attr<float> factor("factor");
  Val sigmoid = Sigmoid(scaled ? Mul(z, Splat(factor)) : Neg(z));
  return Rule(name, file, line)
      .Summary("1 - sigmoid(-z) = sigmoid(z)")
      .Match(Sub(Splat(1), sigmoid))
      .Where(scaled ? If("the factor is negative", factor < 0) : Condition())
      .Replace(Sigmoid(scaled ? Mul(z, Splat(-Term(factor))) : z));
}

Rule SigmoidFromTanh() {
  Val x("x"), half = Splat(0.5);
  Val tanh = Tanh(Mul(x, half));
  return Rule("sigmoid-from-tanh")
      .Summary("(1 + tanh(x / 2)) / 2 = sigmoid(x)")
      .Match(AnyOf(Mul(Add(tanh, Splat(1)), half), Add(Mul(tanh, half), half)))
      .Replace(Sigmoid(x));
}

// Products with x come first: of the tanh of another multiple they may be a GELU.
Rule SigmoidFromScaledTanh() {
  Val x("x"), half = Splat(0.5);
  Attr<float> factor("factor");
  Val tanh = Tanh(Mul(x, Splat(factor)));
  return Rule("sigmoid-from-scaled-tanh")
      .Summary("(1 + tanh(a x)) / 2 = sigmoid(2 a x)")
      .Match(AnyOf(Mul(Add(tanh, Splat(1)), half), Add(Mul(tanh, half), half)))
      .Replace(Sigmoid(Mul(x, Splat(Term(factor) * 2))))
      .Benefit(-1);
}

// x * (1 + tanh(a x)) / 2, where the half may lie on x.
Rule ProductWithScaledTanh() {
  Val x("x");
  Attr<float> factor("factor");
  return Rule("product-with-scaled-tanh")
      .Summary("x * (1 + tanh(a x)) / 2 = x * sigmoid(2 a x)")
      .Match(HalfProduct(x, Tanh(Mul(x, Splat(factor)))))
      .MayCoincide()
      .Replace(Mul(x, Sigmoid(Mul(x, Splat(Term(factor) * 2)))));
}

Rule SiluFromSigmoid() {
  Val x("x");
  return Rule("silu")
      .Summary("x * sigmoid(x), also as x * (1 + tanh(x / 2)) / 2")
      .Match(AnyOf(Mul(x, Sigmoid(x)), HalfProduct(x, Tanh(Mul(x, Splat(0.5))))))
      .MayCoincide()
      .Replace(Silu(x));
}

Rule SiluOfRest() {
  Val x("x");
  return Rule("silu-of-rest")
      .Summary("x - x * sigmoid(-x) = silu(x)")
      .Match(AnyOf(Sub(x, Mul(x, Sigmoid(Neg(x)))), HalfProductOfRest(x, Tanh(Mul(x, Splat(0.5))))))
      .MayCoincide()
      .IgnoresInfinity(IsBounded("x is finite", x))
      .Replace(Silu(x));
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
      .Match(
          AnyOf(Div(clipped, Splat(6)), Mul(clipped, Splat(1.0 / 6)),
                Clip(AnyOf(Add(AnyOf(Mul(x, Splat(1.0 / 6)), Div(x, Splat(6))), Splat(0.5)),
                           Mul(Add(x, Splat(3)), Splat(1.0 / 6)), Div(Add(x, Splat(3)), Splat(6))),
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
  RuleSet rules = GeluRules();
  const RuleSet others = {SigmoidFromExp("sigmoid-from-exp", false, Exponent::kNegative),
                          SigmoidFromExp("sigmoid-from-scaled-exp", false, Exponent::kScaled),
                          SigmoidFromExp("sigmoid-from-any-exp", false, Exponent::kAny),
                          SigmoidFromExp("product-with-sigmoid", true, Exponent::kNegative),
                          SigmoidFromExp("product-with-scaled-sigmoid", true, Exponent::kScaled),
                          SigmoidFromExp("product-with-any-sigmoid", true, Exponent::kAny),
                          SigmoidFromQuotient("sigmoid-from-quotient", false),
                          SigmoidFromQuotient("product-with-sigmoid-quotient", true),
                          SigmoidOfComplement("sigmoid-of-complement", false),
                          SigmoidOfComplement("sigmoid-of-scaled-complement", true),
                          SigmoidFromTanh(),
                          SigmoidFromScaledTanh(),
                          SiluFromSigmoid(),
                          SiluOfRest(),
                          SiluOfProduct(),
                          ProductWithScaledTanh(),
                          HardSigmoidOfSix(),
                          HardSigmoidFromClip(),
                          HardSwishFromParts(),
                          HardSwishOfSix(),
                          ReluFromMax(),
                          LeakyReluFromMax(),
                          LeakyReluFromWhere(),
                          LeakyReluFromParts()};
  rules.insert(rules.end(), others.begin(), others.end());
  for (const RuleSet& part : {SoftplusRules(), ActivationCastRules()})
    rules.insert(rules.end(), part.begin(), part.end());
  return rules;
}

}  // namespace tenon::pattern
