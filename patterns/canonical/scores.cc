// Attention scores in one form: a product of activations, a number times it, then sums with biases
// and masks; rank 4. The rules move what stands between the two: numbers towards the product, masks
// away from it.
#include "ir/core/constants/number_range.h"
#include "ir/core/operation.h"
#include "patterns/canonical/scores_parts.h"
#include "patterns/facts/value_range.h"

namespace tenon::pattern {
namespace {

// Then the lowest number swallows it.
Condition Moderate(const Val& val) {
  return Proof(
      Assumption::kNoOverflow,
      OnConstants(HasModerateSize("the term added to the product is a moderate number", val)));
}

// (scores + m) * c = scores * c + m * c. Either term may leave the type alone where the sum does
// not: scores that m hides, or numbers that cancel.
Rule ScaleOfSum(const char* name, bool divides, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Scores s;
  Val m("m");
  Attr<float> c("c");
  Val sum = Add(s.sum, m);
  const Term factor = divides ? 1.0 / c : Term(c);
  return Rule(name, file, line)
      .Summary(divides ? "(scores + m) / c = scores / c + m / c"
                       : "(scores + m) * c = scores * c + m * c")
      .Match(divides ? Div(sum, Splat(c)) : Mul(sum, Splat(c)))
      // An infinite factor makes NaN of a term that is zero, where the sum is not.
      .Where(IsProductOfActivations(s) &&
             If("the scale is finite", Compare(AbsOf(factor), "<=", LargestFiniteOf(DTypeOf(m)))))
      .MayOverflow(If("the scale leaves the scores and the mask finite",
                      And(StaysFinite(s.sum, factor), StaysFinite(m, factor))))
      .Replace(divides ? Add(Div(s.sum, Splat(c)), Div(m, Splat(c)))
                       : Add(Mul(s.sum, Splat(c)), Mul(m, Splat(c))))
      .Lowers(OpsBefore({"ten.add"}, {"ten.mul", "ten.div"}));
}

// Factors of several heads or rows, one for all keys, that leave the queries their shape.
Condition AreFactorsOfRows(const Val& factors, const Val& queries) {
  return If("the table has a factor for each head or row",
            ExtentOf(factors, -1) == 1 && BroadcastsTo(ShapeOf(factors), ShapeOf(queries)) &&
                DTypeOf(factors) == DTypeOf(queries) &&
                IsNotNumber(ProductOf(ShapeOf(factors)), 1));
}

Condition AreModerateScales(const Val& factors) {
  return If("the factors are moderate numbers", !HasZero(factors) &&
                                                    IsModerateNumber(SmallestSize(factors)) &&
                                                    IsModerateNumber(LargestSize(factors)));
}

// x * factors * number, or x / factors * number, is finite wherever x is.
Condition FactorsLeaveFinite(const Val& x, const Val& factors, bool divides, const Term& number) {
  const Term most = (divides ? 1.0 / SmallestSize(factors) : LargestSize(factors)) * AbsOf(number);
  return If(
      "queries times the factors are finite",
      Or(Compare(most, "<=", 1), Compare(Magnitude(x) * most, "<=", LargestFiniteOf(DTypeOf(x)))));
}

// Temperatures that heads learn differ, so that no single number scales the scores. Not in f16,
// where queries times a temperature leave the range of the type too soon.
Rule ScaleOfRows(const char* name, bool divides, bool numbered, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  Val q("q"), k("k"), c = Const("c");
  Attr<bool> tk("transpose_b");
  Attr<float> number("number"), multiplier("multiplier"), divisor("divisor");
  Val product = Matmul(q, k, {.transpose_a = false, .transpose_b = tk}).As("product");
  Val scaled = numbered ? AnyOf(Mul(product, Splat(multiplier)).Let(number, Real(multiplier)),
                                Div(product, Splat(divisor)).Let(number, 1.0 / divisor))
                        : product;
  Val made = numbered  ? Mul(q, divides ? Div(Splat(number), c) : Mul(c, Splat(number)))
              : divides ? Div(q, c)
                       : Mul(q, c);
  Condition fits = AreFactorsOfRows(c, q);
  if (numbered) fits = fits && IsModerateScale("the number is a moderate one", number);
  return Rule(name, file, line)
      .Summary(numbered  ? divides ? "… behind a quotient by a number, or a product with one"
                                   : "… behind a product with a number, or a quotient by one"
               : divides ? "q k^T / c = (q / c) k^T for a number c of each head or row"
                         : "q k^T * c = (q * c) k^T for a number c of each head or row")
      .Match(divides ? Div(scaled, c) : Mul(scaled, c))
      .Where(IsFloat(product) && !DTypeIs(product, DType::kF16) && !IsConstant(k) &&
             RankAtLeast(product, 3) && RankAtLeast(k, 2))
      .Where(fits)
      .Where(OnConstants(If("the factors differ", !IsUniform(c)) && AreModerateScales(c)))
      .MayOverflow(FactorsLeaveFinite(q, c, divides, numbered ? Term(number) : Term(1.0)))
      .Replace(Matmul(made, k, {.transpose_a = false, .transpose_b = tk}))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.mul", "ten.div"}));
}

// Two numbers in a row are one.
Rule NumberOfNumber() {
  Scores s;
  Attr<float> second("second"), outer("outer"), again("again");
  Val inner = AnyOf(Mul(s.product, Splat(s.multiplier)).Let(s.factor, Real(s.multiplier)),
                    Div(s.product, Splat(s.divisor)).Let(s.factor, 1.0 / s.divisor));
  return Rule("scores-number-of-number")
      .Summary("product * a * b = product * (a * b), and so for quotients and signs")
      .Match(AnyOf(Mul(inner, Splat(second)).Let(outer, Real(second)),
                   Div(inner, Splat(again)).Let(outer, 1.0 / again), Neg(inner).Let(outer, -1)))
      .Where(IsProductOfActivations(s))
      .Replace(Mul(s.product, Splat(HeldProduct(DTypeOf(s.product), s.factor, outer))));
}

// scores - m = scores + (-m)
Rule SubtractedMask() {
  Scores s;
  Val m("m");
  return Rule("scores-minus-mask")
      .Summary("scores - m = scores + (-m)")
      .Match(Sub(s.sum, m))
      .Where(IsProductOfActivations(s))
      .Replace(Add(s.sum, Neg(m)))
      .Lowers(OpsOf({"ten.sub"}));
}

// What a factor of zero makes of an infinite score is NaN.
Condition Bounded(const Val& scores) {
  return IsBounded("the scores are bounded, whatever the inputs hold", scores);
}

// where(keep, scores, low) = scores + where(keep, 0, low): the lowest number swallows every score.
Rule SelectedScores(const char* name, bool inverted, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  Scores s;
  Val keep("keep"), hidden = Splat(kLowest);
  return Rule(name, file, line)
      .Summary(inverted ? "where(hide, low, scores) = scores + where(hide, low, 0)"
                        : "where(keep, scores, low) = scores + where(keep, 0, low)")
      .Match(inverted ? ten::Where(keep, hidden, s.sum) : ten::Where(keep, s.sum, hidden))
      .Where(IsProductOfActivations(s) && DTypeIs(s.product, DType::kF32) && Moderate(s.bias) &&
             Moderate(s.second))
      .IgnoresInfinity(Bounded(s.scaled))
      .Replace(Add(s.sum, inverted ? ten::Where(keep, Splat(kLowest), Splat(0))
                                   : ten::Where(keep, Splat(0), Splat(kLowest))))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.where"}));
}

// scores * keep + (1 - keep) * low = where(keep, scores, low) for a table `keep` of zeros and ones.
Rule SelectedByProduct() {
  Scores s;
  Val keep("keep");
  Attr<float> low("low"), high("high");
  Val kept = Mul(s.sum, keep);
  return Rule("scores-select-by-product")
      .Summary("scores * keep + (1 - keep) * low = where(keep, scores, low)")
      .Match(AnyOf(Add(kept, Mul(Sub(Splat(1), keep), Splat(low))),
                   Sub(kept, Mul(Sub(Splat(1), keep), Splat(high))).Let(low, -Term(high)),
                   Add(kept, Mul(Add(keep, Splat(-1)), Splat(high))).Let(low, -Term(high))))
      .Where(IsProductOfActivations(s) &&
             OnConstants(If("the factor is a table of zeros and ones", HoldsZerosAndOnes(keep))))
      .IgnoresInfinity(Bounded(s.sum))
      .Replace(ten::Where(Cast(keep, {.to = DType::kBool}), s.sum, Splat(low)))
      .Lowers(OpsOf({"ten.mul"}));
}

// The same when the tables are numbers already.
Rule SelectedByTables() {
  Scores s;
  Val keep = Const("keep"), rest = Const("rest");
  Val kept = Mul(s.sum, keep), sum = Add(kept, rest);
  return Rule("scores-select-by-tables")
      .Summary("scores * keep + rest = where(keep, scores, number) if rest is (1 - keep) * number")
      .Match(sum)
      .Where(IsProductOfActivations(s) && SameShape(sum, kept) &&
             OnConstants(If(
                 "keep is a table of zeros and ones, and rest is (1 - keep) * number",
                 [](Value k, Value r) { return NumberOfHidden(k, r).has_value(); }, keep, rest)))
      .IgnoresInfinity(Bounded(s.sum))
      .Replace(ten::Where(Cast(keep, {.to = DType::kBool}), s.sum,
                          Splat(Compute(NumberOfHidden, keep, rest))))
      .Lowers(OpsOf({"ten.mul"}))
      .Opaque("two tables are compared element by element");
}

// Three sums are two.
Rule ThirdSum() {
  Scores s;
  Val x("x"), y("y"), z("z");
  return Rule("scores-third-sum")
      .Summary("scores + x + y + z = scores + x + (y + z)")
      .Match(Add(Add(Add(s.scaled, x), y), z))
      .Where(IsProductOfActivations(s))
      .Replace(Add(Add(s.scaled, x), Add(y, z)))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.add"}));
}

// Two sums are one where there are two axes of batches: windows or blocks, each with a mask, and a
// bias for all of them.
Rule SecondSumOfWindows() {
  Scores s;
  Val x("x"), y("y");
  return Rule("scores-second-sum-of-windows")
      .Summary("scores + x + y = scores + (x + y) for scores of two axes of batches")
      .Match(Add(Add(s.scaled, x), y))
      .Where(IsScaledModerately(s) && Rank(s.product, 5))
      .Replace(Add(s.scaled, Add(x, y)))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.add"}));
}

// Neither a softmax nor one that is guarded against NaN.
Condition AreNoProbabilities(const Val& v) {
  return If("the values are not probabilities",
            !(OpOf(v) == "nn.softmax") &&
                !(OpOf(v) == "ten.where" && OpOf(OperandOf(v, 2)) == "nn.softmax"));
}

// Images with their channels first: the values stand before the probabilities, both transposed. Of
// two factors of probabilities neither is the values: they would change places without end.
Rule ValuesFirst(const char* name, int rank, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  Val x("x"), v("v");
  Attr<bool> transposed("transposed_v");
  Val weights = Softmax(x, {.axis = -1});
  Val shared = AnyOf(ten::Where(IsNan(weights), Splat(0), weights), weights);
  Val weighed = Matmul(shared, v, {.transpose_b = !Term(transposed)});
  return Rule(name, file, line)
      .Summary(rank == 4 ? "v^T softmax(x)^T = (softmax(x) v)^T" : "… of three axes")
      .Match(Matmul(v, shared, {.transpose_a = transposed, .transpose_b = true}))
      .Where(Rank(x, rank) && Rank(v, rank) && AreNoProbabilities(v))
      .Replace(rank == 4 ? Transpose(weighed, {.perm = {0, 1, 3, 2}})
                         : Transpose(weighed, {.perm = {0, 2, 1}}))
      .Lowers(OpsBefore({"nn.softmax"}, {MeasuredOp("ten.matmul").At(1)}));
}

// Probabilities of hidden keys set to zero: those of rows that see no key at all.
Rule ZeroedProbabilities() {
  Scores s;
  Val hide("hide");
  Val low = AnyOf(Splat(kLowest), Splat(-kInfinity));
  Val weights = Softmax(Add(s.sum, ten::Where(hide, low, Splat(0))), {.axis = -1});
  Val selected = Softmax(ten::Where(hide, Splat(-kInfinity), s.sum), {.axis = -1});
  return Rule("scores-zeroed")
      .Summary(
          "where(hide, 0, softmax(scores + where(hide, low, 0))): hidden scores are not added to")
      .Match(ten::Where(hide, Splat(0), weights))
      .Where(IsProductOfActivations(s) && DTypeIs(s.product, DType::kF32) && Moderate(s.bias) &&
             Moderate(s.second))
      .IgnoresInfinity(Bounded(s.scaled))
      .Replace(ten::Where(hide, Splat(0), selected))
      .Lowers(OpsOf({"ten.add"}));
}

// max(scores + m, lowest) = scores + max(m, lowest)
Rule ClampedScores() {
  Scores s;
  Val m("m");
  Val sum = Add(s.scaled, m);
  return Rule("scores-clamped")
      .Summary("max(scores + m, lowest) = scores + max(m, lowest)")
      .Match(AnyOf(Max(sum, Splat(kLowest)), Clip(sum, {.min = kLowest})))
      .Where(IsProductOfActivations(s) && DTypeIs(s.product, DType::kF32))
      .IgnoresInfinity(Bounded(s.scaled))
      .Replace(Add(s.scaled, Clip(m, {.min = kLowest})))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.max", "ten.clip"}));
}

}  // namespace

RuleSet ScoresRules() {
  RuleSet rules = {NumberOfNumber(), ScaleOfRows("scores-scale-of-rows", false, false),
                   ScaleOfRows("scores-quotient-of-rows", true, false),
                   ScaleOfRows("scores-scale-of-rows-and-number", false, true),
                   ScaleOfRows("scores-quotient-of-rows-and-number", true, true)};
  for (Rule& rule : ScoreTransposeRules()) rules.push_back(std::move(rule));
  for (Rule& rule : RuleSet{
           ScaleOfSum("scores-scale-of-sum", false), ScaleOfSum("scores-quotient-of-sum", true),
           SubtractedMask(), SelectedScores("scores-select", false),
           SelectedScores("scores-select-inverted", true), SelectedByProduct(), SelectedByTables(),
           ClampedScores(), ThirdSum(), SecondSumOfWindows(), ValuesFirst("scores-values-first", 4),
           ValuesFirst("scores-values-first-joined", 3), ZeroedProbabilities()}) {
    rules.push_back(std::move(rule));
  }
  for (Rule& rule : ScoreSequenceRules()) rules.push_back(std::move(rule));
  for (Rule& rule : ScoreViewRules()) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace tenon::pattern
