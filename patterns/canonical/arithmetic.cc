// One form for arithmetic: powers, reciprocals, signs, means and bounds as exporters spell them.
// They bring spellings together before the families of `fuse` look at them.
#include "patterns/canonical/signs.h"
#include "patterns/facts/numbers.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// ---- powers and quotients ----------------------------------------------------------------------

Rule PowerOf(const char* name, double exponent, const char* summary, Val (*made)(const Val&),
             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x");
  return Rule(name, file, line)
      .Summary(summary)
      .Match(Pow(x, Splat(exponent)))
      .Where(IsFloat(x))
      .Replace(made(x))
      .Lowers(OpsOf({"ten.pow"}));
}

// The root of a negative zero or infinity is none of its power.
Condition NeverNegative(const Val& x) { return If("x is never negative", LowerBound(x) >= 0); }
Condition Positive(const Val& x) { return If("x is positive", LowerBound(x) > 0); }

Rule RootFromPower() {
  Val x("x");
  return Rule("root-from-power")
      .Summary("x^0.5 = sqrt(x)")
      .Match(Pow(x, Splat(0.5)))
      .Where(IsFloat(x))
      .IgnoresInfinity(NeverNegative(x))
      .Replace(Sqrt(x))
      .Lowers(OpsOf({"ten.pow"}));
}

Rule ReciprocalRootFromPower() {
  Val x("x");
  return Rule("reciprocal-root-from-power")
      .Summary("x^-0.5 = 1 / sqrt(x)")
      .Match(Pow(x, Splat(-0.5)))
      .Where(IsFloat(x))
      .IgnoresInfinity(NeverNegative(x))
      .IgnoresSignOfZero(Positive(x))
      .Replace(Reciprocal(Sqrt(x)))
      .Lowers(OpsOf({"ten.pow"}));
}

Rule ReciprocalFromQuotient() {
  Val x("x");
  return Rule("reciprocal-from-quotient")
      .Summary("1 / x as an op of its own")
      .Match(Div(Splat(1), x))
      .Where(IsFloat(x))
      .Replace(Reciprocal(x))
      .Lowers(OpsOf({"ten.div"}));
}

Rule ProductWithReciprocal() {
  Val x("x"), y("y");
  return Rule("product-with-reciprocal")
      .Summary("x * (1 / y) = x / y")
      .Match(Mul(x, Reciprocal(y)))
      .Where(!IsConstant(y))
      .Replace(Div(x, y));
}

// A vector of divisors is one of factors, which weights can absorb. Numbers stay: 1 / c is rounded.
Rule DivideByVector() {
  Val x("x"), c = Const("c");
  return Rule("divide-by-vector")
      .Summary("x / c = x * (1 / c) for a constant c of several elements")
      .Match(Div(x, c))
      .Where(IsFloat(x) && !IsConstant(x) &&
             If("c has several elements", ProductOf(ShapeOf(c)) > 1))
      .Replace(Mul(x, Reciprocal(c)))
      .Lowers(OpsOf({"ten.div"}));
}

Rule ReciprocalOfExp() {
  Val x("x");
  return Rule("reciprocal-of-exp")
      .Summary("1 / exp(x) = exp(-x)")
      .Match(Reciprocal(Exp(x)))
      .Replace(Exp(Neg(x)))
      .Lowers(OpsOf({"ten.reciprocal"}));
}

Rule RootOfReciprocal() {
  Val x("x");
  return Rule("root-of-reciprocal")
      .Summary("sqrt(1 / x) = 1 / sqrt(x)")
      .Match(Sqrt(Reciprocal(x)))
      .IgnoresInfinity(NeverNegative(x))
      .IgnoresSignOfZero(Positive(x))
      .Replace(Reciprocal(Sqrt(x)))
      .Lowers(OpsBefore({"ten.reciprocal"}, {"ten.sqrt"}));
}

// ---- reductions --------------------------------------------------------------------------------

// The number is that of the elements along the axes.
Condition CountsAxes(const Val& x, const Attr<I64s>& axes, const Attr<float>& count) {
  const Term elements = ProductOf(ShapeOf(x)[axes]);
  return If("the divisor is the number of elements",
            elements > 0 && AbsOf(count - elements) <= 1e-6 * elements);
}

