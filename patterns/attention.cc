// One op for each attention block. The core (scores, softmax, weighted sum) becomes fused.attention
// over split heads; small rules then absorb what surrounds it: scales, splits and merges of heads.
// They rely on `canonicalize` and on the family `scores`: transposes feeding a product are flags of
// it, masks are added after the scale.
#include "ir/core/operation.h"
#include "patterns/attention_parts.h"

namespace tenon::pattern {
namespace {

double Times(double a, double b) { return a * b; }

I64s SwapIf(bool swaps) { return swaps ? I64s{0, 1, 3, 2} : I64s{0, 1, 2, 3}; }

// softmax(q · k^T * scale + bias + mask) · v with the heads split. Queries and values that are
// stored transposed are transposed first.
Rule AttentionCore() {
  AttentionVals x;
  Attr<bool> guard("nan_guard"), tq("transposed_q"), tk("transposed_k"), tv("transposed_v");
  Dim B("B"), H("H"), G("G"), S("S"), T("T");
  Val product = Matmul(x.q, x.k, {.transpose_a = tq, .transpose_b = tk}).As("q k^T");
  MaskedScores s(product, x);
  return Rule("attention")
      .Summary("softmax(q k^T * scale + bias + mask) v")
      .Match(Matmul(Probabilities(s.masked, guard), x.v, {.transpose_b = tv}))
      .Where(ShapeIs(product, {B, H, S, T}) && ShapeIs(x.q, {B, H, AnyDim(), AnyDim()}) &&
             ShapeIs(x.k, {B, G, AnyDim(), AnyDim()}) && ShapeIs(x.v, {B, G, AnyDim(), AnyDim()}))
      .Where(If("keys and values have a head for each of the queries or for all", HeadsBroadcast, H,
                G) &&
             If("the mask does not widen q k^T", SameButLast, s.masked, product))
      .Replace(fused::Attention(Transpose(x.q, {.perm = Compute(SwapIf, tq)}), x.k,
                                Transpose(x.v, {.perm = Compute(SwapIf, tv)}), x.mask, x.bias, {},
                                {.num_heads = H,
                                 .kv_num_heads = G,
                                 .scale = s.scale,
                                 .q_layout = "bhsd",
                                 .k_layout = Compute(KeyLayout, tk),
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd",
                                 .nan_guard = guard,
                                 .softcap = s.softcap}))
      .Lowers("products with probabilities")
      .RequireKernel();
}

// The same where hidden keys get a number for a score, before a bias is added.
Rule AttentionOfReplacedScores() {
  AttentionVals x;
  Attr<bool> guard("nan_guard"), tk("transposed_k");
  Attr<float> scale("scale"), low("mask_value");
  Dim B("B"), H("H"), G("G"), S("S"), T("T");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));
  Val chosen = ten::Where(x.mask, scores, Splat(low));
  Val masked = AnyOf(Add(chosen, x.bias), chosen).As("masked scores");
  return Rule("attention-of-replaced-scores")
      .Summary("softmax(where(keep, q k^T * scale, number) + bias) v")
      .Match(Matmul(Probabilities(masked, guard), x.v))
      .Where(ShapeIs(product, {B, H, S, T}) && ShapeIs(x.q, {B, H, AnyDim(), AnyDim()}) &&
             ShapeIs(x.k, {B, G, AnyDim(), AnyDim()}) && ShapeIs(x.v, {B, G, AnyDim(), AnyDim()}))
      .Where(If("keys and values have a head for each of the queries or for all", HeadsBroadcast, H,
                G) &&
             If("the mask does not widen q k^T", SameButLast, masked, product))
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, x.bias, {},
                                {.num_heads = H,
                                 .kv_num_heads = G,
                                 .scale = scale,
                                 .q_layout = "bhsd",
                                 .k_layout = Compute(KeyLayout, tk),
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd",
                                 .mask_value = low,
                                 .mask_replaces = true,
                                 .nan_guard = guard}))
      .Lowers("products with probabilities")
      .RequireKernel();
}

