// Transposed scores: rows of keys, with a softmax over the last axis but one.
#include "patterns/canonical/scores_parts.h"

namespace tenon::pattern {
namespace {

// The two last axes change places.
Condition SwapsLastTwo(const Attr<I64s>& perm) {
  return If("the permutation swaps the last axes",
            SwapLast(perm) == IntegersFrom(0, LengthOf(perm)));
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
      // A bias of more axes than the product would leave the transpose too few.
      .Where(IsScaledModerately(s) && Rank(s.product, rank) && Rank(s.sum, rank))
      .Replace(Transpose(Softmax(Transpose(s.sum, swap), {.axis = -1}), swap))
      .Lowers(OpsOf({MeasuredOp("nn.softmax").With("axis", -2)}));
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
      .Where(IsFloat(s.product) && !IsConstant(s.b) && SwapsLastTwo(perm))
      .Replace(divides ? Div(swapped, Splat(c)) : Mul(swapped, Splat(c)))
      .Lowers(OpsBefore({"ten.mul", "ten.div"}, {"ten.transpose"}));
}

Rule TransposedSum() {
  Scores s;
  Val m("m");
  Attr<I64s> perm("perm");
  return Rule("transposed-sum")
      .Summary("the transpose of a sum of scores and a mask is a sum of transposes")
      .Match(Transpose(Add(s.sum, m), {.perm = perm}))
      .Where(IsScaledModerately(s) && RankAtLeast(s.product, 3) &&
             If("the mask has as many axes as the scores", RankOf(s.sum) == RankOf(m)) &&
             SwapsLastTwo(perm))
      .Replace(Add(Transpose(s.sum, {.perm = perm}), Transpose(m, {.perm = perm})))
      .Lowers(OpsBefore({"ten.add"}, {"ten.transpose"}));
}

}  // namespace

RuleSet ScoreTransposeRules() {
  return {SoftmaxOverQueries("softmax-over-queries", 4),
          SoftmaxOverQueries("softmax-over-queries-joined", 3),
          TransposedScale("transposed-scale", false), TransposedScale("transposed-quotient", true),
          TransposedSum()};
}

}  // namespace tenon::pattern
