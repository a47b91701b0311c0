// Softplus and mish from logarithms, exponentials and sigmoids.
#include "patterns/activations/activation_parts.h"

namespace tenon::pattern {
namespace {

// Where exp(x) overflows, the source is infinite and softplus is not.
Rule SoftplusFromLog() {
  Val x("x");
  return Rule("softplus")
      .Summary("log(1 + exp(x))")
      .Match(Log(Add(Exp(x), Splat(1))))
      .Replace(Softplus(x));
}

// log(1 / (1 + exp(x))) is a logarithm of a sigmoid, too.
Rule SoftplusFromSigmoid() {
  Val x("x");
  return Rule("softplus-from-sigmoid")
      .Summary("-log(sigmoid(x)) = softplus(-x)")
      .Match(Neg(Log(Sigmoid(x))))
      .Replace(Softplus(Neg(x)));
}

Rule SoftplusFromRest() {
  Val x("x");
  return Rule("softplus-from-rest")
      .Summary("-log(1 - sigmoid(x)) = softplus(x)")
      .Match(Neg(Log(Sub(Splat(1), Sigmoid(x)))))
      .Replace(Softplus(x));
}

// The form that does not overflow.
Rule SoftplusOfSize() {
  Val x("x");
  return Rule("softplus-of-size")
      .Summary("max(x, 0) + log(1 + exp(-|x|)) = softplus(x)")
      .Match(Add(AnyOf(Relu(x), ten::Max(x, Splat(0)), Clip(x, {.min = 0})), Softplus(Neg(Abs(x)))))
      .Replace(Softplus(x));
}

Rule SoftplusOfNegative() {
  Val x("x");
  return Rule("softplus-of-negative")
      .Summary("x + softplus(-x) = softplus(x)")
      .Match(Add(x, Softplus(Neg(x))))
      .IgnoresInfinity(IsBounded("x is finite", x))
      .Replace(Softplus(x));
}

// x * tanh(softplus(x))
Rule MishFromParts() {
  Val x("x");
  return Rule("mish")
      .Summary("x * tanh(log(1 + exp(x)))")
      .Match(Mul(x, Tanh(AnyOf(Softplus(x), Log(Add(Exp(x), Splat(1)))))))
      .Replace(Mish(x));
}

// tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1) for e = exp(x), and (1 + e)^2 - 1 is
// e^2 + 2 e.
Rule MishFromExp() {
  Val x("x"), e = Exp(x), two = Splat(2);
  Val n = AnyOf(Mul(e, Add(e, two)), Add(Mul(e, e), Mul(e, two)));
  Val up = Add(n, two);
  return Rule("mish-from-exp")
      .Summary("x * n / (n + 2) for n = exp(x) * (exp(x) + 2)")
      .Match(AnyOf(Mul(x, Div(n, up)), Div(Mul(x, n), up)))
      .IgnoresInfinity(IsBounded("x is finite", x))
      .Replace(Mish(x));
}

}  // namespace

RuleSet SoftplusRules() {
  return {SoftplusFromLog(),    SoftplusFromSigmoid(), SoftplusFromRest(), SoftplusOfSize(),
          SoftplusOfNegative(), MishFromParts(),       MishFromExp()};
}

}  // namespace tenon::pattern
