// Views between the product of scores and their softmax, which join or split axes of batches.
#include "patterns/canonical/scores_parts.h"

namespace tenon::pattern {
namespace {

// A view of [B * H, S, T] as [B, H, S, T], taken of the factors instead.
Rule SplitProduct() {
  Val a("a"), b("b");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Dim B("B"), H("H"), S("S"), T("T"), P("P"), Q("Q"), U("U"), V("V");
  Val product = Matmul(a, b, {.transpose_a = ta, .transpose_b = tb});
  return Rule("split-product")
      .Summary("batches of a product joined in one axis are split before it")
      .Match(Reshape(product, {.shape = {B, H, S, T}}))
      .Where(ShapeIs(a, {B * H, P, Q}) && ShapeIs(b, {B * H, U, V}))
      .Where(ShapeIs(product, {B * H, S, T}))
      .Where(!IsConstant(b))
      .Replace(Matmul(Reshape(a, {.shape = {B, H, P, Q}}), Reshape(b, {.shape = {B, H, U, V}}),
                      {.transpose_a = ta, .transpose_b = tb}))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.reshape"}));
}

// A view of [1, H, S, D] as [H, S, D] with any number of H joins nothing: these are no heads of one
// batch.
Condition JoinsHeads(const Dim& batches, const Dim& heads) {
  return If("the view joins heads with batches",
            Condition(IsFixed(heads)) || IsNotNumber(batches, 1));
}

// Of factors [batches, p, q] and [batches, u, v].
Term ProductShape(const Attr<bool>& transpose_a, const Attr<bool>& transpose_b, const Dim& batches,
                  const Dim& p, const Dim& q, const Dim& u, const Dim& v) {
  return ListOf({batches, Choose(transpose_a, q, p), Choose(transpose_b, u, v)});
}

// Views of split heads as batches [B * H, S, D], made before the product: made after it instead.
Rule JoinProduct() {
  Val a("a"), b("b");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Dim B("B"), H("H"), P("P"), Q("Q"), U("U"), V("V");
  Val product = Matmul(a, b, {.transpose_a = ta, .transpose_b = tb});
  return Rule("join-product")
      .Summary("a product of views that join two axes of batches is the view of a product")
      .Match(Matmul(Reshape(a, {.shape = {B * H, P, Q}}), Reshape(b, {.shape = {B * H, U, V}}),
                    {.transpose_a = ta, .transpose_b = tb}))
      .MayCoincide()
      .Where(ShapeIs(a, {B, H, P, AnyDim()}) && ShapeIs(b, {B, H, U, AnyDim()}) && IsFloat(a))
      .Where(JoinsHeads(B, H))
      .Replace(Reshape(product, {.shape = ProductShape(ta, tb, B * H, P, Q, U, V)}))
      .Lowers(OpsBefore({"ten.reshape"}, {"ten.matmul"}));
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
  return Rule(name, file, line)
      .Summary(first ? "… also when only its first factor is such a view"
                     : "… also when only its second factor is such a view")
      .Match(Matmul(first ? joined(a, P, Q) : a, first ? b : joined(b, U, V),
                    {.transpose_a = ta, .transpose_b = tb}))
      .Where(first ? ShapeIs(a, {B, H, P, AnyDim()}) && ShapeIs(b, {B * H, U, V})
                   : ShapeIs(b, {B, H, U, AnyDim()}) && ShapeIs(a, {B * H, P, Q}))
      .Where(IsFloat(a) && !IsConstant(first ? b : a) && JoinsHeads(B, H))
      .Replace(Reshape(product, {.shape = ProductShape(ta, tb, B * H, P, Q, U, V)}))
      .Lowers(OpsBefore({MeasuredOp("ten.reshape").With("rank", 3)}, {"ten.matmul"}));
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
      .Lowers(OpsBefore({"ten.reshape"}, {"ten.mul", "ten.div"}));
}

// Scores of the extent 1 broadcast to what is added: the sum has other extents than they have.
Condition IsNoLarger(const Dim& added, const Dim& scores) {
  return If("what is added is no larger than the scores",
            Condition(IsNotNumber(scores, 1)) || Compare(added, "==", 1));
}

// What is added to scores of joined batches: something for each of them, for all, or a matrix.
enum class Summand { kJoined, kOne, kMatrix };

const char* WordsOf(Summand kind, const char* joined) {
  return kind == Summand::kJoined ? joined
         : kind == Summand::kOne  ? "… also when what is added has no batches"
                                  : "… also when what is added is a matrix";
}

Condition HasShapeOf(Summand kind, const Val& m, const Dim& batches, const Dim& rows,
                     const Dim& columns) {
  return kind == Summand::kJoined ? ShapeIs(m, {batches, rows, columns})
         : kind == Summand::kOne  ? ShapeIs(m, {1, rows, columns})
                                  : ShapeIs(m, {rows, columns});
}

Rule JoinSum(const char* name, Summand kind, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  const bool joined = kind == Summand::kJoined;
  Scores s;
  Val m("m");
  Dim B("B"), H("H"), S("S"), T("T"), P("P"), Q("Q");
  return Rule(name, file, line)
      .Summary(
          WordsOf(kind, "a sum with a view of scores that joins two axes is the view of a sum"))
      .Match(Add(Reshape(s.scaled, {.shape = {B * H, S, T}}), m))
      .Where(IsScaledModerately(s) && ShapeIs(s.product, {B, H, S, T}))
      .Where(HasShapeOf(kind, m, B * H, P, Q))
      .Where(IsNoLarger(P, S) && IsNoLarger(Q, T))
      .Replace(Reshape(Add(s.scaled, joined ? Reshape(m, {.shape = {B, H, P, Q}}) : m),
                       {.shape = {B * H, S, T}}))
      .Lowers(OpsBefore({MeasuredOp("ten.reshape").With("rank", 3)}, {"ten.add"}));
}

Rule JoinSoftmax() {
  Val x("x");
  Dim B("B"), H("H"), S("S"), T("T");
  return Rule("join-softmax")
      .Summary("the softmax of a view that joins two axes of batches is the view of the softmax")
      .Match(Softmax(Reshape(x, {.shape = {B * H, S, T}}), {.axis = -1}))
      .Where(ShapeIs(x, {B, H, S, AnyDim()}))
      .Replace(Reshape(Softmax(x, {.axis = -1}), {.shape = {B * H, S, T}}))
      .Lowers(OpsBefore({"ten.reshape"}, {"nn.softmax"}));
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
      .Lowers(OpsBefore({"ten.mul", "ten.div"}, {"ten.reshape"}));
}

Rule SplitSum(const char* name, Summand kind, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  const bool joined = kind == Summand::kJoined;
  Scores s;
  Val m("m");
  Dim B("B"), H("H"), S("S"), T("T"), P("P"), Q("Q");
  Val view = Reshape(s.scaled, {.shape = {B, H, S, T}});
  return Rule(name, file, line)
      .Summary(WordsOf(kind, "batches of scores joined in one axis are split before a sum"))
      .Match(Reshape(Add(s.scaled, m), {.shape = {B, H, S, T}}))
      .Where(IsProductOfActivations(s) && ShapeIs(s.product, {B * H, S, T}))
      .Where(HasShapeOf(kind, m, B * H, P, Q))
      .Replace(Add(view, joined ? Reshape(m, {.shape = {B, H, P, Q}}) : m))
      .Lowers(OpsBefore({"ten.add"}, {"ten.reshape"}));
}

Rule SplitSoftmax() {
  Val x("x");
  Dim B("B"), H("H"), S("S"), T("T");
  return Rule("split-softmax")
      .Summary("batches of probabilities joined in one axis are split before the softmax")
      .Match(Reshape(Softmax(x, {.axis = -1}), {.shape = {B, H, S, T}}))
      .Where(ShapeIs(x, {B * H, S, T}))
      .Replace(Softmax(Reshape(x, {.shape = {B, H, S, T}}), {.axis = -1}))
      .Lowers(OpsBefore({"nn.softmax"}, {"ten.reshape"}));
}

// The extents of a mask for [A, W, H, S, T] once the first two axes are joined.
Term JoinWindows(const Val& mask, const Dim& images, const Dim& windows) {
  return ListOf({images * windows, Spread(Drop(Padded(ShapeOf(mask), 5), 2))});
}

// Windows: scores [A * W, H, S, T] viewed as [A, W, H, S, T] to add a mask for each window.
Rule WindowMask() {
  Scores s;
  Val m("m");
  Dim A("A"), W("W"), H("H"), S("S"), T("T"), one(1);
  Val view = Reshape(s.sum, {.shape = {A, W, H, S, T}}), sum = Add(view, m);
  return Rule("scores-of-windows")
      .Summary("a mask for each window is added to scores whose windows are batches")
      .Match(sum)
      .Where(IsScaledModerately(s) && ShapeIs(s.product, {A * W, H, S, T}))
      .Where(ShapeIs(sum, {A, W, H, S, T}))
      .Where(If("the mask has at most five axes", RankOf(m) <= 5))
      .Replace(Reshape(Add(s.sum, Reshape(Expand(m, {.shape = {A, W, one, one, one}}),
                                          {.shape = JoinWindows(m, A, W)})),
                       {.shape = {A, W, H, S, T}}))
      .Lowers(OpsBefore({MeasuredOp("ten.reshape").With("rank", 5)}, {"ten.add"}));
}

}  // namespace

RuleSet ScoreViewRules() {
  return {JoinProduct(),
          JoinProductOfOne("join-product-of-first", true),
          JoinProductOfOne("join-product-of-second", false),
          JoinScale("join-scale", false),
          JoinScale("join-quotient", true),
          JoinSum("join-sum", Summand::kJoined),
          JoinSum("join-sum-of-one", Summand::kOne),
          JoinSum("join-sum-of-matrix", Summand::kMatrix),
          JoinSoftmax(),
          SplitProduct(),
          SplitScale("split-scale", false),
          SplitScale("split-quotient", true),
          SplitSum("split-sum", Summand::kJoined),
          SplitSum("split-sum-of-one", Summand::kOne),
          SplitSum("split-sum-of-matrix", Summand::kMatrix),
          SplitSoftmax(),
          WindowMask()};
}

}  // namespace tenon::pattern