// sum(x) / n, n elements
Rule MeanFromSum() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<bool> keepdims("keepdims");
  Attr<float> count("count"), divisor("divisor"), factor("factor");
  Val sum = ReduceSum(x, {.axes = axes, .keepdims = keepdims});
  return Rule("mean-from-sum")
      .Summary("sum(x) / n over n elements is a mean")
      .Match(AnyOf(Div(sum, Splat(divisor)).Let(count, Real(divisor)),
                   Mul(sum, Splat(factor)).Let(count, 1.0 / factor)))
      .Where(IsFloat(x) && CountsAxes(x, axes, count))
      .Replace(ReduceMean(x, {.axes = axes, .keepdims = keepdims}));
}

Rule SquareOfNorm() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<bool> keepdims("keepdims");
  Val norm = ReduceL2(x, {.axes = axes, .keepdims = keepdims});
  return Rule("square-of-norm")
      .Summary("|x|^2 = sum(x^2)")
      .Match(Mul(norm, norm))
      .Where(IsFloat(x))
      .Replace(ReduceSum(Mul(x, x), {.axes = axes, .keepdims = keepdims}))
      .Lowers(OpsOf({"ten.reduce_l2"}));
}

Rule SquareOfAbs() {
  Val x("x");
  Val magnitude = Abs(x);
  return Rule("square-of-abs")
      .Summary("|x| * |x| = x * x")
      .Match(Mul(magnitude, magnitude))
      .Replace(Mul(x, x));
}

// `y` has the shape of x with 1 in place of `axes`.
Condition KeepsAxes(const Val& x, const Attr<I64s>& axes, const Val& y) {
  return If("the reduced axes come back as 1", WithOnes(ShapeOf(x), axes) == ShapeOf(y));
}

template <typename Args>
Rule ReductionKeepsAxes(const char* name, Val (*reduce)(const Val&, const Args&),
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x");
  Attr<I64s> axes("axes");
  Val root = Reshape(reduce(x, {.axes = axes, .keepdims = false}), {.shape = kAny});
  return Rule(name, file, line)
      .Summary("a reduction whose axes come back as 1 keeps them")
      .Match(root)
      .Where(KeepsAxes(x, axes, root))
      .Replace(reduce(x, {.axes = axes}));
}

// The same behind the root of a mean and a number.
Rule RootKeepsAxes() {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<float> number("number");
  Val mean = ReduceMean(x, {.axes = axes, .keepdims = false});
  Val root = Reshape(Sqrt(AnyOf(Add(mean, Splat(number)), mean.Let(number, 0))), {.shape = kAny});
  return Rule("root-keeps-axes")
      .Summary("the root of a mean whose axes come back as 1 keeps them")
      .Match(root)
      .Where(IsFloat(x) && KeepsAxes(x, axes, root))
      .Replace(Sqrt(Add(ReduceMean(x, {.axes = axes}), Splat(Real(number)))))
      .Lowers(OpsOf({"ten.reshape"}));
}

Rule BoundedMeanOfSquares() {
  Val x("x");
  Val mean = ReduceMean(Mul(x, x), {.axes = kAny, .keepdims = kAny});
  return Rule("bounded-mean-of-squares")
      .Summary("max(mean(x^2), 0) = mean(x^2)")
      .Match(AnyOf(Relu(mean), Clip(mean, {.min = 0})))
      .Where(IsFloat(x))
      .Replace(mean);
}

// mean(x^2) - mean(x)^2 cancels; mean((x - mean(x))^2) does not.
Rule VarianceOfSquares() {
  Val x("x");
  Attr<I64s> axes("axes");
  Val mean = ReduceMean(x, {.axes = axes});
  Val centered = Sub(x, mean);
  return Rule("variance-of-squares")
      .Summary("mean(x^2) - mean(x)^2 = mean((x - mean(x))^2)")
      .Match(Sub(ReduceMean(Mul(x, x), {.axes = axes}), Mul(mean, mean)))
      .Keep(mean)
      .Replace(ReduceMean(Mul(centered, centered), {.axes = axes}))
      .Lowers(OpsBefore({"ten.reduce_mean"}, {"ten.sub"}));
}

// ---- bounds ------------------------------------------------------------------------------------

