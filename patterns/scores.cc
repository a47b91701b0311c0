// Attention scores in one form: a product of activations, a number times it, then sums with biases
// and masks; rank 4. The rules move what stands between the two: numbers towards the product, masks
// away from it, and reshapes out of the way.
#include "patterns/magnitude.h"
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = -3.4028234663852886e38;  // of f32

double Inverse(double x) { return 1 / x; }
double Same(double x) { return x; }

// The product and what is done to it, with the names under which the rules know them.
struct Scores {
  Val a{"_a"}, b{"_b"}, bias{"_bias"}, second{"_second"};
  Attr<float> multiplier{"multiplier"}, divisor{"divisor"}, factor{"factor"};
  Val product = Matmul(a, b, {.transpose_a = kAny, .transpose_b = kAny}).As("product");
  Val scaled = AnyOf(Mul(product, Splat(multiplier)).Let(factor, Compute(Same, multiplier)),
                     Div(product, Splat(divisor)).Let(factor, Compute(Inverse, divisor)), product);
  Val sum = AnyOf(Add(Add(scaled, bias), second), Add(scaled, bias), scaled);
};

Condition Moderate(const Val& val) {
  return OnConstants(If("what is added to the product is a moderate number", IsModerate, val));
}

Condition IsScaledModerately(const Scores& s) {
  return IsFloat(s.product) && !IsConstant(s.b) &&
         If("the scale is a moderate number", IsModerateScale, s.factor);
}

Condition IsProductOfActivations(const Scores& s) {
  return IsScaledModerately(s) && RankAtLeast(s.product, 3);
}

// (scores + m) * c = scores * c + m * c
Rule ScaleOfSum(const char* name, bool divides, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Scores s;
  Val m("m");
  Attr<float> c("c");
  Val sum = Add(s.sum, m);
  return Rule(name, file, line)
      .Summary(divides ? "(scores + m) / c = scores / c + m / c"
                       : "(scores + m) * c = scores * c + m * c")
      .Match(divides ? Div(sum, Splat(c)) : Mul(sum, Splat(c)))
      .Where(IsProductOfActivations(s))
      .Replace(divides ? Add(Div(s.sum, Splat(c)), Div(m, Splat(c)))
                       : Add(Mul(s.sum, Splat(c)), Mul(m, Splat(c))))
      .Lowers("sums under a scale of scores");
}

// Two numbers in a row are one.
Rule NumberOfNumber() {
  Scores s;
  Attr<float> second("second"), outer("outer"), again("again");
  Val inner = AnyOf(Mul(s.product, Splat(s.multiplier)).Let(s.factor, Compute(Same, s.multiplier)),
                    Div(s.product, Splat(s.divisor)).Let(s.factor, Compute(Inverse, s.divisor)));
  return Rule("scores-number-of-number")
      .Summary("product * a * b = product * (a * b), and so for quotients and signs")
      .Match(AnyOf(Mul(inner, Splat(second)).Let(outer, Compute(Same, second)),
                   Div(inner, Splat(again)).Let(outer, Compute(Inverse, again)),
                   Neg(inner).Let(outer, -1)))
      .Where(IsProductOfActivations(s))
      .Replace(Mul(s.product,
                   Splat(Compute([](double p, double q) { return p * q; }, s.factor, outer))));
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
      .Lowers("differences of scores");
}

// where(keep, scores, low) = scores + where(keep, 0, low): the lowest number swallows every score.
Rule SelectedScores(const char* name, bool inverted, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  Scores s;
  Val keep("keep");
  Attr<float> low("low");
  Val hidden = AnyOf(Splat(kLowest).Let(low, kLowest), Splat(-kInfinity).Let(low, -kInfinity));
  return Rule(name, file, line)
      .Summary(inverted ? "where(hide, low, scores) = scores + where(hide, low, 0)"
                        : "where(keep, scores, low) = scores + where(keep, 0, low)")
      .Match(inverted ? ten::Where(keep, hidden, s.sum) : ten::Where(keep, s.sum, hidden))
      .Where(IsProductOfActivations(s) && DTypeIs(s.product, DType::kF32) && Moderate(s.bias) &&
             Moderate(s.second))
      .Replace(Add(s.sum, inverted ? ten::Where(keep, Splat(low), Splat(0))
                                   : ten::Where(keep, Splat(0), Splat(low))))
      .Lowers("selects of scores");
}

