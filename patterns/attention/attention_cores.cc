// What attention is computed from: scores, softmax and weighted sum, over split heads, in all
// spellings, become fused.attention. They rely on `canonicalize` and on the family `scores`:
// transposes feeding a product are flags of it, masks are added after the scale.
#include "ir/core/operation.h"
#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

Term SwapIf(const Attr<bool>& swaps) {
  return Choose(swaps, ListOf({0, 1, 3, 2}), ListOf({0, 1, 2, 3}));
}

// softmax(q · k^T * scale + bias + mask) · v with the heads split. Queries and values that are
// stored transposed are transposed first.
Rule AttentionCore() {
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tq("transposed_q"), tk("transposed_k"), tv("transposed_v");
  Dim B("B"), H("H"), G("G"), S("S"), T("T");
  Val product = Matmul(x.q, x.k, {.transpose_a = tq, .transpose_b = tk}).As("q k^T");
  MaskedScores s(product, x);
  return Rule("attention")
      .Summary("softmax(q k^T * scale + bias + mask) v")
      .Match(Matmul(Probabilities(s.masked, guard), x.v, {.transpose_b = tv}))
      .Where(ShapeIs(product, {B, H, S, T}) && ShapeIs(x.q, {B, H, AnyDim(), AnyDim()}) &&
             ShapeIs(x.k, {B, G, AnyDim(), AnyDim()}) && ShapeIs(x.v, {B, G, AnyDim(), AnyDim()}))
      .Where(HeadsBroadcast(H, G) && MaskFits(s.masked, product, x.v, tv))
      .Replace(fused::Attention(Transpose(x.q, {.perm = SwapIf(tq)}), x.k,
                                Transpose(x.v, {.perm = SwapIf(tv)}), x.mask, x.bias, {},
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

// The same where hidden keys get a number for a score, before a bias is added or after.
enum class Replaces { kProducts, kSums };

Rule AttentionOfReplacedScores(const char* name, Replaces replaces, bool inverted,
                               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const bool sums = replaces == Replaces::kSums;
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tk("transposed_k");
  Attr<float> low("mask_value");
  Dim B("B"), H("H"), G("G"), S("S"), T("T");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  MaskedScores s(product, x);
  Val kept = sums ? Add(s.scores, x.bias) : s.scores;
  Val chosen =
      inverted ? ten::Where(x.mask, Splat(low), kept) : ten::Where(x.mask, kept, Splat(low));
  Val masked = (sums ? chosen : AnyOf(Add(chosen, x.bias), chosen)).As("masked scores");
  return Rule(name, file, line)
      .Summary(sums       ? inverted ? "softmax(where(hide, number, q k^T * scale + bias)) v"
                                     : "softmax(where(keep, q k^T * scale + bias, number)) v"
               : inverted ? "softmax(where(hide, number, q k^T * scale) + bias) v"
                          : "softmax(where(keep, q k^T * scale, number) + bias) v")
      .Match(Matmul(Probabilities(masked, guard), x.v))
      .Where(ShapeIs(product, {B, H, S, T}) && ShapeIs(x.q, {B, H, AnyDim(), AnyDim()}) &&
             ShapeIs(x.k, {B, G, AnyDim(), AnyDim()}) && ShapeIs(x.v, {B, G, AnyDim(), AnyDim()}))
      .Where(HeadsBroadcast(H, G) && MaskFits(masked, product, x.v))
      .Replace(fused::Attention(x.q, x.k, x.v, inverted ? Val(Not(x.mask)) : x.mask, x.bias, {},
                                {.num_heads = H,
                                 .kv_num_heads = G,
                                 .scale = s.scale,
                                 .q_layout = "bhsd",
                                 .k_layout = KeyLayout(tk),
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd",
                                 .mask_value = low,
                                 .mask_replaces = true,
                                 .mask_last = sums,
                                 .zero_nan_rows = guard,
                                 .softcap = s.softcap}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// The same where hidden keys get the score -inf, whatever score or bias they had: the boolean mask
// of the op does so too. A mask that is added would make NaN of an infinite score. What `zeroed`
// sets to zero are the probabilities of hidden keys, which are zero by themselves but in rows
// without any other.
enum class Selects { kKept, kHidden, kHiddenZeroed };

Rule AttentionOfSelectedScores(const char* name, Selects selects,
                               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const bool zeroed = selects == Selects::kHiddenZeroed, inverted = selects != Selects::kKept;
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tq("transposed_q"), tk("transposed_k"), tv("transposed_v");
  Dim B("B"), H("H"), G("G"), S("S"), T("T");
  Val product = Matmul(x.q, x.k, {.transpose_a = tq, .transpose_b = tk}).As("q k^T");
  MaskedScores s(product, x);
  Val low = Splat(-kInfinity), sum = AnyOf(Add(s.scores, x.bias), s.scores);
  Val masked = (inverted ? ten::Where(x.mask, low, sum) : ten::Where(x.mask, sum, low));
  Val weights = zeroed ? ten::Where(x.mask, Splat(0), Softmax(masked, {.axis = -1}))
                       : Probabilities(masked, guard);
  fused::AttentionArgs args = {.num_heads = H,
                               .kv_num_heads = G,
                               .scale = s.scale,
                               .q_layout = "bhsd",
                               .k_layout = KeyLayout(tk),
                               .v_layout = "bhsd",
                               .out_layout = "bhsd",
                               .nan_guard = zeroed,
                               .softcap = s.softcap};
  if (!zeroed) args.zero_nan_rows = guard;
  Rule rule =
      Rule(name, file, line)
          .Summary(zeroed     ? "where(hide, 0, softmax(where(hide, -inf, q k^T * scale + bias))) v"
                   : inverted ? "softmax(where(hide, -inf, q k^T * scale + bias)) v"
                              : "softmax(where(keep, q k^T * scale + bias, -inf)) v")
          .Match(Matmul(weights, x.v, {.transpose_b = tv}))
          .Where(ShapeIs(product, {B, H, S, T}) && ShapeIs(x.q, {B, H, AnyDim(), AnyDim()}) &&
                 ShapeIs(x.k, {B, G, AnyDim(), AnyDim()}) &&
                 ShapeIs(x.v, {B, G, AnyDim(), AnyDim()}))
          .Where(HeadsBroadcast(H, G) && MaskFits(masked, product, x.v, tv));
  if (zeroed) {
    rule = std::move(rule).IgnoresInfinity(
        IsBounded("the scores are bounded, whatever the inputs hold", sum) &&
        AreFinite("no value is infinite or NaN, whatever the inputs hold", x.v));
  }
  return std::move(rule)
      .Replace(fused::Attention(Transpose(x.q, {.perm = SwapIf(tq)}), x.k,
                                Transpose(x.v, {.perm = SwapIf(tv)}),
                                inverted ? Val(Not(x.mask)) : x.mask, x.bias, {}, args))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// The same with one head and batches of any kind in the first axis: [N, S, D]. Tried after the
// views of split heads have been moved away. Images are [N, D, S]: queries, keys and values may be
// stored transposed.
Rule AttentionOfOneHead(const char* name, int mask_rank, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tq("transposed_q"), tk("transposed_k"), tv("transposed_v");
  Dim N("N"), S("S"), T("T"), M("M"), P("P"), Q("Q");
  Val product = Matmul(x.q, x.k, {.transpose_a = tq, .transpose_b = tk}).As("q k^T");
  Attr<float> scale("scale");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));
  Val masked = mask_rank == 0 ? scores : Add(scores, x.mask);
  Val mask = mask_rank == 3 ? Reshape(x.mask, {.shape = {M, 1, P, Q}}) : x.mask;
  const auto swapped = [](const Val& v, const Term& swaps) {
    return Transpose(v, {.perm = Choose(swaps, ListOf({0, 2, 1}), ListOf({0, 1, 2}))});
  };
  Val queries = swapped(x.q, tq), keys = swapped(x.k, !Term(tk)), values = swapped(x.v, tv);
  fused::AttentionArgs args = {
      .num_heads = 1, .kv_num_heads = 1, .scale = scale, .zero_nan_rows = guard};
  Condition fits = ShapeIs(product, {N, S, T}) && ShapeIs(x.q, {N, AnyDim(), AnyDim()}) &&
                   ShapeIs(x.k, {N, AnyDim(), AnyDim()}) && ShapeIs(x.v, {N, AnyDim(), AnyDim()});
  if (mask_rank == 3) fits = fits && ShapeIs(x.mask, {M, P, Q});
  if (mask_rank == 2) fits = fits && Rank(x.mask, 2);
  if (mask_rank > 0) {
    fits = fits && MaskFits(masked, product, x.v, tv);
  }
  return Rule(name, file, line)
      .Summary(mask_rank == 0   ? "attention of 3-D operands is one of a single head"
               : mask_rank == 3 ? "… with a mask for each batch"
                                : "… with one mask")
      .Match(Matmul(Probabilities(masked, guard), x.v, {.transpose_b = tv}))
      .Where(fits)
      .Replace(mask_rank == 0 ? fused::Attention(queries, keys, values, {}, {}, {}, args)
                              : fused::Attention(queries, keys, values, mask, {}, {}, args))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// What broadcasts to [A, W, H, S, T] as something that broadcasts to [A * W, H, S, T]: the same for
// all, or one for each.
Term SharedShape(const Val& mask) {
  const Term shape = Padded(ShapeOf(mask), 5);
  return Choose(Compare(Take(shape, 2), "==", ListOf({1, 1})), ListOf({1, Spread(Drop(shape, 2))}));
}

Term JoinedShape(const Val& mask, const Dim& images, const Dim& windows) {
  return ListOf({images * windows, Spread(Drop(Padded(ShapeOf(mask), 5), 2))});
}

Term JoinFirst(const Val& v) {
  return ListOf({ExtentOf(v, 0) * ExtentOf(v, 1), Spread(Drop(ShapeOf(v), 2))});
}

enum class WindowMask { kNone, kShared, kEach };

// Attention with two axes of batches: windows of images, or groups of heads that share keys.
Rule AttentionOfWindows(const char* name, WindowMask kind, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  AttentionVals x;
  Attr<bool> guard("zero_nan_rows"), tk("transposed_k");
  Attr<float> scale("scale");
  Dim A("A"), W("W"), H("H"), G("G");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));
  Val masked = kind == WindowMask::kNone ? scores : Add(scores, x.mask);
  Val result = Matmul(Probabilities(masked, guard), x.v);
  auto joined = [](const Val& v) { return Reshape(v, {.shape = JoinFirst(v)}); };
  fused::AttentionArgs args = {.num_heads = H,
                               .kv_num_heads = G,
                               .scale = scale,
                               .q_layout = "bhsd",
                               .k_layout = KeyLayout(tk),
                               .v_layout = "bhsd",
                               .out_layout = "bhsd",
                               .zero_nan_rows = guard};
  Val q = joined(x.q), k = joined(x.k), v = joined(x.v);
  Val shared = Reshape(x.mask, {.shape = SharedShape(x.mask)});
  Val each =
      Reshape(Expand(x.mask, {.shape = {A, W, 1, 1, 1}}), {.shape = JoinedShape(x.mask, A, W)});
  Val made = kind == WindowMask::kNone     ? fused::Attention(q, k, v, {}, {}, {}, args)
             : kind == WindowMask::kShared ? fused::Attention(q, k, v, shared, {}, {}, args)
                                           : fused::Attention(q, k, v, each, {}, {}, args);
  Condition fits = ShapeIs(x.q, {A, W, H, AnyDim(), AnyDim()}) &&
                   ShapeIs(x.k, {A, W, G, AnyDim(), AnyDim()}) &&
                   ShapeIs(x.v, {A, W, G, AnyDim(), AnyDim()}) && HeadsBroadcast(H, G);
  if (kind != WindowMask::kNone) {
    fits = fits && MaskFits(masked, product, x.v);
  }
  return Rule(name, file, line)
      .Summary(kind == WindowMask::kNone     ? "attention with two axes of batches"
               : kind == WindowMask::kShared ? "… with one mask"
                                             : "… with a mask for each batch")
      .Match(result)
      .Where(fits)
      .Replace(Reshape(made, {.shape = ShapeOf(result)}))
      .Lowers(OpsOf({"ten.matmul"}))
      .RequireKernel();
}

// The scale of ONNX's attention: 0 stands for that of the head size.
Term ScaleOf(const Attr<float>& scale, const Term& head) {
  return Choose(Compare(scale, "!=", 0), scale, 1.0 / SqrtOf(head));
}

// Which keys ONNX's attention lets a query see.
enum class Causality { kNone, kSquare, kPast };

// ONNX's attention over split heads. Its causal mask starts in the upper left corner, or behind the
// past keys; ours ends in the lower right one: they agree when there are as many keys as queries,
// or when the keys before them are the past.
Rule AttentionOfOnnx(const char* name, Causality causality, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  const bool causal = causality != Causality::kNone, past = causality == Causality::kPast;
  AttentionVals x;
  Dim B("B"), H("H"), G("G"), S("S"), T("T"), D("D"), P("P");
  Attr<float> scale("scale"), softcap("softcap");
  const Dim& keys = causality == Causality::kSquare ? S : T;
  nn::AttentionArgs args = {.q_num_heads = kAny,
                            .kv_num_heads = kAny,
                            .scale = scale,
                            .is_causal = causal,
                            .softcap = softcap};
  if (past) args.causal_offset = {P};
  Rule rule =
      Rule(name, file, line)
          .Summary(past     ? "causal attention of 4-D operands behind past keys as ONNX defines it"
                   : causal ? "causal attention of 4-D operands as ONNX defines it"
                            : "attention of 4-D operands as ONNX defines it")
          .Match(nn::Attention(x.q, x.k, x.v, Maybe(x.mask), args))
          .Where(ShapeIs(x.q, {B, H, S, D}) && ShapeIs(x.k, {B, G, keys, D}) &&
                 ShapeIs(x.v, {B, G, keys, AnyDim()}))
          .Where(If("the head size is a number", IsFixed(D)));
  if (past) {
    rule = std::move(rule).Where(
        If("the keys before those of the queries are the past ones", Compare(T - S, "==", P)));
  }
  return std::move(rule)
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, {}, {},
                                {.num_heads = H,
                                 .kv_num_heads = G,
                                 .scale = ScaleOf(scale, D),
                                 .q_layout = "bhsd",
                                 .k_layout = "bhsd",
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd",
                                 .causal = causal,
                                 .nan_guard = true,
                                 .softcap = softcap}))
      .Lowers(OpsOf({"nn.attention"}))
      .RequireKernel();
}

// ONNX's attention over joined heads; causal where there are as many keys as queries.
Rule AttentionOfOnnxJoined(const char* name, bool causal, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  AttentionVals x;
  Dim B("B"), S("S"), T("T"), E("E");
  Attr<float> scale("scale"), softcap("softcap");
  const Dim& keys = causal ? S : T;
  Attr<int64_t> heads("heads"), kv_heads("kv_heads");
  return Rule(name, file, line)
      .Summary(causal ? "causal attention of 3-D operands as ONNX defines it"
                      : "attention of 3-D operands as ONNX defines it")
      .Match(nn::Attention(x.q, x.k, x.v, Maybe(x.mask),
                           {.q_num_heads = heads,
                            .kv_num_heads = kv_heads,
                            .scale = scale,
                            .is_causal = causal,
                            .softcap = softcap}))
      .Where(ShapeIs(x.q, {B, S, E}) && ShapeIs(x.k, {B, keys, AnyDim()}) &&
             ShapeIs(x.v, {B, keys, AnyDim()}))
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, {}, {},
                                {.num_heads = heads,
                                 .kv_num_heads = kv_heads,
                                 .scale = ScaleOf(scale, E / heads),
                                 .causal = causal,
                                 .nan_guard = true,
                                 .softcap = softcap}))
      .Lowers(OpsOf({"nn.attention"}))
      .RequireKernel();
}

}  // namespace