Rule ClipFromMax() {
  Val x("x");
  Attr<float> bound("bound");
  return Rule("clip-from-max")
      .Summary("max(x, a) = clip(x, a, inf) for a number a")
      .Match(ten::Max(x, Splat(bound)))
      .Where(IsFloat(x) && If("the bound is finite", AbsOf(bound) < kInfinity))
      .Replace(Clip(x, {.min = Real(bound)}))
      .Lowers(OpsOf({"ten.max"}));
}

Rule ClipFromMin() {
  Val x("x");
  Attr<float> bound("bound");
  return Rule("clip-from-min")
      .Summary("min(x, b) = clip(x, -inf, b) for a number b")
      .Match(ten::Min(x, Splat(bound)))
      .Where(IsFloat(x) && If("the bound is finite", AbsOf(bound) < kInfinity))
      .Replace(Clip(x, {.max = Real(bound)}))
      .Lowers(OpsOf({"ten.min"}));
}

Term Clamp(const Term& x, const Term& low, const Term& high) { return MinOf(MaxOf(x, low), high); }

// Of integers, a lower bound rounds up and an upper one down. A bound that moves to the other place
// would round the other way.
Rule ClipOfClip() {
  Val x("x");
  Attr<double> a("a"), b("b"), low("low"), high("high");
  const auto is_whole = [](const Term& bound) { return FloorOf(bound) == bound; };
  return Rule("clip-of-clip")
      .Summary("two bounds in a row are one")
      .Match(Clip(Clip(x, {.min = a, .max = b}), {.min = low, .max = high}))
      .Where(If("no bound is NaN",
                a <= kInfinity && b <= kInfinity && low <= kInfinity && high <= kInfinity))
      .Where(If("bounds of integers are whole",
                IsFloat(x) || (is_whole(a) && is_whole(b) && is_whole(low) && is_whole(high))))
      .Replace(Clip(x, {.min = Clamp(a, low, high), .max = Clamp(b, low, high)}));
}

Rule ClipOfRelu() {
  Val x("x");
  Attr<double> low("low"), high("high");
  return Rule("clip-of-relu")
      .Summary("clip(relu(x)) is one clip")
      .Match(Clip(Relu(x), {.min = low, .max = high}))
      .Replace(Clip(x, {.min = Clamp(0.0, low, high), .max = high}));
}

Rule ReluOfClip() {
  Val x("x");
  Attr<double> low("low"), high("high");
  return Rule("relu-of-clip")
      .Summary("relu(clip(x)) is one clip")
      .Match(Relu(Clip(x, {.min = low, .max = high})))
      .Replace(Clip(x, {.min = MaxOf(low, 0.0), .max = MaxOf(high, 0.0)}));
}

}  // namespace

RuleSet ArithmeticRules() {
  RuleSet rules = {
      PowerOf("square-from-power", 2, "x^2 = x * x", [](const Val& x) { return Mul(x, x); }),
      RootFromPower(),
      ReciprocalRootFromPower(),
      PowerOf("reciprocal-from-power", -1, "x^-1 = 1 / x",
              [](const Val& x) { return Reciprocal(x); }),
      ReciprocalFromQuotient(),
      ProductWithReciprocal(),
      DivideByVector(),
      RootOfReciprocal(),
      ReciprocalOfExp(),
      MeanFromSum(),
      SquareOfNorm(),
      SquareOfAbs(),
      ReductionKeepsAxes<ReduceMeanArgs>("mean-keeps-axes", ReduceMean),
      ReductionKeepsAxes<ReduceSumArgs>("sum-keeps-axes", ReduceSum),
      ReductionKeepsAxes<ReduceMaxArgs>("max-keeps-axes", ReduceMax),
      ReductionKeepsAxes<ReduceL2Args>("norm-keeps-axes", ReduceL2),
      RootKeepsAxes(),
      VarianceOfSquares(),
      BoundedMeanOfSquares(),
      ClipFromMax(),
      ClipFromMin(),
      ClipOfClip(),
      ClipOfRelu(),
      ReluOfClip()};
  const RuleSet signs = SignRules();
  rules.insert(rules.end(), signs.begin(), signs.end());
  return rules;
}

}  // namespace tenon::pattern
