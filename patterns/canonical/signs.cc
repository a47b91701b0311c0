// One form for signs. A change of sign moves from operands to results, until a sum, a number or
// another change of sign takes it; a difference takes it by exchanging its terms.
#include "patterns/canonical/signs.h"

namespace tenon::pattern {
namespace {

Rule NegFromNumber() {
  Val x("x");
  return Rule("neg-from-number")
      .Summary("-1 * x and x / -1 as a change of sign")
      .Match(AnyOf(Mul(x, Splat(-1)), Div(x, Splat(-1))))
      .Where(IsFloat(x))
      .Replace(Neg(x))
      .Lowers(OpsOf({"ten.mul", "ten.div"}));
}

// 0 - 0 is 0, and the negative of 0 is -0.
Rule NegFromDifference() {
  Val x("x");
  Val difference = Sub(Splat(0), x);
  return Rule("neg-from-difference")
      .Summary("0 - x as a change of sign")
      .Match(difference)
      .Where(IsFloat(x))
      .IgnoresSignOfZero(
          If("x is positive, or nothing divides by 0 - x",
             drr::Or(drr::Compare(LowerBound(x), ">", 0), !TellsSignOfZero(difference))))
      .Replace(Neg(x))
      .Lowers(OpsOf({"ten.sub"}));
}

Rule AddOfNeg() {
  Val x("x"), y("y");
  return Rule("add-of-neg")
      .Summary("x + -y = x - y")
      .Match(Add(x, Neg(y)))
      .Where(!IsConstant(y))
      .Replace(Sub(x, y));
}

Rule SubOfNeg() {
  Val x("x"), y("y");
  return Rule("sub-of-neg").Summary("x - -y = x + y").Match(Sub(x, Neg(y))).Replace(Add(x, y));
}

// x - c = x + -c: what is added to a value is one case then, not two.
Rule SubtractConstant() {
  Val x("x"), c = Const("c");
  return Rule("subtract-constant")
      .Summary("x - c = x + -c for a constant c")
      .Match(Sub(x, c))
      .Where(IsFloat(x))
      .Replace(Add(x, Neg(c)))
      .Lowers(OpsOf({"ten.sub"}));
}

Rule ScaleOfNeg() {
  Val x("x");
  Attr<float> scale("scale"), factor("factor"), divisor("divisor");
  return Rule("scale-of-neg")
      .Summary("-x * a = x * -a for a number a")
      .Match(AnyOf(Mul(Neg(x), Splat(factor)).Let(scale, -Term(factor)),
                   Div(Neg(x), Splat(divisor)).Let(scale, -1.0 / divisor)))
      .Where(IsFloat(x))
      .Replace(Mul(x, Splat(Real(scale))));
}

// f(-x) = -f(x), for a change of sign or a negative factor.
Rule OddFunction(const char* name, const char* summary, Val (*f)(const Val&), bool scaled,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x");
  if (!scaled) {
    return Rule(name, file, line)
        .Summary(summary)
        .Match(f(Neg(x)))
        .Replace(Neg(f(x)))
        .Lowers(OpsBefore({"ten.neg"}, {f(x).ref().node->op}));
  }
  Attr<float> scale("scale"), factor("factor"), divisor("divisor");
  return Rule(name, file, line)
      .Summary(summary)
      .Match(AnyOf(f(Mul(x, Splat(factor))).Let(scale, -Term(factor)),
                   f(Div(x, Splat(divisor))).Let(scale, -1.0 / divisor)))
      .Where(If("the factor is negative", scale > 0))
      .Replace(Neg(f(Mul(x, Splat(Real(scale))))))
      .Lowers(OpsOf({NegativesOf("ten.mul"), NegativesOf("ten.div")}));
}

// ---- signs of products and differences ---------------------------------------------------------

// A number takes the sign itself (scale-of-neg).
Rule ProductOfNeg() {
  Val x("x"), y("y");
  return Rule("product-of-neg")
      .Summary("-x * y = -(x * y)")
      .Match(Mul(Neg(x), y))
      .Where(IsFloat(x) && !IsConstant(y))
      .Replace(Neg(Mul(x, y)))
      .Lowers(OpsBefore({"ten.neg"}, {"ten.mul"}));
}

Rule QuotientOfNeg() {
  Val x("x"), y("y");
  return Rule("quotient-of-neg")
      .Summary("-x / y and x / -y as -(x / y)")
      .Match(AnyOf(Div(Neg(x), y), Div(x, Neg(y))))
      .Where(IsFloat(x) && !IsConstant(x) && !IsConstant(y))
      .Replace(Neg(Div(x, y)))
      .Lowers(OpsBefore({"ten.neg"}, {"ten.div"}));
}

Rule SubOfNegativeMultiple() {
  Val x("x"), y("y");
  Attr<float> factor("factor");
  return Rule("sub-of-negative-multiple")
      .Summary("y - x * -a = y + x * a for a positive number a")
      .Match(Sub(y, Mul(x, Splat(factor))))
      .Where(IsFloat(x) && If("the factor is negative", factor < 0))
      .Replace(Add(y, Mul(x, Splat(-Term(factor)))))
      .Lowers(OpsOf({NegativesOf("ten.mul")}));
}

// Equal terms have the difference 0, and its negative is -0.
Condition SignOfZeroIsUnseen(const Val& y) {
  return If("nothing divides by the result", !TellsSignOfZero(y));
}

Rule NegOfDifference() {
  Val a("a"), b("b"), root = Neg(Sub(a, b));
  return Rule("neg-of-difference")
      .Summary("-(a - b) = b - a")
      .Match(root)
      .Where(IsFloat(a))
      .IgnoresSignOfZero(SignOfZeroIsUnseen(root))
      .Replace(Sub(b, a));
}

Rule NegOfProductWithDifference() {
  Val x("x"), a("a"), b("b"), root = Neg(Mul(x, Sub(a, b)));
  return Rule("neg-of-product-with-difference")
      .Summary("-(x * (a - b)) = x * (b - a)")
      .Match(root)
      .Where(IsFloat(a))
      .IgnoresSignOfZero(SignOfZeroIsUnseen(root))
      .Replace(Mul(x, Sub(b, a)));
}

// A negative number as a factor of a difference, of what the difference is multiplied with, or of
// their product.
enum class Multiple { kDifference, kOther, kProduct };

Rule NegativeMultiple(const char* name, Multiple of, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  Val x("x"), a("a"), b("b");
  Attr<float> factor("factor");
  const auto times = [&](const Val& number, const Val& difference) {
    return of == Multiple::kDifference ? Mul(difference, number)
           : of == Multiple::kOther    ? Mul(Mul(x, number), difference)
                                       : Mul(Mul(x, difference), number);
  };
  Val root = times(Splat(factor), Sub(a, b));
  return Rule(name, file, line)
      .Summary("(a - b) * -n = (b - a) * n for a positive number n")
      .Match(root)
      .Where(IsFloat(a) && If("the factor is negative", factor < 0))
      .IgnoresSignOfZero(SignOfZeroIsUnseen(root))
      .Replace(times(Splat(-Term(factor)), Sub(b, a)))
      .Lowers(OpsOf({NegativesOf("ten.mul")}));
}

}  // namespace

RuleSet SignRules() {
  return {NegFromNumber(),
          NegFromDifference(),
          AddOfNeg(),
          SubOfNeg(),
          SubtractConstant(),
          ScaleOfNeg(),
          ProductOfNeg(),
          QuotientOfNeg(),
          SubOfNegativeMultiple(),
          NegOfDifference(),
          NegOfProductWithDifference(),
          NegativeMultiple("negative-multiple-of-difference", Multiple::kDifference),
          NegativeMultiple("negative-multiple-with-difference", Multiple::kOther),
          NegativeMultiple("negative-multiple-of-product-with-difference", Multiple::kProduct),
          OddFunction("erf-of-neg", "erf(-x) = -erf(x)", Erf, false),
          OddFunction("erf-of-negative", "erf(-a x) = -erf(a x)", Erf, true),
          OddFunction("tanh-of-neg", "tanh(-x) = -tanh(x)", Tanh, false),
          OddFunction("tanh-of-negative", "tanh(-a x) = -tanh(a x)", Tanh, true)};
}

}  // namespace tenon::pattern
