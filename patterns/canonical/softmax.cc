// The softmax in one form, over the last axis: from exponentials, in more bits, of lowered scores,
// of transposes and views.
#include "patterns/facts/magnitude.h"
#include "patterns/facts/numbers.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// a - b, also as a sum: what is taken off scores becomes a mask that is added.
Val Difference(const Val& a, const Val& b) { return AnyOf(Sub(a, b), Add(a, Neg(b))); }

// An infinite score makes a softmax NaN in the whole row. Where no maximum is taken off, the other
// scores of the row have weight 0.
Condition HasNoInfinity(const Val& x) {
  return IsBounded("the scores are bounded, whatever the inputs hold", x);
}

Rule SoftmaxFromExp() {
  Val x("x");
  Attr<I64s> axes("axes");
  Val e = Exp(Difference(x, ReduceMax(x, {.axes = axes})));
  Val sum = ReduceSum(e, {.axes = axes});
  return Rule("softmax-from-exp")
      .Summary("exp(x - max(x)) / sum(exp(x - max(x)))")
      .Match(AnyOf(Div(e, sum), Mul(e, Reciprocal(sum))))
      .Replace(Softmax(x, {.axis = OnlyOf(axes)}));
}

// Blockwise kernels divide their result by the sum in the end.
Rule SoftmaxBehindProduct() {
  Val x("x"), v("v");
  Attr<I64s> axes("axes");
  Attr<bool> transposed("transposed");
  Val e = Exp(Difference(x, ReduceMax(x, {.axes = axes})));
  Val sum = ReduceSum(e, {.axes = axes});
  Val product = Matmul(e, v, {.transpose_b = transposed});
  return Rule("softmax-behind-product")
      .Summary("(exp(x - max(x)) v) / sum(exp(x - max(x))) = softmax(x) v")
      .Match(AnyOf(Div(product, sum), Mul(product, Reciprocal(sum))))
      .Where(RankAtLeast(x, 2) && RankAtLeast(v, 2) &&
             If("the sum is over the last axis", axes == ListOf({RankOf(x) - 1})))
      .Replace(Matmul(Softmax(x, {.axis = -1}), v, {.transpose_b = transposed}));
}

// Where the exponentials overflow, the softmax is what was meant.
Rule SoftmaxFromExpOfBounded() {
  Val x("x");
  Attr<I64s> axes("axes");
  Val e = Exp(x);
  Val sum = ReduceSum(e, {.axes = axes});
  return Rule("softmax-from-exp-of-bounded")
      .Summary("exp(x) / sum(exp(x)) of bounded scores, which may overflow")
      .Match(AnyOf(Div(e, sum), Mul(e, Reciprocal(sum))))
      .IgnoresInfinity(OnConstants(HasNoInfinity(x)))
      .Replace(Softmax(x, {.axis = OnlyOf(axes)}));
}

Rule SoftmaxFromLog() {
  Val x("x");
  Attr<int64_t> axis("axis");
  return Rule("softmax-from-log")
      .Summary("exp(log_softmax(x))")
      .Match(Exp(LogSoftmax(x, {.axis = axis})))
      .Replace(Softmax(x, {.axis = axis}));
}

Rule SoftmaxFromLogSum() {
  Val x("x");
  Attr<I64s> axes("axes");
  return Rule("softmax-from-log-sum")
      .Summary("exp(x - log(sum(exp(x)))) of bounded scores")
      .Match(Exp(Difference(x, ReduceLogSumExp(x, {.axes = axes}))))
      .IgnoresInfinity(OnConstants(HasNoInfinity(x)))
      .Replace(Softmax(x, {.axis = OnlyOf(axes)}));
}

// How scores are lowered by their largest before a softmax, which it does by itself.
enum class Lowered { kDifference, kScaledDifference, kScaledParts };

