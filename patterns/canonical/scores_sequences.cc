// Attention whose rows are those of a sequence and then of the batch, as PyTorch's own module
// computes it: [S, B, H * D] is viewed as [S, B * H, D] and transposed. Heads and batches are split
// instead, so that the product has four axes like others.
#include "patterns/canonical/scores_parts.h"

namespace tenon::pattern {
namespace {

struct SequenceFirst {
  Val x{"x"};
  Dim S{"S"}, B{"B"}, H{"H"}, D{"D"};
  Val view = Reshape(x, {.shape = {S, B* H, D}});
  Val batches = Transpose(view, {.perm = {1, 0, 2}});
  // [B, H, S, D]
  Val heads = Transpose(Reshape(x, {.shape = {S, B, H, D}}), {.perm = {1, 2, 0, 3}});
  Condition valid() const { return IsFloat(x) && ShapeIs(x, {S, B, H * D}); }
};

// A factor of a product with three axes: the other one is split by `join-product-of-first` or
// `join-product-of-second`.
Rule SequenceFactor(const char* name, bool first, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  SequenceFirst s;
  Val other("other");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Val split = Reshape(s.heads, {.shape = {s.B * s.H, s.S, s.D}});
  return Rule(name, file, line)
      .Summary(first ? "heads and batches of a factor that is sequence first are split"
                     : "… also of the second factor")
      .Match(Matmul(first ? s.batches : other, first ? other : s.batches,
                    {.transpose_a = ta, .transpose_b = tb}))
      .Where(s.valid() && Rank(other, 3) && !IsConstant(other))
      .Keep(s.view)
      .Keep(s.batches)
      .Replace(Matmul(first ? split : other, first ? other : split,
                      {.transpose_a = ta, .transpose_b = tb}))
      .Lowers(OpsBefore({MeasuredOp("ten.transpose").With("rank", 3)}, {"ten.matmul"}));
}

// Batches that are split behind the transpose, where the product has four axes already.
Rule SequenceHeads() {
  SequenceFirst s;
  return Rule("sequence-heads")
      .Summary("heads and batches of rows that are sequence first are split before the transpose")
      .Match(Reshape(s.batches, {.shape = {s.B, s.H, s.S, s.D}}))
      .Where(s.valid())
      .Keep(s.view)
      .Keep(s.batches)
      .Replace(s.heads)
      .Lowers(OpsBefore({MeasuredOp("ten.transpose").With("rank", 3)}, {"ten.reshape"}));
}

// The result, which goes back to [S, B * H, D].
Rule SequenceResult() {
  Val a("_a"), b("_b");
  Dim S("S"), B("B"), H("H"), D("D");
  Val product = Matmul(a, b, {.transpose_a = kAny, .transpose_b = kAny});
  return Rule("sequence-result")
      .Summary("heads and batches of a product are joined behind the transpose, not before it")
      .Match(Transpose(Reshape(product, {.shape = {B * H, S, D}}), {.perm = {1, 0, 2}}))
      .Where(IsFloat(product) && ShapeIs(product, {B, H, S, D}))
      .Replace(Reshape(Transpose(product, {.perm = {2, 0, 1, 3}}), {.shape = {S, B * H, D}}))
      .Lowers(OpsBefore({"ten.reshape"}, {"ten.transpose"}));
}

// A number between two views: [B * H, S, D] is scaled and then split.
Rule ScaledView(const char* name, bool first, bool divides, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Val x("x"), other("other");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Attr<float> c("c");
  Attr<Dims> shape("shape");
  Val scaled = divides ? Div(x, Splat(c)) : Mul(x, Splat(c));
  Val view = Reshape(scaled, {.shape = shape}), before = Reshape(x, {.shape = shape});
  Val after = divides ? Div(before, Splat(c)) : Mul(before, Splat(c));
  return Rule(name, file, line)
      .Summary(!first    ? "… also of the second factor"
               : divides ? "a view of a factor is taken before its quotient by a number"
                         : "a view of a factor is taken before its product with a number")
      .Match(Matmul(first ? view : other, first ? other : view,
                    {.transpose_a = ta, .transpose_b = tb}))
      .Where(IsFloat(x) && !IsConstant(x) && !IsConstant(other) &&
             If("the factor is no product itself", !(OpOf(x) == "ten.matmul")))
      .Keep(scaled)
      .Keep(view)
      .Replace(Matmul(first ? after : other, first ? other : after,
                      {.transpose_a = ta, .transpose_b = tb}))
      .Lowers(OpsBefore({"ten.mul", "ten.div"}, {"ten.reshape"}));
}

}  // namespace

RuleSet ScoreSequenceRules() {
  return {SequenceFactor("sequence-factor", true),
          SequenceFactor("sequence-second-factor", false),
          SequenceHeads(),
          SequenceResult(),
          ScaledView("view-of-scaled-factor", true, false),
          ScaledView("view-of-divided-factor", true, true),
          ScaledView("view-of-scaled-second-factor", false, false),
          ScaledView("view-of-divided-second-factor", false, true)};
}

}  // namespace tenon::pattern