RuleSet AttentionCoreRules() {
  return {
      AttentionCore(),
      AttentionOfWindows("attention-of-windows", WindowMask::kNone),
      AttentionOfWindows("attention-of-windows-one-mask", WindowMask::kShared),
      AttentionOfWindows("attention-of-windows-masked", WindowMask::kEach),
      AttentionOfSelectedScores("attention-of-selected-scores", Selects::kKept),
      AttentionOfSelectedScores("attention-of-selected-scores-inverted", Selects::kHidden),
      AttentionOfSelectedScores("attention-of-zeroed-scores", Selects::kHiddenZeroed),
      AttentionOfReplacedScores("attention-of-replaced-scores", Replaces::kProducts, false),
      AttentionOfReplacedScores("attention-of-replaced-scores-inverted", Replaces::kProducts, true),
      AttentionOfReplacedScores("attention-of-replaced-sums", Replaces::kSums, false),
      AttentionOfReplacedScores("attention-of-replaced-sums-inverted", Replaces::kSums, true),
      AttentionOfOneHead("attention-of-one-head", 0),
      AttentionOfOneHead("attention-of-one-head-masked", 3),
      AttentionOfOneHead("attention-of-one-head-one-mask", 2),
      AttentionOfBlocks("attention-of-blocks", false),
      AttentionOfBlocks("attention-of-blocks-masked", true),
      AttentionOfBroadcastBatches(),
      AttentionOfOnnx("attention-of-onnx", Causality::kNone),
      AttentionOfOnnx("attention-of-onnx-causal", Causality::kSquare),
      AttentionOfOnnx("attention-of-onnx-past", Causality::kPast),
      AttentionOfOnnxJoined("attention-of-onnx-joined", false),
      AttentionOfOnnxJoined("attention-of-onnx-joined-causal", true)};
}

}  // namespace tenon::pattern
