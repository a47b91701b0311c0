// One op for each attention block. The core (`attention_cores.cc`) is fused.attention over split
// heads; the small rules here absorb what surrounds it: scales, splits and merges of heads, the
// past.
#include "ir/core/operation.h"
#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// Beyond these bounds q k^T might overflow where the scaled queries or keys left it finite.
Condition IsModerateFactor(const Attr<float>& factor) {
  return IsModerateScale("the factor is a moderate number", factor);
}

// ---- scales ------------------------------------------------------------------------------------

Rule AttentionScaleOfQ() {
  AttentionAttrs a;
  AttentionVals x;
  Attr<float> factor("factor");
  Val q = TimesNumber(x.q, factor);
  fused::AttentionArgs made = a.args();
  made.scale = ProductHeldByAttribute(a.scale, factor);
  return Replacing(Rule("attention-scale-q")
                       .Summary("a scale on the queries is one on the scores")
                       .Where(IsModerateFactor(factor))
                       .Keep(q)
                       .Lowers(OpsBefore({"ten.mul", "ten.div"}, {"fused.attention"})),
                   x.Matched(q, x.k, x.v, a.args()), x.Made(x.q, x.k, x.v, made));
}

// Not behind a past, whose keys have no such scale.
Rule AttentionScaleOfK() {
  AttentionAttrs a;
  AttentionVals x;
  Attr<float> factor("factor");
  Val k = TimesNumber(x.k, factor);
  fused::AttentionArgs made = a.args();
  made.scale = ProductHeldByAttribute(a.scale, factor);
  return Rule("attention-scale-k")
      .Summary("a scale on the keys is one on the scores")
      .Match(
          fused::Attention(x.q, k, x.v, Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), a.args()))
      .Where(IsModerateFactor(factor))
      .Keep(k)
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, x.bias, x.key_mask, made))
      .Lowers(OpsBefore({"ten.mul", "ten.div"}, {"fused.attention"}));
}

// ---- heads -------------------------------------------------------------------------------------

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
                       .Lowers(OpsBefore({"ten.transpose"}, {"fused.attention"})),
                   x.Matched(q, k, v, match), x.Made(q2, k2, v2, made));
}

// An operand that is y [B, S, H * D] with its heads split. With `joined` it is rotated heads, put
// side by side again.
Rule AbsorbSplit(const char* name, Side side, bool joined = false,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Val rows(joined ? "_y" : "y"), cos("_cos"), sin("_sin");
  Dim B("B"), S("S"), H("H"), D("D");
  Val y = joined ? fused::Rotary(rows, cos, sin, {.interleaved = kAny, .rotary_dim = kAny}) : rows;
  Val split = joined ? Reshape(y, {.shape = {B, S, H * D}}) : Reshape(y, {.shape = {B, S, H, D}});
  fused::AttentionArgs match = a.args(), made = a.args();
  const char *from = joined ? "bsh" : "bshd", *to = joined ? "bshd" : "bsh";
  (side == Side::kQ ? match.q_layout : side == Side::kK ? match.k_layout : match.v_layout) = from;
  (side == Side::kQ ? made.q_layout : side == Side::kK ? made.k_layout : made.v_layout) = to;
  (side == Side::kQ ? match.num_heads : match.kv_num_heads) = H;
  (side == Side::kQ ? made.num_heads : made.kv_num_heads) = H;
  const Val &q = side == Side::kQ ? split : x.q, &k = side == Side::kK ? split : x.k,
            &v = side == Side::kV ? split : x.v;
  const Val &q2 = side == Side::kQ ? y : x.q, &k2 = side == Side::kK ? y : x.k,
            &v2 = side == Side::kV ? y : x.v;
  return Replacing(Rule(name, file, line)
                       .Summary(joined ? "rotated heads side by side are a layout of attention"
                                       : "a split of heads is a layout of attention")
                       .Where(joined ? ShapeIs(y, {B, S, H, D}) : ShapeIs(y, {B, S, H * D}))
                       .Keep(split)
                       .Lowers(OpsBefore({"ten.reshape"}, {"fused.attention"})),
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
      .MayCoincide({k, v})
      .MayCoincide({wide_k, wide_v})
      .Where(ShapeIs(x.k, dims(1, D)) && ShapeIs(x.v, dims(1, E)) && ShapeIs(wide_k, dims(R, D)) &&
             ShapeIs(wide_v, dims(R, E)))
      .Replace(fused::Attention(x.q, heads(x.k, G, D), heads(x.v, G, E), x.mask, x.bias, x.key_mask,
                                made))
      .Lowers(OpsBefore({"ten.expand"}, {"fused.attention"}));
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
      .MayCoincide({k, v})
      .Where(ShapeIs(x.k, swapped ? std::vector<Dim>{B, 1, D, T} : std::vector<Dim>{B, 1, T, D}) &&
             ShapeIs(k, swapped ? std::vector<Dim>{B, H, D, T} : std::vector<Dim>{B, H, T, D}) &&
             ShapeIs(x.v, {B, 1, T, E}) && ShapeIs(v, {B, H, T, E}))
      .Replace(fused::Attention(x.q, x.k, x.v, x.mask, x.bias, x.key_mask, made))
      .Lowers(OpsBefore({"ten.expand"}, {"fused.attention"}));
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
          .Lowers(OpsOf({MeasuredOp("fused.attention").With("out_layout", "bshd")})),
      Reshape(out, {.shape = {R, H * D}}), out, Reshape(merged, {.shape = {R, H * D}}), merged);
}