// scores * keep + (1 - keep) * low = where(keep, scores, low) for a table `keep` of zeros and ones.
Rule SelectedByProduct() {
  Scores s;
  Val keep("keep");
  Attr<float> low("low"), high("high");
  Val kept = Mul(s.sum, keep);
  const auto negated = [](double x) { return -x; };
  return Rule("scores-select-by-product")
      .Summary("scores * keep + (1 - keep) * low = where(keep, scores, low)")
      .Match(
          AnyOf(Add(kept, Mul(Sub(Splat(1), keep), Splat(low))),
                Sub(kept, Mul(Sub(Splat(1), keep), Splat(high))).Let(low, Compute(negated, high)),
                Add(kept, Mul(Add(keep, Splat(-1)), Splat(high))).Let(low, Compute(negated, high))))
      .Where(IsProductOfActivations(s) &&
             OnConstants(If("the factor is a table of zeros and ones", IsZeroOrOne, keep)))
      .Replace(ten::Where(Cast(keep, {.to = DType::kBool}), s.sum, Splat(low)))
      .Lowers("products of scores");
}

// The same when the tables are numbers already.
Rule SelectedByTables() {
  Scores s;
  Val keep = Const("keep"), rest = Const("rest");
  return Rule("scores-select-by-tables")
      .Summary("scores * keep + rest = where(keep, scores, number) if rest is (1 - keep) * number")
      .Match(Add(Mul(s.sum, keep), rest))
      .Where(IsProductOfActivations(s) &&
             OnConstants(If(
                 "keep is a table of zeros and ones, and rest what it leaves",
                 [](Value k, Value r) { return NumberOfHidden(k, r).has_value(); }, keep, rest)))
      .Replace(ten::Where(Cast(keep, {.to = DType::kBool}), s.sum,
                          Splat(Compute(NumberOfHidden, keep, rest))))
      .Lowers("products of scores");
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
      .Lowers("sums after scores");
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
      .Lowers("sums after scores");
}

// Images with their channels first: the values stand before the probabilities, both transposed.
Rule ValuesFirst(const char* name, int rank, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  Val x("x"), v("v");
  Attr<bool> transposed("transposed_v");
  Val weights = Softmax(x, {.axis = -1});
  Val shared = AnyOf(ten::Where(IsNan(weights), Splat(0), weights), weights);
  auto inverse = [](bool t) { return !t; };
  Val weighed = Matmul(shared, v, {.transpose_b = Compute(inverse, transposed)});
  return Rule(name, file, line)
      .Summary(rank == 4 ? "v^T softmax(x)^T = (softmax(x) v)^T" : "… of three axes")
      .Match(Matmul(v, shared, {.transpose_a = transposed, .transpose_b = true}))
      .Where(Rank(x, rank) && Rank(v, rank))
      .Replace(rank == 4 ? Transpose(weighed, {.perm = {0, 1, 3, 2}})
                         : Transpose(weighed, {.perm = {0, 2, 1}}))
      .Lowers("values before probabilities");
}

// Probabilities of hidden keys set to zero: those of rows that see no key at all.
Rule ZeroedProbabilities() {
  Scores s;
  Val hide("hide");
  Val mask = ten::Where(hide, Splat(-kInfinity), Splat(0));
  Val low = AnyOf(Splat(kLowest), Splat(-kInfinity));
  Val weights = Softmax(Add(s.sum, ten::Where(hide, low, Splat(0))), {.axis = -1});
  Val guarded = Softmax(Add(s.sum, mask), {.axis = -1});
  return Rule("scores-zeroed")
      .Summary("where(hide, 0, softmax(scores + where(hide, low, 0))) guards against rows of NaN")
      .Match(ten::Where(hide, Splat(0), weights))
      .Where(IsProductOfActivations(s) && DTypeIs(s.product, DType::kF32) && Moderate(s.bias) &&
             Moderate(s.second))
      .Replace(ten::Where(IsNan(guarded), Splat(0), guarded))
      .Lowers("probabilities set to zero");
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
      .Replace(Add(s.scaled, Clip(m, {.min = kLowest})))
      .Lowers("bounds of scores");
}

// ---- reshapes -----------------------------------------------------------------------------------

// A view of [B * H, S, T] as [B, H, S, T], taken of the factors instead.
Rule SplitProduct() {
  Val a("a"), b("b");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Dim B("B"), H("H"), S("S"), T("T"), P("P"), Q("Q"), U("U"), V("V");
  return Rule("split-product")
      .Summary("batches of a product joined in one axis are split before it")
      .Match(Reshape(Matmul(a, b, {.transpose_a = ta, .transpose_b = tb}), {.shape = {B, H, S, T}}))
      .Where(ShapeIs(a, {B * H, P, Q}) && ShapeIs(b, {B * H, U, V}))
      .Where(!IsConstant(b))
      .Replace(Matmul(Reshape(a, {.shape = {B, H, P, Q}}), Reshape(b, {.shape = {B, H, U, V}}),
                      {.transpose_a = ta, .transpose_b = tb}))
      .Lowers("rank of joined batches");
}

