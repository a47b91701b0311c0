// Halves of the layers of transformers as one op, and whole layers. They are made of what the other
// families leave, and the parts are as fast, so the pipelines leave this family out;
// `fuse{rules=transformer}` applies it.
#include <initializer_list>

#include "patterns/attention/attention_parts.h"

namespace tenon::pattern {
namespace {

// The norm at the end of a half, with the residual.
struct Ending {
  Val residual{"residual"}, scale{"norm_scale"}, bias{"norm_bias"};
  Attr<int64_t> axis{"axis"};
  Attr<float> epsilon{"epsilon"};
  bool layer, product_first;  // which norm, and which place in the sum the product has

  OptVal norm_bias() const { return layer ? OptVal(bias) : OptVal(); }
  const char* norm() const { return layer ? "layer" : "rms"; }
  Val Of(const Val& product) const {
    const Val &first = product_first ? product : residual,
              &second = product_first ? residual : product;
    return layer ? fused::SkipLayerNorm(first, second, Maybe(scale), Maybe(bias),
                                        {.axis = axis, .epsilon = epsilon})
                 : fused::SkipRmsNorm(first, second, Maybe(scale),
                                      {.axis = axis, .epsilon = epsilon});
  }
  // `inner`: what the half computes before the product, and must not compute once more.
  Condition Fits(const Val& product, const Val& norm, std::initializer_list<Val> inner) const {
    Condition outside;
    for (const Val& val : inner) outside = outside && !(Term(residual) == Term(val));
    return If("the last axis is normalized", axis == RankOf(norm) - 1) && Rank(scale, 1) &&
           (layer ? Rank(bias, 1) : Condition()) && SameShape(product, norm) &&
           SameShape(residual, norm) && If("the residual comes from outside", outside);
  }
};

// Matrices of a half, all stored in one way.
struct Matrices {
  Attr<bool> transpose{"transpose"};
  Val Of(const Val& x, const Val& w, const Val& bias) const {
    return fused::Linear(x, w, Maybe(bias), {}, {.transpose_w = transpose});
  }
};

// Attributes of fused.attention that fused.attention_block and fused.transformer_layer have, too.
struct BlockAttrs : AttentionAttrs {
  Attr<int64_t> head_dim{"head_dim"}, v_head_dim{"v_head_dim"}, q_offset{"q_offset"},
      k_offset{"k_offset"}, v_offset{"v_offset"}, rotary_dim{"rotary_dim"};
  Attr<bool> interleaved{"interleaved"};