// The same with one head and batches of any kind in the first axis: [N, S, D]. Tried after the
// views of split heads have been moved away.
Rule AttentionOfOneHead(const char* name, int mask_rank, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  AttentionVals x;
  Attr<bool> guard("nan_guard"), tk("transposed_k");
  Dim N("N"), S("S"), T("T"), M("M"), P("P"), Q("Q");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  Attr<float> scale("scale");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));
  Val masked = mask_rank == 0 ? scores : Add(scores, x.mask);
  Val mask = mask_rank == 3 ? Reshape(x.mask, {.shape = {M, 1, P, Q}}) : x.mask;
  Val keys = Transpose(x.k, {.perm = Compute(
                                 [](bool t) {
                                   return t ? I64s{0, 1, 2} : I64s{0, 2, 1};
                                 },
                                 tk)});
  fused::AttentionArgs args = {
      .num_heads = 1, .kv_num_heads = 1, .scale = scale, .nan_guard = guard};
  Condition fits = ShapeIs(product, {N, S, T}) && ShapeIs(x.q, {N, AnyDim(), AnyDim()}) &&
                   ShapeIs(x.k, {N, AnyDim(), AnyDim()}) && ShapeIs(x.v, {N, AnyDim(), AnyDim()});
  if (mask_rank == 3) fits = fits && ShapeIs(x.mask, {M, P, Q});
  if (mask_rank == 2) fits = fits && Rank(x.mask, 2);
  if (mask_rank > 0) {
    fits = fits && If("the mask does not widen q k^T", SameButLast, masked, product);
  }
  return Rule(name, file, line)
      .Summary(mask_rank == 0   ? "attention of 3-D operands is one of a single head"
               : mask_rank == 3 ? "… with a mask for each batch"
                                : "… with one mask")
      .Match(Matmul(Probabilities(masked, guard), x.v))
      .Where(fits)
      .Replace(mask_rank == 0 ? fused::Attention(x.q, keys, x.v, {}, {}, {}, args)
                              : fused::Attention(x.q, keys, x.v, mask, {}, {}, args))
      .Lowers("products with probabilities")
      .RequireKernel();
}

// What broadcasts to [A, W, H, S, T] as something that broadcasts to [A * W, H, S, T]: the same for
// all, or one for each.
std::optional<Dims> SharedShape(Value mask) {
  const Type type = mask.type();
  if (!type.is_tensor() || type.rank() > 5) return std::nullopt;
  Dims dims(4, DimExpr::Constant(type.context(), 1));
  for (int64_t i = 1; i <= type.rank(); ++i) {
    if (i <= 3) {
      dims[static_cast<size_t>(4 - i)] = type.dim(-i);
    } else if (!type.dim(-i).is_constant(1)) {
      return std::nullopt;
    }
  }
  return dims;
}

std::optional<Dims> JoinedShape(Value mask, DimExpr images, DimExpr windows) {
  const Type type = mask.type();
  if (!type.is_tensor() || type.rank() > 5) return std::nullopt;
  Dims dims(4, DimExpr::Constant(type.context(), 1));
  dims[0] = images * windows;
  for (int64_t i = 1; i <= std::min<int64_t>(type.rank(), 3); ++i) {
    dims[static_cast<size_t>(4 - i)] = type.dim(-i);
  }
  return dims;
}

Dims JoinFirst(Value v) {
  const Type type = v.type();
  return {type.dim(0) * type.dim(1), type.dim(2), type.dim(3), type.dim(4)};
}

enum class WindowMask { kNone, kShared, kEach };