// A view of [1, H, S, D] as [H, S, D] with any number of H joins nothing: these are no heads of one
// batch.
Condition JoinsHeads(const Dim& batches, const Dim& heads) {
  return If(
      "the view joins heads with batches",
      [](DimExpr b, DimExpr h) { return h.is_constant() || !b.is_constant(1); }, batches, heads);
}

// Views of split heads as batches [B * H, S, D], made before the product: made after it instead.
Rule JoinProduct() {
  Val a("a"), b("b");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Dim B("B"), H("H"), P("P"), Q("Q"), U("U"), V("V");
  Val product = Matmul(a, b, {.transpose_a = ta, .transpose_b = tb});
  auto shape = [](bool t, bool u, DimExpr batches, DimExpr p, DimExpr q, DimExpr x, DimExpr y) {
    return Dims{batches, t ? q : p, u ? x : y};
  };
  return Rule("join-product")
      .Summary("a product of views that join two axes of batches is the view of a product")
      .Match(Matmul(Reshape(a, {.shape = {B * H, P, Q}}), Reshape(b, {.shape = {B * H, U, V}}),
                    {.transpose_a = ta, .transpose_b = tb}))
      .Where(ShapeIs(a, {B, H, P, AnyDim()}) && ShapeIs(b, {B, H, U, AnyDim()}) && IsFloat(a))
      .Where(JoinsHeads(B, H))
      .Replace(Reshape(product, {.shape = Compute(shape, ta, tb, B * H, P, Q, U, V)}))
      .Lowers("views before products");
}

// The same where only one factor is such a view: the other one's batches are split, too.
Rule JoinProductOfOne(const char* name, bool first, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  Val a("a"), b("b");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Dim B("B"), H("H"), P("P"), Q("Q"), U("U"), V("V");
  auto joined = [&](const Val& v, const Dim& rows, const Dim& columns) {
    return Reshape(v, {.shape = {B * H, rows, columns}});
  };
  auto split = [&](const Val& v, const Dim& rows, const Dim& columns) {
    return Reshape(v, {.shape = {B, H, rows, columns}});
  };
  Val product = Matmul(first ? a : split(a, P, Q), first ? split(b, U, V) : b,
                       {.transpose_a = ta, .transpose_b = tb});
  auto shape = [](bool t, bool u, DimExpr batches, DimExpr p, DimExpr q, DimExpr x, DimExpr y) {
    return Dims{batches, t ? q : p, u ? x : y};
  };
  return Rule(name, file, line)
      .Summary(first ? "… also when only its first factor is such a view"
                     : "… also when only its second factor is such a view")
      .Match(Matmul(first ? joined(a, P, Q) : a, first ? b : joined(b, U, V),
                    {.transpose_a = ta, .transpose_b = tb}))
      .Where(first ? ShapeIs(a, {B, H, P, AnyDim()}) && ShapeIs(b, {B * H, U, V})
                   : ShapeIs(b, {B, H, U, AnyDim()}) && ShapeIs(a, {B * H, P, Q}))
      .Where(IsFloat(a) && !IsConstant(first ? b : a) && JoinsHeads(B, H))
      .Replace(Reshape(product, {.shape = Compute(shape, ta, tb, B * H, P, Q, U, V)}))
      .Lowers("views before products");
}

Rule JoinScale(const char* name, bool divides, const char* file = __builtin_FILE(),
               int line = __builtin_LINE()) {
  Scores s;
  Attr<float> c("c");
  Attr<Dims> shape("shape");
  Val view = Reshape(s.product, {.shape = shape});
  return Rule(name, file, line)
      .Summary("the scaled view of scores is a view of scaled scores")
      .Match(divides ? Div(view, Splat(c)) : Mul(view, Splat(c)))
      .Where(IsFloat(s.product) && Rank(s.product, 4))
      .Replace(
          Reshape(divides ? Div(s.product, Splat(c)) : Mul(s.product, Splat(c)), {.shape = shape}))
      .Lowers("views before scales");
}

