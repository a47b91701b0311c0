// Attention whose batches are not those of one axis: blocks, as many as the sequence has, and
// operands whose batches or rows broadcast. Tried where the rules for a batch and heads do not
// match.
#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// Three axes of batches as one, each with a single head.
Term OneHead(const Val& v) {
  return ListOf({ExtentOf(v, 0) * ExtentOf(v, 1) * ExtentOf(v, 2), 1, Spread(Drop(ShapeOf(v), 3))});
}

// The same of a mask that has been expanded to these batches.
Term MaskOfOneHead(const Val& mask, const Dim& batches, const Dim& heads, const Dim& blocks) {
  return ListOf({batches * heads * blocks, 1, Spread(Drop(Padded(ShapeOf(mask), 5), 3))});
}

}  // namespace

// Attention in blocks of rows, [B, H, N, L, D], where N depends on the sequence and is no number of
// heads.
Rule AttentionOfBlocks(const char* name, bool with_mask, const char* file, int line) {
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tk("transposed_k");
  Attr<float> scale("scale");
  Dim B("B"), H("H"), N("N");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));
  Val masked = with_mask ? Add(scores, x.mask) : scores;
  Val result = Matmul(Probabilities(masked, guard), x.v);
  auto joined = [](const Val& v) { return Reshape(v, {.shape = OneHead(v)}); };
  fused::AttentionArgs args = {.num_heads = 1,
                               .kv_num_heads = 1,
                               .scale = scale,
                               .q_layout = "bhsd",
                               .k_layout = KeyLayout(tk),
                               .v_layout = "bhsd",
                               .out_layout = "bhsd",
                               .zero_nan_rows = guard};
  Val q = joined(x.q), k = joined(x.k), v = joined(x.v);
  Val mask = Reshape(Expand(x.mask, {.shape = {B, H, N, 1, 1}}),
                     {.shape = MaskOfOneHead(x.mask, B, H, N)});
  Condition fits = ShapeIs(x.q, {B, H, N, AnyDim(), AnyDim()}) &&
                   ShapeIs(x.k, {B, H, N, AnyDim(), AnyDim()}) &&
                   ShapeIs(x.v, {B, H, N, AnyDim(), AnyDim()});
  if (with_mask) {
    fits = fits && MaskFits(masked, product, x.v) &&
           If("the mask has at most five axes", RankOf(x.mask) <= 5);
  }
  return Rule(name, file, line)
      .Summary(with_mask ? "… with a mask" : "attention in blocks, as many as the sequence has")
      .Match(result)
      .Where(fits)
      .Replace(Reshape(with_mask ? fused::Attention(q, k, v, mask, {}, {}, args)
                                 : fused::Attention(q, k, v, {}, {}, {}, args),
                       {.shape = ShapeOf(result)}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

namespace {

// The batches of the scores, and for queries their rows, with the other axes of an operand.
Term WithBatchesOf(const Val& scores, const Val& operand) {
  return ListOf({ExtentOf(scores, 0), Spread(Drop(ShapeOf(operand), 1))});
}
// … and as many keys as there are values, which is how many columns the scores have, as the program
// is wrong otherwise. Transposed keys are [B, H, keys, D].
Term WithKeysFor(const Val& scores, const Val& k, const Val& v, const Attr<bool>& transposed) {
  const Term keys = ExtentOf(v, 2);
  return ListOf({ExtentOf(scores, 0), ExtentOf(k, 1), Choose(transposed, keys, ExtentOf(k, 2)),
                 Choose(transposed, ExtentOf(k, 3), keys)});
}
Term WithRowsOf(const Val& scores, const Val& q) {
  return ListOf({ExtentOf(scores, 0), ExtentOf(q, 1), ExtentOf(scores, 2), ExtentOf(q, 3)});
}

Condition BroadcastTo(const Term& wide, const Term& own) { return wide == BroadcastOf(wide, own); }

// Conditions on values are looked at before the shapes that the rule asks for.
Condition ScoresBroadcast(const Val& scores, const Val& q, const Val& k, const Val& v) {
  const Term batches = ExtentOf(scores, 0);
  return If("the operands broadcast to the scores",
            RankOf(scores) == 4 && RankOf(q) == 4 && RankOf(k) == 4 && RankOf(v) == 4 &&
                BroadcastTo(batches, ExtentOf(q, 0)) && BroadcastTo(batches, ExtentOf(k, 0)) &&
                BroadcastTo(batches, ExtentOf(v, 0)) &&
                BroadcastTo(ExtentOf(scores, 2), ExtentOf(q, 2)));
}

// Products with keys or values that are the same for all batches read them once. Widened, they
// would be copied for each.
Condition HasBatchesOf(const char* words, const Val& scores, const Val& x) {
  return If(words, RankOf(x) == 4 && (IsNotNumber(ExtentOf(x, 0), 1) || ExtentOf(scores, 0) == 1));
}

}  // namespace

// Operands of batches that are only known to fit: two names, or one batch of queries for all. The
// same of rows and keys: a mask may have more than the queries, or than the keys, whose number may
// have another name than that of the values.
Rule AttentionOfBroadcastBatches() {
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tk("transposed_k");
  Dim H("H"), G("G");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  MaskedScores s(product, x);
  Val k = Expand(x.k, {.shape = WithKeysFor(s.masked, x.k, x.v, tk)});
  Val v = Expand(x.v, {.shape = WithBatchesOf(s.masked, x.v)});
  Val q = Expand(x.q, {.shape = WithRowsOf(s.masked, x.q)});
  return Rule("attention-of-broadcast-batches")
      .Summary(
          "attention whose queries, keys, values and masks have batches, rows or keys that "
          "broadcast")
      .Match(Matmul(Probabilities(s.masked, guard), x.v))
      .Where(ShapeIs(product, {AnyDim(), H, AnyDim(), AnyDim()}) &&
             ShapeIs(s.masked, {AnyDim(), H, AnyDim(), AnyDim()}) &&
             ShapeIs(x.q, {AnyDim(), H, AnyDim(), AnyDim()}) &&
             ShapeIs(x.k, {AnyDim(), G, AnyDim(), AnyDim()}) &&
             ShapeIs(x.v, {AnyDim(), G, AnyDim(), AnyDim()}))
      .Where(ScoresBroadcast(s.masked, x.q, x.k, x.v) &&
             HasBatchesOf("keys have the batches of the scores", s.masked, x.k) &&
             HasBatchesOf("values have the batches of the scores", s.masked, x.v) &&
             HeadsBroadcast(H, G))
      .Replace(fused::Attention(q, k, v, x.mask, x.bias, {},
                                {.num_heads = H,
                                 .kv_num_heads = G,
                                 .scale = s.scale,
                                 .q_layout = "bhsd",
                                 .k_layout = KeyLayout(tk),
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd",
                                 .zero_nan_rows = guard,
                                 .softcap = s.softcap}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// What the rule above puts on the keys stands behind what is done to them there. It goes before,
// so that attention absorbs these: a scale, …
Rule WidenedScaleOfK() {
  AttentionAttrs a;
  AttentionVals x;
  Attr<float> factor("factor");
  Attr<Dims> shape("shape");
  Val scaled = TimesNumber(x.k, factor);
  Val k = Expand(scaled, {.shape = shape});
  fused::AttentionArgs made = a.args();
  made.scale = ProductHeldByAttribute(a.scale, factor);
  return Rule("attention-widened-scale-k")
      .Summary("a scale on keys that are made as many as the values is one on the scores")
      .Match(
          fused::Attention(x.q, k, x.v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), a.args()))
      .Where(IsModerateScale("the factor is a moderate number", factor))
      .Keep(scaled)
      .Keep(k)
      .Replace(fused::Attention(x.q, Expand(x.k, {.shape = shape}), x.v, x.mask, x.bias, x.key_mask,
                                made))
      .Lowers(OpsBefore({"ten.mul", "ten.div"}, {"fused.attention"}));
}

// … and heads that are repeated for groups of queries.
Rule WidenedRepeatedHeads() {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), G("G"), R("R"), T("T"), U("U"), D("D"), E("E");
  fused::AttentionArgs match = a.args(), made = a.args();
  match.k_layout = match.v_layout = made.k_layout = made.v_layout = "bhsd";
  match.kv_num_heads = kAny;
  made.kv_num_heads = G;
  Val repeated_k = Expand(x.k, {.shape = kAny}), repeated_v = Expand(x.v, {.shape = kAny});
  Val heads_k = Reshape(repeated_k, {.shape = {B, G * R, T, D}});
  Val k = Expand(heads_k, {.shape = kAny});
  Val v = Reshape(repeated_v, {.shape = {B, G * R, U, E}});
  return Rule("attention-widened-repeated-heads")
      .Summary("repeated heads of keys that are made as many as the values are shared")
      .Match(fused::Attention(x.q, k, v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), match))
      .Keep(repeated_k)
      .Keep(repeated_v)
      .Keep(heads_k)
      .Keep(k)
      .Keep(v)
      .MayCoincide({repeated_k, repeated_v})
      .MayCoincide({heads_k, v})
      .Where(ShapeIs(x.k, {B, G, 1, T, D}) && ShapeIs(repeated_k, {B, G, R, T, D}) &&
             ShapeIs(k, {B, G * R, AnyDim(), D}) && ShapeIs(x.v, {B, G, 1, U, E}) &&
             ShapeIs(repeated_v, {B, G, R, U, E}))
      .Replace(fused::Attention(
          x.q, Expand(Reshape(x.k, {.shape = {B, G, T, D}}), {.shape = {B, G, U, D}}),
          Reshape(x.v, {.shape = {B, G, U, E}}), x.mask, x.bias, x.key_mask, made))
      .Lowers(OpsBefore({"ten.expand"}, {"fused.attention"}));
}

}  // namespace tenon::pattern