// CogView and LayoutLMv3 do so to keep half precision in range.
Rule SoftmaxOfLowered(const char* name, Lowered form, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  Val x("x");
  Attr<I64s> axes("axes");
  Attr<int64_t> axis("axis");
  Attr<float> c("c");
  Val largest = ReduceMax(x, {.axes = axes, .keepdims = true});
  Val difference = Difference(x, largest);
  Val lowered = form == Lowered::kDifference ? difference
                : form == Lowered::kScaledDifference
                    ? Mul(difference, Splat(c))
                    : Add(Mul(x, Splat(c)), Mul(Neg(largest), Splat(c)));
  Condition fits = If("the maximum is that of the row", axes == ListOf({axis}));
  if (form != Lowered::kDifference) {
    fits =
        fits && IsFloat(x) && If("the scale is positive", c > 0) &&
        // Rows of the lowest number stay finite.
        Proof(Assumption::kNoOverflow, If("the scale leaves the scores finite", StaysFinite(x, c)));
  }
  return Rule(name, file, line)
      .Summary(form == Lowered::kDifference ? "softmax(x - max(x)) = softmax(x)"
               : form == Lowered::kScaledDifference
                   ? "softmax((x - max(x)) * c) = softmax(x * c) for positive c"
                   : "softmax(x * c - max(x) * c) = softmax(x * c) for positive c")
      .Match(Softmax(lowered, {.axis = axis}))
      .Where(fits)
      .Replace(form == Lowered::kDifference ? Softmax(x, {.axis = axis})
                                            : Softmax(Mul(x, Splat(c)), {.axis = axis}))
      .Lowers(OpsOf({"ten.reduce_max"}));
}

// Scores take part in a softmax in more bits than they have.
Rule SoftmaxInMoreBits() {
  Val x("x");
  Attr<int64_t> axis("axis");
  Val wide = AnyOf(Cast(x, {.to = DType::kF32}), Cast(x, {.to = DType::kF64}));
  return Rule("softmax-in-more-bits")
      .Summary("the softmax of scores cast to f32 or f64 and back is that of the scores")
      .Match(Cast(Softmax(wide, {.axis = axis}), {.to = kAny}))
      .Where(DTypeIs(x, DType::kF16) || DTypeIs(x, DType::kBF16) || DTypeIs(x, DType::kF32))
      .Replace(Softmax(x, {.axis = axis}));
}

// ---- other axes ---------------------------------------------------------------------------------

Rule SoftmaxOfTranspose() {
  Val x("x");
  Attr<I64s> perm("perm");
  Attr<int64_t> axis("axis");
  return Rule("softmax-of-transpose")
      .Summary("a softmax over what was the last axis comes before the transpose")
      .Match(Softmax(Transpose(x, {.perm = perm}), {.axis = axis}))
      .Where(
          If("the softmax is over what was the last axis", Term(perm)[axis] == LengthOf(perm) - 1))
      .Replace(Transpose(Softmax(x, {.axis = LengthOf(perm) - 1}), {.perm = perm}))
      .Lowers(OpsBefore({"ten.transpose"}, {"nn.softmax"}));
}

Rule SoftmaxOfRows() {
  Val x("x");
  Val rows = Reshape(x, {.shape = kAny});
  Val root = Reshape(Softmax(rows, {.axis = -1}), {.shape = kAny});
  return Rule("softmax-of-rows")
      .Summary("the softmax of a view of the same rows, viewed as before")
      .Match(root)
      .Where(SameShape(root, x) &&
             If("the view has the same rows", ExtentOf(rows, -1) == ExtentOf(x, -1)))
      .Replace(Softmax(x, {.axis = -1}));
}

}  // namespace

RuleSet SoftmaxRules() {
  return {SoftmaxFromExp(),
          SoftmaxBehindProduct(),
          SoftmaxFromExpOfBounded(),
          SoftmaxFromLog(),
          SoftmaxFromLogSum(),
          SoftmaxInMoreBits(),
          SoftmaxOfLowered("softmax-of-difference", Lowered::kDifference),
          SoftmaxOfLowered("softmax-of-scaled-difference", Lowered::kScaledDifference),
          SoftmaxOfLowered("softmax-of-scaled-parts", Lowered::kScaledParts),
          SoftmaxOfTranspose(),
          SoftmaxOfRows()};
}

}  // namespace tenon::pattern