Rule JoinSum(const char* name, bool joined, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  Scores s;
  Val m("m");
  Dim B("B"), H("H"), S("S"), T("T"), P("P"), Q("Q");
  return Rule(name, file, line)
      .Summary(joined ? "a sum with a view of scores that joins two axes is the view of a sum"
                      : "… also when what is added has no batches")
      .Match(Add(Reshape(s.scaled, {.shape = {B * H, S, T}}), m))
      .Where(IsScaledModerately(s) && ShapeIs(s.product, {B, H, S, T}))
      .Where(joined ? ShapeIs(m, {B * H, P, Q}) : ShapeIs(m, {1, P, Q}))
      .Replace(Reshape(Add(s.scaled, joined ? Reshape(m, {.shape = {B, H, P, Q}}) : m),
                       {.shape = {B * H, S, T}}))
      .Lowers("views before sums");
}

Rule JoinSoftmax() {
  Val x("x");
  Dim B("B"), H("H"), S("S"), T("T");
  return Rule("join-softmax")
      .Summary("the softmax of a view that joins two axes of batches is the view of the softmax")
      .Match(Softmax(Reshape(x, {.shape = {B * H, S, T}}), {.axis = -1}))
      .Where(ShapeIs(x, {B, H, S, AnyDim()}))
      .Replace(Reshape(Softmax(x, {.axis = -1}), {.shape = {B * H, S, T}}))
      .Lowers("views before a softmax");
}

Rule SplitScale(const char* name, bool divides, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Scores s;
  Attr<float> c("c");
  Attr<Dims> shape("shape");
  Val scaled = divides ? Div(s.product, Splat(c)) : Mul(s.product, Splat(c));
  Val view = Reshape(s.product, {.shape = shape});
  return Rule(name, file, line)
      .Summary("a view of scaled scores is the scaled view")
      .Match(Reshape(scaled, {.shape = shape}))
      .Where(IsFloat(s.product) && !IsConstant(s.b) && Rank(s.product, 3))
      .Replace(divides ? Div(view, Splat(c)) : Mul(view, Splat(c)))
      .Lowers("views of scores");
}

Rule SplitSum(const char* name, bool joined, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  Scores s;
  Val m("m");
  Dim B("B"), H("H"), S("S"), T("T"), P("P"), Q("Q");
  Val view = Reshape(s.scaled, {.shape = {B, H, S, T}});
  return Rule(name, file, line)
      .Summary(joined ? "batches of scores joined in one axis are split before a sum"
                      : "… also when what is added has no batches")
      .Match(Reshape(Add(s.scaled, m), {.shape = {B, H, S, T}}))
      .Where(IsProductOfActivations(s) && ShapeIs(s.product, {B * H, S, T}))
      .Where(joined ? ShapeIs(m, {B * H, P, Q}) : ShapeIs(m, {1, P, Q}))
      .Replace(Add(view, joined ? Reshape(m, {.shape = {B, H, P, Q}}) : m))
      .Lowers("rank of joined batches");
}

Rule SplitSoftmax() {
  Val x("x");
  Dim B("B"), H("H"), S("S"), T("T");
  return Rule("split-softmax")
      .Summary("batches of probabilities joined in one axis are split before the softmax")
      .Match(Reshape(Softmax(x, {.axis = -1}), {.shape = {B, H, S, T}}))
      .Where(ShapeIs(x, {B * H, S, T}))
      .Replace(Softmax(Reshape(x, {.shape = {B, H, S, T}}), {.axis = -1}))
      .Lowers("rank of joined batches");
}

// The extents of a mask for [A, W, H, S, T] once the first two axes are joined.
Dims JoinWindows(Value mask, DimExpr images, DimExpr windows) {
  const Type type = mask.type();
  auto extent = [&](int64_t from_end) {
    return type.rank() >= from_end ? type.dim(-from_end) : DimExpr::Constant(type.context(), 1);
  };
  return {images * windows, extent(3), extent(2), extent(1)};
}

// Windows: scores [A * W, H, S, T] viewed as [A, W, H, S, T] to add a mask for each window.
Rule WindowMask() {
  Scores s;
  Val m("m");
  Dim A("A"), W("W"), H("H"), S("S"), T("T"), one(1);
  Val view = Reshape(s.sum, {.shape = {A, W, H, S, T}});
  return Rule("scores-of-windows")
      .Summary("a mask for each window is added to scores whose windows are batches")
      .Match(Add(view, m))
      .Where(IsScaledModerately(s) && ShapeIs(s.product, {A * W, H, S, T}))
      .Where(If(
          "the mask has at most five axes",
          [](Value v) { return v.type().is_tensor() && v.type().rank() <= 5; }, m))
      .Replace(Reshape(Add(s.sum, Reshape(Expand(m, {.shape = {A, W, one, one, one}}),
                                          {.shape = Compute(JoinWindows, m, A, W)})),
                       {.shape = {A, W, H, S, T}}))
      .Lowers("masks of windows");
}