// Attention with two axes of batches: windows of images, or groups of heads that share keys.
Rule AttentionOfWindows(const char* name, WindowMask kind, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  AttentionVals x;
  Attr<bool> guard("nan_guard"), tk("transposed_k");
  Attr<float> scale("scale");
  Dim A("A"), W("W"), H("H"), G("G");
  Val product = Matmul(x.q, x.k, {.transpose_b = tk}).As("q k^T");
  Val scores = AnyOf(TimesNumber(product, scale), product.Let(scale, 1));
  Val masked = kind == WindowMask::kNone ? scores : Add(scores, x.mask);
  Val result = Matmul(Probabilities(masked, guard), x.v);
  auto joined = [](const Val& v) { return Reshape(v, {.shape = Compute(JoinFirst, v)}); };
  fused::AttentionArgs args = {.num_heads = H,
                               .kv_num_heads = G,
                               .scale = scale,
                               .q_layout = "bhsd",
                               .k_layout = Compute(KeyLayout, tk),
                               .v_layout = "bhsd",
                               .out_layout = "bhsd",
                               .nan_guard = guard};
  Val q = joined(x.q), k = joined(x.k), v = joined(x.v);
  Val shared = Reshape(x.mask, {.shape = Compute(SharedShape, x.mask)});
  Val each = Reshape(Expand(x.mask, {.shape = {A, W, 1, 1, 1}}),
                     {.shape = Compute(JoinedShape, x.mask, A, W)});
  Val made = kind == WindowMask::kNone     ? fused::Attention(q, k, v, {}, {}, {}, args)
             : kind == WindowMask::kShared ? fused::Attention(q, k, v, shared, {}, {}, args)
                                           : fused::Attention(q, k, v, each, {}, {}, args);
  Condition fits =
      ShapeIs(x.q, {A, W, H, AnyDim(), AnyDim()}) && ShapeIs(x.k, {A, W, G, AnyDim(), AnyDim()}) &&
      ShapeIs(x.v, {A, W, G, AnyDim(), AnyDim()}) &&
      If("keys and values have a head for each of the queries or for all", HeadsBroadcast, H, G);
  if (kind != WindowMask::kNone) {
    fits = fits && If("the mask does not widen q k^T", SameButLast, masked, product);
  }
  return Rule(name, file, line)
      .Summary(kind == WindowMask::kNone     ? "attention with two axes of batches"
               : kind == WindowMask::kShared ? "… with one mask"
                                             : "… with a mask for each batch")
      .Match(result)
      .Where(fits)
      .Replace(Reshape(made, {.shape = ShapeOf(result)}))
      .Lowers("products with probabilities")
      .RequireKernel();
}

double ScaleOf(double scale, DimExpr head) {
  if (scale != 0 || !head.is_constant()) return scale;
  return 1 / std::sqrt(static_cast<double>(head.constant()));
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
          .Where(If(
              "the head size is a number", [](DimExpr d) { return d.is_constant(); }, D));
  if (past) {
    rule = std::move(rule).Where(If(
        "the keys before those of the queries are the past ones",
        [](DimExpr p, DimExpr s, DimExpr t) { return DimExpr::ProvablyEqual(t - s, p); }, P, S, T));
  }
  return std::move(rule)
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, {}, {},
                                {.num_heads = H,
                                 .kv_num_heads = G,
                                 .scale = Compute(ScaleOf, scale, D),
                                 .q_layout = "bhsd",
                                 .k_layout = "bhsd",
                                 .v_layout = "bhsd",
                                 .out_layout = "bhsd",
                                 .causal = causal,
                                 .nan_guard = true,
                                 .softcap = softcap}))
      .Lowers("spellings of attention")
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
  auto scale_of = [](double s, int64_t h, DimExpr e) -> std::optional<double> {
    if (s != 0) return s;
    if (!e.is_constant() || h <= 0) return std::nullopt;
    const int64_t head = e.constant() / h;
    return 1 / std::sqrt(static_cast<double>(head));
  };
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
                                 .scale = Compute(scale_of, scale, heads, E),
                                 .causal = causal,
                                 .nan_guard = true,
                                 .softcap = softcap}))
      .Lowers("spellings of attention")
      .RequireKernel();
}

// ---- scales ------------------------------------------------------------------------------------

Rule AttentionScaleOfQ() {
  AttentionAttrs a;
  AttentionVals x;
  Attr<float> factor("factor");
  Val q = TimesNumber(x.q, factor);
  fused::AttentionArgs made = a.args();
  made.scale = Compute(Times, a.scale, factor);
  return Replacing(Rule("attention-scale-q")
                       .Summary("a scale on the queries is one on the scores")
                       .Keep(q)
                       .Lowers("scales beside attention"),
                   x.Matched(q, x.k, x.v, a.args()), x.Made(x.q, x.k, x.v, made));
}

// Not behind a past, whose keys have no such scale.
Rule AttentionScaleOfK() {
  AttentionAttrs a;
  AttentionVals x;
  Attr<float> factor("factor");
  Val k = TimesNumber(x.k, factor);
  fused::AttentionArgs made = a.args();
  made.scale = Compute(Times, a.scale, factor);
  return Rule("attention-scale-k")
      .Summary("a scale on the keys is one on the scores")
      .Match(
          fused::Attention(x.q, k, x.v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), a.args()))
      .Keep(k)
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, x.bias, x.key_mask, made))
      .Lowers("scales beside attention");
}

