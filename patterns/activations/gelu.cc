// GELU from the parts that exporters write: by the error function, by its approximation with tanh,
// and by the one with a sigmoid.
#include "patterns/activations/activation_parts.h"

namespace tenon::pattern {

Val HalfProduct(const Val& x, const Val& f) {
  Val y = Add(f, Splat(1)), half = Splat(0.5);
  return AnyOf(Mul(Mul(x, y), half), Mul(Mul(x, half), y), Mul(x, Mul(y, half)),
               Mul(x, Add(Mul(f, half), half)), Div(Mul(x, y), Splat(2)), Mul(Div(x, Splat(2)), y),
               Mul(x, Div(y, Splat(2))), Div(x, Div(Splat(2), y)), Mul(Add(Mul(x, f), x), half),
               Add(Mul(Mul(x, half), f), Mul(x, half)), Add(Mul(Mul(x, f), half), Mul(x, half)),
               Mul(x, Sub(Splat(1), Mul(Sub(Splat(1), f), half))),
               Mul(x, Add(Splat(1), Mul(Add(f, Splat(-1)), half))));
}

Val HalfProductOfRest(const Val& x, const Val& f) {
  Val half = Splat(0.5);
  // Half of the product of x and `rest`.
  const auto product = [&](const Val& rest) {
    return AnyOf(Mul(Mul(x, half), rest), Mul(Mul(x, rest), half), Mul(x, Mul(rest, half)));
  };
  return AnyOf(Sub(x, product(Sub(Splat(1), f))), Add(x, product(Add(f, Splat(-1)))));
}

namespace {

constexpr double kSqrt2 = 1.4142135623730951;
constexpr double kSqrt2OverPi = 0.7978845608028654;
constexpr double kCubic = 0.044715;

// One of the functions f of x * (1 + f) / 2.
struct GeluForm {
  const char* name;      // of the first rule
  const char* text;      // f for summaries
  Val (*f)(const Val&);  // f of x
  nn::GeluArgs made;
};

// erf(x / sqrt(2))
Val ErfFactor(const Val& x) { return Erf(AnyOf(Div(x, Splat(kSqrt2)), Mul(x, Splat(1 / kSqrt2)))); }

// c * x^2
Val SquareTerm(const Val& x, double c) {
  Val square = AnyOf(Mul(x, x), Pow(x, Splat(2)));
  return AnyOf(Mul(square, Splat(c)), Mul(Mul(x, Splat(c)), x));
}

// c * x^3
Val CubicTerm(const Val& x, double c) {
  Val square = AnyOf(Mul(x, x), Pow(x, Splat(2)));
  Val cube = AnyOf(Pow(x, Splat(3)), Mul(square, x));
  return AnyOf(Mul(cube, Splat(c)), Mul(square, Mul(x, Splat(c))), Mul(SquareTerm(x, c), x));
}

// k * (x + 0.044715 x^3)
Val CubicArgument(const Val& x, double k) {
  Val factor = Add(SquareTerm(x, kCubic), Splat(1));
  Val sum = AnyOf(Add(x, CubicTerm(x, kCubic)), Mul(x, factor));
  return AnyOf(Mul(sum, Splat(k)), Div(sum, Splat(1 / k)), Mul(Mul(x, Splat(k)), factor),
               Mul(x, Mul(factor, Splat(k))), Add(Mul(x, Splat(k)), CubicTerm(x, k * kCubic)),
               Mul(x, Add(SquareTerm(x, k * kCubic), Splat(k))));
}

// tanh(sqrt(2 / pi) * (x + 0.044715 x^3))
Val TanhFactor(const Val& x) { return Tanh(CubicArgument(x, kSqrt2OverPi)); }

Rule GeluFromParts(const GeluForm& form, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x");
  return Rule(form.name, file, line)
      .Summary(std::string("x * (1 + ") + form.text + ") / 2")
      .Match(HalfProduct(x, form.f(x)))
      .MayCoincide()  // x / 2 in both terms of a sum
      .Replace(Gelu(x, form.made));
}

Rule GeluOfRest(const GeluForm& form, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Val x("x");
  return Rule(std::string(form.name) + "-of-rest", file, line)
      .Summary(std::string("x - x * (1 - ") + form.text + ") / 2")
      .Match(HalfProductOfRest(x, form.f(x)))
      .MayCoincide()
      .IgnoresInfinity(IsBounded("x is finite", x))
      .Replace(Gelu(x, form.made));
}

// x * (1 + f) times a number that is no half: one that followed may have become one with the half.
Rule ScaledGelu(const GeluForm& form, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Val x("x"), f = form.f(x);
  Attr<float> factor("factor"), divisor("divisor"), multiplier("multiplier");
  Val y = Add(f, Splat(1)), number = Splat(multiplier);
  Val product = AnyOf(AnyOf(Mul(Mul(x, y), number), Mul(Mul(x, number), y), Mul(x, Mul(y, number)))
                          .Let(factor, Real(multiplier)),
                      Div(Mul(x, y), Splat(divisor)).Let(factor, 1.0 / divisor));
  return Rule(std::string(form.name) + "-scaled", file, line)
      .Summary(std::string("x * (1 + ") + form.text + ") * a = gelu(x) * 2 a")
      .Match(product)
      .Where(If("the number is no half", factor != 0.5) &&
             IsModerateScale("a number from 1e-4 to 1e4", factor))
      .Replace(Mul(Gelu(x, form.made), Splat(Term(factor) * 2)));
}

// The product of a gate with something else may come before the gate is complete.
Rule GeluOfProduct(const char* name, const GeluForm& form, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x"), u("u"), half = Splat(0.5), product = Mul(x, u);
  Val y = Add(form.f(x), Splat(1));
  return Rule(name, file, line)
      .Summary(std::string("x * u * (1 + ") + form.text + ") / 2 = gelu(x) * u in every order")
      .Match(
          AnyOf(Mul(Mul(product, half), y), Mul(product, Mul(y, half)), Mul(Mul(product, y), half)))
      .Replace(Mul(Gelu(x, form.made), u));
}

// (1 + tanh(u)) / 2 = sigmoid(2 u)
Rule GeluTanhFromSigmoid() {
  Val x("x");
  Val twice =
      AnyOf(CubicArgument(x, 2 * kSqrt2OverPi), Mul(CubicArgument(x, kSqrt2OverPi), Splat(2)));
  return Rule("gelu-tanh-from-sigmoid")
      .Summary("x * sigmoid(2 sqrt(2 / pi) * (x + 0.044715 x^3))")
      .Match(Mul(x, Sigmoid(twice)))
      .Replace(Gelu(x, {.approximate = "tanh"}));
}

// x * sigmoid(1.702 x)
Rule GeluSigmoid() {
  Val x("x");
  constexpr double kFactor = 1.702;
  Val scaled = AnyOf(Mul(x, Splat(kFactor)), Div(x, Splat(1 / kFactor)));
  return Rule("gelu-sigmoid")
      .Summary("x * sigmoid(1.702 x)")
      .Match(Mul(x, Sigmoid(scaled)))
      .Replace(Gelu(x, {.approximate = "sigmoid"}));
}

}  // namespace

RuleSet GeluRules() {
  const GeluForm erf{"gelu-erf", "erf(x / sqrt(2))", ErfFactor, {}};
  const GeluForm tanh{
      "gelu-tanh", "tanh(sqrt(2 / pi) * (x + 0.044715 x^3))", TanhFactor, {.approximate = "tanh"}};
  return {GeluFromParts(erf),
          GeluFromParts(tanh),
          GeluOfRest(erf),
          GeluOfRest(tanh),
          ScaledGelu(erf),
          ScaledGelu(tanh),
          GeluOfProduct("gelu-of-product", erf),
          GeluOfProduct("gelu-tanh-of-product", tanh),
          GeluTanhFromSigmoid(),
          GeluSigmoid()};
}

}  // namespace tenon::pattern
