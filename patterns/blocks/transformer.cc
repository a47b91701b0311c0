// Halves of the layers of transformers as one op, and whole layers. They are made of what the other
// families leave, and the parts are as fast, so the pipelines leave this family out;
// `fuse{rules=transformer}` applies it.
#include <initializer_list>

#include "patterns/blocks/transformer_parts.h"

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

// Queries, keys and values from three matrices, two or one: norm(attention + residual).
Rule AttentionBlock(const char* name, bool layer, bool product_first, int matrices,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const BlockAttrs a;
  const BlockVals v;
  const Matrices m;
  const Ending end{.layer = layer, .product_first = product_first};
  const AttentionHalf half(a, v, m, matrices);
  Val product = m.Of(half.attention, v.wo, v.bo), norm = end.Of(product);
  const fused::AttentionBlockArgs args = half.Rotated(a.Of(fused::AttentionBlockArgs{
      .norm = end.norm(), .epsilon = end.epsilon, .transpose_w = m.transpose}));
  Val made =
      fused::AttentionBlock(v.x, end.residual, v.wq, v.wo, v.bq, half.wk(), half.bk(), half.wv(),
                            half.bv(), v.bo, half.cos(), half.sin(), v.mask, v.bias, v.key_mask,
                            v.past_key, v.past_value, end.scale, end.norm_bias(), args);
  return Rule(name, file, line)
      .Summary("the half of a layer with the attention, from its rows to the next norm")
      .Match({norm, norm.result(1), half.attention.result(1), half.attention.result(2)})
      .Where(half.Fits() && end.Fits(product, norm, {half.attention, half.q, half.k, half.values}))
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
  const LayerAttrs a;
  const BlockVals v;
  Val residual("residual"), scale("norm_scale"), bias("norm_bias"), out_scale("out_scale"),
      out_bias("out_bias");
  Val wu("wu"), wg("wg"), wd("wd"), bu("bu"), bg("bg"), bd("bd");
  Val block = fused::AttentionBlock(
      v.x, residual, v.wq, v.wo, Maybe(v.bq), Maybe(v.wk), Maybe(v.bk), Maybe(v.wv), Maybe(v.bv),
      Maybe(v.bo), Maybe(v.cos), Maybe(v.sin), Maybe(v.mask), Maybe(v.bias), Maybe(v.key_mask),
      Maybe(v.past_key), Maybe(v.past_value), Maybe(scale), Maybe(bias),
      a.BlockAttrs::Of(fused::AttentionBlockArgs{
          .norm = a.norm, .epsilon = a.epsilon, .transpose_w = a.transpose}));
  Val forward =
      fused::FeedForward(block, post_norm ? block : block.result(1), wu, wd, Maybe(bu), Maybe(wg),
                         Maybe(bg), Maybe(bd), Maybe(out_scale), Maybe(out_bias),
                         {.activation = a.activation,
                          .alpha = a.alpha,
                          .beta = a.beta,
                          .norm = a.norm,
                          .epsilon = a.epsilon,
                          .transpose_w = a.transpose});
  fused::TransformerLayerArgs args = a.Of(fused::TransformerLayerArgs{});
  args.post_norm = post_norm;
  args.parallel = "none";
  Val made =
      fused::TransformerLayer(v.x, residual, v.wq, v.wo, wu, wd, v.bq, v.wk, v.bk, v.wv, v.bv, v.bo,
                              v.cos, v.sin, v.mask, v.bias, v.key_mask, v.past_key, v.past_value,
                              scale, bias, bu, wg, bg, bd, out_scale, out_bias, args);
  return Rule(name, file, line)
      .Summary(post_norm ? "both halves of a layer whose residuals are norms"
                         : "both halves of a layer whose residuals are sums")
      .Match({forward, forward.result(1), block.result(2), block.result(3)})
      .Replace({made, made.result(1), made.result(2), made.result(3)});
}

}  // namespace

RuleSet TransformerRules() {
  RuleSet rules = {
      AttentionBlock("attention-block-layer-norm", true, true, 3),
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
  for (const Rule& rule : ParallelLayerRules()) rules.push_back(rule);
  return rules;
}

}  // namespace tenon::pattern