// ---- heads -------------------------------------------------------------------------------------

enum class Side { kQ, kK, kV };

// An operand that is transpose(y): the attention reads y in another layout.
Rule AbsorbTranspose(const char* name, Side side, const char* from,
                     std::initializer_list<int64_t> perm, const char* to,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Val y("y");
  Val transposed = Transpose(y, {.perm = perm});
  fused::AttentionArgs match = a.args(), made = a.args();
  (side == Side::kQ ? match.q_layout : side == Side::kK ? match.k_layout : match.v_layout) = from;
  (side == Side::kQ ? made.q_layout : side == Side::kK ? made.k_layout : made.v_layout) = to;
  const Val &q = side == Side::kQ ? transposed : x.q, &k = side == Side::kK ? transposed : x.k,
            &v = side == Side::kV ? transposed : x.v;
  const Val &q2 = side == Side::kQ ? y : x.q, &k2 = side == Side::kK ? y : x.k,
            &v2 = side == Side::kV ? y : x.v;
  return Replacing(Rule(name, file, line)
                       .Summary("a transpose of heads is a layout of attention")
                       .Keep(transposed)
                       .Lowers("transposes beside attention"),
                   x.Matched(q, k, v, match), x.Made(q2, k2, v2, made));
}

// An operand that is y [B, S, H * D] with its heads split.
Rule AbsorbSplit(const char* name, Side side, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Val y("y");
  Dim B("B"), S("S"), H("H"), D("D");
  Val split = Reshape(y, {.shape = {B, S, H, D}});
  fused::AttentionArgs match = a.args(), made = a.args();
  (side == Side::kQ ? match.q_layout : side == Side::kK ? match.k_layout : match.v_layout) = "bshd";
  (side == Side::kQ ? made.q_layout : side == Side::kK ? made.k_layout : made.v_layout) = "bsh";
  (side == Side::kQ ? match.num_heads : match.kv_num_heads) = H;
  (side == Side::kQ ? made.num_heads : made.kv_num_heads) = H;
  const Val &q = side == Side::kQ ? split : x.q, &k = side == Side::kK ? split : x.k,
            &v = side == Side::kV ? split : x.v;
  const Val &q2 = side == Side::kQ ? y : x.q, &k2 = side == Side::kK ? y : x.k,
            &v2 = side == Side::kV ? y : x.v;
  return Replacing(Rule(name, file, line)
                       .Summary("a split of heads is a layout of attention")
                       .Where(ShapeIs(y, {B, S, H * D}))
                       .Keep(split)
                       .Lowers("reshapes beside attention"),
                   x.Matched(q, k, v, match), x.Made(q2, k2, v2, made));
}

// Keys and values repeated for groups of query heads: attention shares them by itself. Each of
// [B, G, 1, T, D] expanded to [B, G, R, T, D] and viewed as [B, G * R, T, D], or with the heads
// behind the keys.
Rule RepeatedHeads(const char* name, const char* layout, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  const bool inner = std::string(layout) == "bshd";
  Dim B("B"), G("G"), R("R"), T("T"), D("D"), E("E");
  fused::AttentionArgs match = a.args(), made = a.args();
  match.k_layout = match.v_layout = made.k_layout = made.v_layout = layout;
  match.kv_num_heads = kAny;
  made.kv_num_heads = G;
  auto dims = [&](const Dim& repeats, const Dim& size) {
    return inner ? std::vector<Dim>{B, T, G, repeats, size}
                 : std::vector<Dim>{B, G, repeats, T, size};
  };
  auto heads = [&](const Val& v, const Dim& count, const Dim& size) {
    return inner ? Reshape(v, {.shape = {B, T, count, size}})
                 : Reshape(v, {.shape = {B, count, T, size}});
  };
  Val wide_k = Expand(x.k, {.shape = kAny}), wide_v = Expand(x.v, {.shape = kAny});
  Val k = heads(wide_k, G * R, D), v = heads(wide_v, G * R, E);
  return Rule(name, file, line)
      .Summary(inner ? "… with the heads behind the keys"
                     : "keys and values repeated for groups of heads are shared")
      .Match(fused::Attention(x.q, k, v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), match))
      .Keep(k)
      .Keep(v)
      .Keep(wide_k)
      .Keep(wide_v)
      .Where(ShapeIs(x.k, dims(1, D)) && ShapeIs(x.v, dims(1, E)) && ShapeIs(wide_k, dims(R, D)) &&
             ShapeIs(wide_v, dims(R, E)))
      .Replace(fused::Attention(x.q, heads(x.k, G, D), heads(x.v, G, E), x.mask, x.bias, x.key_mask,
                                made))
      .Lowers("repeated heads");
}