  fused::AttentionArgs Attention(const Attr<std::string>& layout) const {
    fused::AttentionArgs made = args();
    made.q_layout = made.k_layout = layout;
    made.v_layout = made.out_layout = "bsh";
    made.head_dim = head_dim;
    made.v_head_dim = v_head_dim;
    made.q_offset = q_offset;
    made.k_offset = k_offset;
    made.v_offset = v_offset;
    return made;
  }
  // The same attributes of one of both ops.
  template <typename Args>
  Args Of(Args made) const {
    made.num_heads = num_heads;
    made.kv_num_heads = kv_num_heads;
    made.scale = scale;
    made.causal = causal;
    made.window = window;
    made.mask_value = mask_value;
    made.mask_replaces = mask_replaces;
    made.mask_last = mask_last;
    made.repeat_first_key = repeat_first_key;
    made.nan_guard = nan_guard;
    made.zero_nan_rows = zero_nan_rows;
    made.softcap = softcap;
    made.head_dim = head_dim;
    made.v_head_dim = v_head_dim;
    made.q_offset = q_offset;
    made.k_offset = k_offset;
    made.v_offset = v_offset;
    made.interleaved = interleaved;
    made.rotary_dim = rotary_dim;
    return made;
  }
};

// Operands of both ops that concern the attention.
struct BlockVals : AttentionVals {
  Val x{"x"}, wq{"wq"}, wk{"wk"}, wv{"wv"}, wo{"wo"}, bq{"bq"}, bk{"bk"}, bv{"bv"}, bo{"bo"};
  Val cos{"cos"}, sin{"sin"};
};

// Queries, keys and values from three matrices, two or one: norm(attention + residual).
Rule AttentionBlock(const char* name, bool layer, bool product_first, int matrices,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const BlockAttrs a;
  const BlockVals v;
  const Matrices m;
  const Ending end{.layer = layer, .product_first = product_first};
  Attr<std::string> layout("layout");
  Val q = m.Of(v.x, v.wq, v.bq), k = matrices > 1 ? m.Of(v.x, v.wk, v.bk) : q,
      values = matrices > 2 ? m.Of(v.x, v.wv, v.bv) : k;
  // Rotated heads are split, in the order of the rows.
  const Dim batch("B"), length("S"), size("D"), q_heads("H"), k_heads("G");
  const auto heads = [&](const Val& rows, const Dim& count) {
    Val split = Reshape(rows, {.shape = {batch, length, count, size}});
    Val rotated = fused::Rotary(split, v.cos, v.sin,
                                {.interleaved = a.interleaved, .rotary_dim = a.rotary_dim});
    return AnyOf(rotated.Let(layout, "bshd")
                     .Let(a.head_dim, int64_t{-1})
                     .Let(a.q_offset, int64_t{0})
                     .Let(a.k_offset, int64_t{0}),
                 rows.Let(layout, "bsh").Let(a.interleaved, false).Let(a.rotary_dim, int64_t{0}));
  };
  const bool separate = matrices > 2;
  Val attention = v.Matched(separate ? heads(q, q_heads) : q, separate ? heads(k, k_heads) : k,
                            values, a.Attention(layout));
  Val product = m.Of(attention, v.wo, v.bo), norm = end.Of(product);
  fused::AttentionBlockArgs args = a.Of(fused::AttentionBlockArgs{
      .norm = end.norm(), .epsilon = end.epsilon, .transpose_w = m.transpose});
  if (!separate) {
    args.interleaved = false;
    args.rotary_dim = int64_t{0};
  }
  const OptVal none;
  Val made =
      fused::AttentionBlock(v.x, end.residual, v.wq, v.wo, v.bq, matrices > 1 ? OptVal(v.wk) : none,
                            matrices > 1 ? OptVal(v.bk) : none, separate ? OptVal(v.wv) : none,
                            separate ? OptVal(v.bv) : none, v.bo, separate ? OptVal(v.cos) : none,
                            separate ? OptVal(v.sin) : none, v.mask, v.bias, v.key_mask, v.past_key,
                            v.past_value, end.scale, end.norm_bias(), args);
  return Rule(name, file, line)
      .Summary("the half of a layer with the attention, from its rows to the next norm")
      .Match({norm, norm.result(1), attention.result(1), attention.result(2)})
      .Where(ShapeIs(v.x, {batch, length, AnyDim()}) &&
             end.Fits(product, norm, {attention, q, k, values}))
      .Replace({made, made.result(1), made.result(2), made.result(3)});
}

// norm(linear(activation(linear(x))) + residual), with or without a gate.
Rule FeedForward(const char* name, bool layer, bool product_first,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Matrices m;
  const Ending end{.layer = layer, .product_first = product_first};
  Val x("x"), wu("wu"), wg("wg"), wd("wd"), bu("bu"), bg("bg"), bd("bd");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  Val gated = fused::Gated(m.Of(x, wg, bg), m.Of(x, wu, bu),
                           {.activation = activation, .alpha = alpha, .beta = beta});
  Val plain = fused::Linear(
      x, wu, Maybe(bu), {},
      {.transpose_w = m.transpose, .activation = activation, .alpha = alpha, .beta = beta});
  Val inner = AnyOf(gated, plain), product = m.Of(inner, wd, bd), norm = end.Of(product);
  Val made = fused::FeedForward(x, end.residual, wu, wd, bu, wg, bg, bd, end.scale, end.norm_bias(),
                                {.activation = activation,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .norm = end.norm(),
                                 .epsilon = end.epsilon,
                                 .transpose_w = m.transpose});
  return Rule(name, file, line)
      .Summary("the half of a layer without the attention, from its rows to the next norm")
      .Match({norm, norm.result(1)})
      .Where(end.Fits(product, norm, {inner}))
      .Replace({made, made.result(1)});
}

// The same with one matrix for the gate and the factor, which halves of its columns make.
Rule FeedForwardPacked(const char* name, bool layer, bool product_first, bool biased,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Matrices m;
  const Ending end{.layer = layer, .product_first = product_first};
  Val x("x"), w("w"), b("b"), wd("wd"), bd("bd");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  Attr<bool> second("second");
  const OptVal none;
  Val both = fused::Linear(x, w, biased ? OptVal(b) : none, {}, {.transpose_w = m.transpose});
  Val inner = fused::Gated(
      both, {}, {.activation = activation, .alpha = alpha, .beta = beta, .second = second});
  Val product = m.Of(inner, wd, bd), norm = end.Of(product);
  // The columns of the gate lie in front, or behind with `second`.
  const Term axis = Choose(m.transpose, 0, 1), columns = ExtentOf(inner, -1);
  const auto half = [&](const Val& of, const Term& along, bool gate) {
    const Term begin = gate ? Choose(second, columns, 0) : Choose(second, 0, columns);
    return Slice(of, {.axes = ListOf({along}),
                      .starts = ListOf({begin}),
                      .ends = ListOf({begin + columns}),
                      .steps = {1}});
  };
  const auto bias = [&](bool gate) { return biased ? OptVal(half(b, 0, gate)) : none; };
  Val made = fused::FeedForward(x, end.residual, half(w, axis, false), wd, bias(false),
                                half(w, axis, true), bias(true), bd, end.scale, end.norm_bias(),
                                {.activation = activation,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .norm = end.norm(),
                                 .epsilon = end.epsilon,
                                 .transpose_w = m.transpose});
  return Rule(name, file, line)
      .Summary("… with the gate and the factor from one product")
      .Match({norm, norm.result(1)})
      .Where(end.Fits(product, norm, {inner, both}) && FollowsFromConstants(w))
      .Where(biased ? FollowsFromConstants(b) : Condition())
      .Replace({made, made.result(1)})
      .Lowers(OpsOf({"fused.linear"}));
}

// Both halves of a layer.
Rule Layer(const char* name, bool post_norm, const char* file = __builtin_FILE(),
           int line = __builtin_LINE()) {
  const BlockAttrs a;
  const BlockVals v;
  Val residual("residual"), scale("norm_scale"), bias("norm_bias"), out_scale("out_scale"),
      out_bias("out_bias");
  Val wu("wu"), wg("wg"), wd("wd"), bu("bu"), bg("bg"), bd("bd");
  Attr<std::string> activation("activation"), norm("norm");
  Attr<float> alpha("alpha"), beta("beta"), epsilon("epsilon");
  Attr<bool> transpose("transpose");
  Val block = fused::AttentionBlock(
      v.x, residual, v.wq, v.wo, Maybe(v.bq), Maybe(v.wk), Maybe(v.bk), Maybe(v.wv), Maybe(v.bv),
      Maybe(v.bo), Maybe(v.cos), Maybe(v.sin), Maybe(v.mask), Maybe(v.bias), Maybe(v.key_mask),
      Maybe(v.past_key), Maybe(v.past_value), Maybe(scale), Maybe(bias),
      a.Of(fused::AttentionBlockArgs{.norm = norm, .epsilon = epsilon, .transpose_w = transpose}));
  Val forward =
      fused::FeedForward(block, post_norm ? block : block.result(1), wu, wd, Maybe(bu), Maybe(wg),
                         Maybe(bg), Maybe(bd), Maybe(out_scale), Maybe(out_bias),
                         {.activation = activation,
                          .alpha = alpha,
                          .beta = beta,
                          .norm = norm,
                          .epsilon = epsilon,
                          .transpose_w = transpose});
  Val made =
      fused::TransformerLayer(v.x, residual, v.wq, v.wo, wu, wd, v.bq, v.wk, v.bk, v.wv, v.bv, v.bo,
                              v.cos, v.sin, v.mask, v.bias, v.key_mask, v.past_key, v.past_value,
                              scale, bias, bu, wg, bg, bd, out_scale, out_bias,
                              a.Of(fused::TransformerLayerArgs{.activation = activation,
                                                               .alpha = alpha,
                                                               .beta = beta,
                                                               .norm = norm,
                                                               .epsilon = epsilon,
                                                               .transpose_w = transpose,
                                                               .post_norm = post_norm}));
  return Rule(name, file, line)
      .Summary(post_norm ? "both halves of a layer whose residuals are norms"
                         : "both halves of a layer whose residuals are sums")
      .Match({forward, forward.result(1), block.result(2), block.result(3)})
      .Replace({made, made.result(1), made.result(2), made.result(3)});
}

}  // namespace

RuleSet TransformerRules() {
  return {AttentionBlock("attention-block-layer-norm", true, true, 3),
          AttentionBlock("attention-block-layer-norm-second", true, false, 3),
          AttentionBlock("attention-block-rms-norm", false, true, 3),
          AttentionBlock("attention-block-rms-norm-second", false, false, 3),
          AttentionBlock("attention-block-packed-kv-layer-norm", true, true, 2),
          AttentionBlock("attention-block-packed-kv-layer-norm-second", true, false, 2),
          AttentionBlock("attention-block-packed-kv-rms-norm", false, true, 2),
          AttentionBlock("attention-block-packed-kv-rms-norm-second", false, false, 2),
          AttentionBlock("attention-block-packed-layer-norm", true, true, 1),
          AttentionBlock("attention-block-packed-layer-norm-second", true, false, 1),
          AttentionBlock("attention-block-packed-rms-norm", false, true, 1),
          AttentionBlock("attention-block-packed-rms-norm-second", false, false, 1),
          FeedForward("feed-forward-layer-norm", true, true),
          FeedForward("feed-forward-layer-norm-second", true, false),
          FeedForward("feed-forward-rms-norm", false, true),
          FeedForward("feed-forward-rms-norm-second", false, false),
          FeedForwardPacked("feed-forward-packed-layer-norm", true, true, true),
          FeedForwardPacked("feed-forward-packed-layer-norm-second", true, false, true),
          FeedForwardPacked("feed-forward-packed-rms-norm", false, true, true),
          FeedForwardPacked("feed-forward-packed-rms-norm-second", false, false, true),
          FeedForwardPacked("feed-forward-packed-layer-norm-unbiased", true, true, false),
          FeedForwardPacked("feed-forward-packed-layer-norm-unbiased-second", true, false, false),
          FeedForwardPacked("feed-forward-packed-rms-norm-unbiased", false, true, false),
          FeedForwardPacked("feed-forward-packed-rms-norm-unbiased-second", false, false, false),
          Layer("transformer-layer", false),
          Layer("transformer-layer-post-norm", true)};
}

}  // namespace tenon::pattern
