// What is left beside a linear when attention and the norms have taken theirs: numbers that scale
// it, and a residual that no norm follows.
#include "patterns/facts/numbers.h"
#include "patterns/layers/linear.h"

namespace tenon::pattern {
namespace {

// linear(x) + residual, for the additions that no norm has taken.
Rule LinearResidual() {
  Val x("x"), w("w"), b("b"), residual("residual");
  Attr<bool> transpose("transpose");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  Val product = fused::Linear(
      x, w, Maybe(b), {},
      {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  return Rule("linear-residual")
      .Summary("linear(x, w, b) + residual of the same shape")
      .Match(Add(product, residual))
      .Where(SameShape(product, residual))
      .Replace(fused::Linear(
          x, w, b, residual,
          {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta}))
      .RequireKernel();
}

// linear(x) + (residual + row): the row is a bias. What comes before a norm is left to the norms.
Rule LinearRowOfResidual(const char* name, bool biased, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b"), residual("residual"), row = Const("row");
  Attr<bool> transpose("transpose");
  Val product = fused::Linear(x, w, biased ? OptVal(b) : OptVal(), Add(residual, row),
                              {.transpose_w = transpose});
  Val bias = Reshape(row, {.shape = ListOf({ExtentOf(product, -1)})});
  return Rule(name, file, line)
      .Summary("linear(x) + (residual + row): the row is the bias of the layer")
      .Match(product)
      .Where(If("the row has an element for each column", IsRow(row, product)) &&
             SameShape(residual, product))
      .Where(biased ? FollowsFromConstants(b) : Condition())
      .Replace(
          fused::Linear(x, w, biased ? Add(b, bias) : bias, residual, {.transpose_w = transpose}))
      .Lowers(OpsOf({"ten.add"}));
}

// linear(x) / d: the factor goes into the weights.
Rule LinearQuotient() {
  Val x("_x"), w = Const("w"), b("_b");
  Attr<float> divisor("divisor");
  Val product = fused::Linear(x, w, Maybe(b), {}, {.transpose_w = kAny});
  return Rule("linear-quotient")
      .Summary("linear(x, w) / d = linear(x, w) * (1 / d) for a number d")
      .Match(Div(product, Splat(divisor)))
      .Where(If("nothing else uses the weights", HasOneUse(w)))
      .Replace(Mul(product, Splat(Held(DTypeOf(product), 1.0 / divisor))))
      .Lowers(OpsOf({"ten.div"}));
}

// (x w)^2 - x^2 s, as factorization machines sum the products of all pairs of features, times a
// number or not.
Rule SquaredMatSub(const char* name, bool scaled, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x"), w("w"), squares("squares");
  Attr<bool> transpose("transpose");
  Attr<float> scale("scale");
  Val sums = fused::Linear(x, w, {}, {}, {.transpose_w = transpose});
  Val square = Mul(x, x);
  Val difference =
      Sub(Mul(sums, sums), fused::Linear(square, squares, {}, {}, {.transpose_w = transpose}));
  fused::SquaredMatSubArgs args = {.transpose_w = transpose};
  if (scaled) args.scale = Held(DType::kF32, scale);
  return Rule(name, file, line)
      .Summary(scaled ? "((x w)^2 - x^2 s) * number" : "(x w)^2 - x^2 s")
      .Benefit(scaled ? 1 : 0)  // before the difference alone
      .Match(scaled ? Mul(difference, Splat(scale)) : difference)
      .Where(SameShape(w, squares))
      .Keep(square)
      .Replace(fused::SquaredMatSub(x, w, squares, args))
      .RequireKernel();
}

}  // namespace

RuleSet EpilogueRules() {
  return {LinearQuotient(),
          LinearScale("linear-number", true, false, false),
          LinearScale("linear-number-bias", true, false, true),
          LinearScale("linear-number-transposed", true, true, false),
          LinearScale("linear-number-transposed-bias", true, true, true),
          SquaredMatSub("squared-mat-sub", false),
          SquaredMatSub("squared-mat-sub-scaled", true),
          LinearResidual(),
          LinearRowOfResidual("linear-row-of-residual", false),
          LinearRowOfResidual("linear-bias-row-of-residual", true)};
}

}  // namespace tenon::pattern