// The same where there is one head for all, made as many as the queries have.
Rule ExpandedHead(const char* name, const char* k_layout, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), H("H"), T("T"), D("D"), E("E");
  const bool swapped = std::string(k_layout) == "bhds";
  fused::AttentionArgs match = a.args(), made = a.args();
  match.k_layout = made.k_layout = k_layout;
  match.v_layout = made.v_layout = "bhsd";
  match.kv_num_heads = kAny;
  made.kv_num_heads = 1;
  Val k = Expand(x.k, {.shape = kAny}), v = Expand(x.v, {.shape = kAny});
  return Rule(name, file, line)
      .Summary(swapped ? "… with its keys transposed"
                       : "a head of keys and values made as many as the queries have is shared")
      .Match(fused::Attention(x.q, k, v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), match))
      .Keep(k)
      .Keep(v)
      .Where(ShapeIs(x.k, swapped ? std::vector<Dim>{B, 1, D, T} : std::vector<Dim>{B, 1, T, D}) &&
             ShapeIs(k, swapped ? std::vector<Dim>{B, H, D, T} : std::vector<Dim>{B, H, T, D}) &&
             ShapeIs(x.v, {B, 1, T, E}) && ShapeIs(v, {B, H, T, E}))
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, x.bias, x.key_mask, made))
      .Lowers("repeated heads");
}

Rule AttentionMergeTranspose() {
  AttentionAttrs a;
  AttentionVals x;
  fused::AttentionArgs match = a.args(), made = a.args();
  match.out_layout = "bhsd";
  made.out_layout = "bshd";
  Val out = x.Matched(x.q, x.k, x.v, match), merged = x.Made(x.q, x.k, x.v, made);
  return Replacing(Rule("attention-merge-transpose")
                       .Summary("the transpose of the result is a layout of attention"),
                   Transpose(out, {.perm = {0, 2, 1, 3}}), out, merged, merged);
}

Rule AttentionMergeReshape() {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), S("S"), H("H"), D("D");
  fused::AttentionArgs match = a.args(), made = a.args();
  match.out_layout = "bshd";
  made.out_layout = "bsh";
  Val out = x.Matched(x.q, x.k, x.v, match), merged = x.Made(x.q, x.k, x.v, made);
  return Replacing(Rule("attention-merge-reshape")
                       .Summary("the merge of heads is a layout of attention")
                       .Where(ShapeIs(out, {B, S, H, D})),
                   Reshape(out, {.shape = {B, S, H * D}}), out, merged, merged);
}

// The same where the rows are joined at once, as exporters write a product of matrices.
Rule AttentionMergeRows() {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), S("S"), H("H"), D("D"), R("R");
  fused::AttentionArgs match = a.args(), made = a.args();
  match.out_layout = "bshd";
  made.out_layout = "bsh";
  Val out = x.Matched(x.q, x.k, x.v, match), merged = x.Made(x.q, x.k, x.v, made);
  return Replacing(
      Rule("attention-merge-rows")
          .Summary("the merge of heads into rows is a layout of attention and a reshape of rows")
          .Where(ShapeIs(out, {B, S, H, D}))
          .Lowers("attention with split heads"),
      Reshape(out, {.shape = {R, H * D}}), out, Reshape(merged, {.shape = {R, H * D}}), merged);
}

// ---- past --------------------------------------------------------------------------------------