// ---- past --------------------------------------------------------------------------------------

// Keys and values put behind those of the past, as decoders do it: attention appends them itself,
// and what it attends to is a result. It checks that all are of one batch and, of as many new keys
// as values, that the pasts are equally long. In the source a view of one may check that.
enum class Checked { kNone, kKeys, kValues };

// A view of no elements checks nothing.
Condition HasElements(const Val& view) {
  return If("the view has elements", Condition(IsNotNumber(ExtentOf(view, 0), 0)) &&
                                         IsNotNumber(ExtentOf(view, 1), 0) &&
                                         IsNotNumber(ExtentOf(view, 3), 0));
}

Rule AttentionAppend(const char* name, Checked checked, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  AttentionAttrs a;
  AttentionVals x;
  Dim B("B"), G("G"), S("S"), T("T"), K("K"), V("V"), D("D"), E("E");
  Val keys = Concat({x.past_key, x.k}, {.axis = 2}).As("present keys");
  Val values = Concat({x.past_value, x.v}, {.axis = 2}).As("present values");
  fused::AttentionArgs args = a.args();
  args.k_layout = args.v_layout = "bhsd";
  args.kv_num_heads = G;
  auto view = [&](const Val& v, const Dim& length, const Dim& size) {
    return Reshape(v, {.shape = {B, G, length, size}});
  };
  Val attention = fused::Attention(x.q, checked == Checked::kKeys ? view(keys, T, D) : keys,
                                   checked == Checked::kValues ? view(values, T, E) : values,
                                   Maybe(x.mask), Maybe(x.bias), Maybe(x.key_mask), args);
  Val made =
      fused::Attention(x.q, x.k, x.v, x.mask, x.bias, x.key_mask, x.past_key, x.past_value, args);
  const Dim &as_keys = checked == Checked::kKeys ? K : T,
            &as_values = checked == Checked::kValues ? V : T;
  const Condition seen = checked == Checked::kNone
                             ? Condition()
                             : HasElements(checked == Checked::kKeys ? keys : values);
  return Rule(name, file, line)
      .Summary(checked == Checked::kNone
                   ? "attention appends its keys and values to those of the past"
               : checked == Checked::kKeys
                   ? "… where a view checks that there are as many keys as values"
                   : "… where a view checks that there are as many values as keys")
      .Match({attention, keys, values})
      .Where(ShapeIs(x.k, {B, G, S, D}) && ShapeIs(x.v, {B, G, S, E}) &&
             ShapeIs(x.past_key, {AnyDim(), G, AnyDim(), D}) &&
             ShapeIs(x.past_value, {AnyDim(), G, AnyDim(), E}) &&
             ShapeIs(keys, {B, G, as_keys, D}) && ShapeIs(values, {B, G, as_values, E}) && seen)
      .Replace({made, view(made.result(1), as_keys, D), view(made.result(2), as_values, E)})
      .Lowers(OpsBefore({"ten.concat"}, {"fused.attention"}))
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
      .Lowers(OpsOf({MeasuredOp("fused.attention").With("k_layout", "bhds")}));
}

// A product over one element is an outer product.
Rule OuterProduct() {
  Val a("a"), b("b");
  return Rule("outer-product")
      .Summary("a product over an axis of extent 1 multiplies elements")
      .Match(Matmul(a, b))
      .Where(RankAtLeast(a, 2) && RankAtLeast(b, 2) && DimIs(a, -1, 1) && DimIs(b, -2, 1) &&
             IsFloat(a))
      .Where(If("the first factor does not hold probabilities", !(OpOf(a) == "nn.softmax")))
      .Replace(Mul(a, b))
      .Lowers(OpsOf({"ten.matmul"}));
}

}  // namespace

RuleSet AttentionRules() {
  RuleSet rules = AttentionCoreRules();
  for (Rule& rule : RuleSet{
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
           AbsorbSplit("attention-joined-q", Side::kQ, true),
           AbsorbSplit("attention-joined-k", Side::kK, true),
           RepeatedHeads("attention-repeated-heads", "bhsd"),
           RepeatedHeads("attention-repeated-heads-inner", "bshd"),
           ExpandedHead("attention-expanded-head", "bhsd"),
           ExpandedHead("attention-expanded-head-swapped", "bhds"),
           WidenedScaleOfK(),
           WidenedRepeatedHeads(),
           AttentionMergeTranspose(),
           AttentionMergeReshape(),
           AttentionMergeRows(),
           AttentionAppendTransposed(),
           AttentionAppend("attention-append", Checked::kNone),
           AttentionAppend("attention-append-checked-values", Checked::kValues),
           AttentionAppend("attention-append-checked-keys", Checked::kKeys),
           OuterProduct()}) {
    rules.push_back(std::move(rule));
  }
  for (Rule& rule : AttentionSequenceRules()) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace tenon::pattern