// ---- transposed scores
// ---------------------------------------------------------------------------

// The two last axes change places.
bool SwapsLastTwo(const I64s& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  for (int64_t i = 0; i + 2 < rank; ++i) {
    if (perm[static_cast<size_t>(i)] != i) return false;
  }
  return rank >= 2 && perm[static_cast<size_t>(rank - 2)] == rank - 1;
}

bool HaveSameRank(Value a, Value b) {
  return a.type().is_tensor() && b.type().is_tensor() && a.type().rank() == b.type().rank();
}

// Scores of each key for all queries, rows of keys: a softmax over the last axis but one.
Rule SoftmaxOverQueries(const char* name, int rank, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Scores s;
  const ten::TransposeArgs swap =
      rank == 4 ? ten::TransposeArgs{.perm = {0, 1, 3, 2}} : ten::TransposeArgs{.perm = {0, 2, 1}};
  return Rule(name, file, line)
      .Summary(rank == 4 ? "a softmax over the rows of scores is one over the columns of their "
                           "transpose"
                         : "… of three axes")
      .Match(Softmax(s.sum, {.axis = -2}))
      .Where(IsScaledModerately(s) && Rank(s.product, rank))
      .Replace(Transpose(Softmax(Transpose(s.sum, swap), {.axis = -1}), swap))
      .Lowers("softmaxes over the last axis but one");
}

Rule TransposedScale(const char* name, bool divides, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  Scores s;
  Attr<float> c("c");
  Attr<I64s> perm("perm");
  Val swapped = Transpose(s.product, {.perm = perm});
  return Rule(name, file, line)
      .Summary("the transpose of scaled scores is a scale of the transpose")
      .Match(
          Transpose(divides ? Div(s.product, Splat(c)) : Mul(s.product, Splat(c)), {.perm = perm}))
      .Where(IsFloat(s.product) && !IsConstant(s.b) &&
             If("the permutation swaps the last axes", SwapsLastTwo, perm))
      .Replace(divides ? Div(swapped, Splat(c)) : Mul(swapped, Splat(c)))
      .Lowers("operations under transposes of scores");
}

Rule TransposedSum() {
  Scores s;
  Val m("m");
  Attr<I64s> perm("perm");
  return Rule("transposed-sum")
      .Summary("the transpose of a sum of scores and a mask is a sum of transposes")
      .Match(Transpose(Add(s.sum, m), {.perm = perm}))
      .Where(IsScaledModerately(s) && RankAtLeast(s.product, 3) &&
             If("the mask has as many axes", HaveSameRank, s.product, m) &&
             If("the permutation swaps the last axes", SwapsLastTwo, perm))
      .Replace(Add(Transpose(s.sum, {.perm = perm}), Transpose(m, {.perm = perm})))
      .Lowers("operations under transposes of scores");
}

}  // namespace

RuleSet ScoresRules() {
  return {NumberOfNumber(),
          SoftmaxOverQueries("softmax-over-queries", 4),
          SoftmaxOverQueries("softmax-over-queries-joined", 3),
          TransposedScale("transposed-scale", false),
          TransposedScale("transposed-quotient", true),
          TransposedSum(),
          ScaleOfSum("scores-scale-of-sum", false),
          ScaleOfSum("scores-quotient-of-sum", true),
          SubtractedMask(),
          SelectedScores("scores-select", false),
          SelectedScores("scores-select-inverted", true),
          SelectedByProduct(),
          SelectedByTables(),
          ClampedScores(),
          ThirdSum(),
          SecondSumOfWindows(),
          ValuesFirst("scores-values-first", 4),
          ValuesFirst("scores-values-first-joined", 3),
          ZeroedProbabilities(),
          JoinProduct(),
          JoinProductOfOne("join-product-of-first", true),
          JoinProductOfOne("join-product-of-second", false),
          JoinScale("join-scale", false),
          JoinScale("join-quotient", true),
          JoinSum("join-sum", true),
          JoinSum("join-sum-of-one", false),
          JoinSoftmax(),
          SplitProduct(),
          SplitScale("split-scale", false),
          SplitScale("split-quotient", true),
          SplitSum("split-sum", true),
          SplitSum("split-sum-of-one", false),
          SplitSoftmax(),
          WindowMask()};
}

}  // namespace tenon::pattern