// Keys and values put behind those of the past, as decoders do it: attention appends them itself,
// and what it attends to is a result.
Rule AttentionAppend() {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), G("G"), P("P"), S("S"), D("D"), E("E");
  Val keys = Concat({x.past_key, x.k}, {.axis = 2}).As("present keys");
  Val values = Concat({x.past_value, x.v}, {.axis = 2}).As("present values");
  fused::AttentionArgs args = a.args();
  args.k_layout = args.v_layout = "bhsd";
  args.kv_num_heads = G;
  Val attention =
      fused::Attention(x.q, keys, values, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), args);
  // The present keys and values are equally long, and so are the past ones, whatever their types
  // say.
  Val past_value = Reshape(x.past_value, {.shape = {B, G, P, E}});
  Val made =
      fused::Attention(x.q, x.k, x.v, x.mask, x.bias, x.key_mask, x.past_key, past_value, args);
  return Rule("attention-append")
      .Summary("attention appends its keys and values to those of the past")
      .Match({attention, keys, values})
      .Where(ShapeIs(x.past_key, {B, G, P, D}) && ShapeIs(x.k, {B, G, S, D}) &&
             ShapeIs(x.past_value, {B, G, AnyDim(), E}) && ShapeIs(x.v, {B, G, S, E}) &&
             ShapeIs(values, {B, G, P + S, E}))
      .Replace({made, made.result(1), made.result(2)})
      .RequireKernel();
}

// Keys of the past that are transposed before new ones are put behind them are appended first.
Rule AttentionAppendTransposed() {
  AttentionAttrs a;
  AttentionVals x;
  auto swapped = [](const Val& v) { return Transpose(v, {.perm = {0, 1, 3, 2}}); };
  Val keys = Concat({swapped(x.past_key), x.k}, {.axis = 3});
  Val appended = Concat({x.past_key, swapped(x.k)}, {.axis = 2});
  fused::AttentionArgs match = a.args(), made = a.args();
  match.k_layout = "bhds";
  made.k_layout = "bhsd";
  return Rule("attention-append-transposed")
      .Summary("keys are put behind those of the past before they are transposed")
      .Match(
          {fused::Attention(x.q, keys, x.v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), match),
           keys})
      .Replace({fused::Attention(x.q, appended, x.v, x.mask, x.bias, x.key_mask, made),
                swapped(appended)})
      .Lowers("keys of the past that are transposed");
}

bool IsNoSoftmax(Value v) {
  return v.defining_op() == nullptr || v.defining_op()->name() != "nn.softmax";
}

// A product over one element is an outer product.
Rule OuterProduct() {
  Val a("a"), b("b");
  return Rule("outer-product")
      .Summary("a product over an axis of extent 1 multiplies elements")
      .Match(Matmul(a, b))
      .Where(RankAtLeast(a, 2) && RankAtLeast(b, 2) && DimIs(a, -1, 1) && DimIs(b, -2, 1) &&
             IsFloat(a))
      .Where(If("they are not probabilities", IsNoSoftmax, a))
      .Replace(Mul(a, b))
      .Lowers("products");
}

}  // namespace

RuleSet AttentionRules() {
  return {AttentionCore(),
          AttentionOfWindows("attention-of-windows", WindowMask::kNone),
          AttentionOfWindows("attention-of-windows-one-mask", WindowMask::kShared),
          AttentionOfWindows("attention-of-windows-masked", WindowMask::kEach),
          AttentionOfReplacedScores(),
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
          AttentionOfOnnxJoined("attention-of-onnx-joined-causal", true),
          AttentionScaleOfQ(),
          AttentionScaleOfK(),
          AbsorbTranspose("attention-transpose-q", Side::kQ, "bhsd", {0, 2, 1, 3}, "bshd"),
          AbsorbTranspose("attention-transpose-k", Side::kK, "bhsd", {0, 2, 1, 3}, "bshd"),
          AbsorbTranspose("attention-transpose-v", Side::kV, "bhsd", {0, 2, 1, 3}, "bshd"),
          AbsorbTranspose("attention-swap-k", Side::kK, "bhds", {0, 1, 3, 2}, "bhsd"),
          AbsorbTranspose("attention-transpose-swap-k", Side::kK, "bhds", {0, 2, 3, 1}, "bshd"),
          AbsorbSplit("attention-split-q", Side::kQ),
          AbsorbSplit("attention-split-k", Side::kK),
          AbsorbSplit("attention-split-v", Side::kV),
          RepeatedHeads("attention-repeated-heads", "bhsd"),
          RepeatedHeads("attention-repeated-heads-inner", "bshd"),
          ExpandedHead("attention-expanded-head", "bhsd"),
          ExpandedHead("attention-expanded-head-swapped", "bhds"),
          AttentionMergeTranspose(),
          AttentionMergeReshape(),
          AttentionMergeRows(),
          AttentionAppendTransposed(),
          AttentionAppend(),
          OuterProduct()};
}

}  // namespace tenon::pattern
