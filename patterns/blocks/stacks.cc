// Layers of transformers, one after the other, as one op. Lowering runs the layers, so the
// pipelines leave this family out; `fuse{rules=transformer|stacks}` applies it.
#include "patterns/blocks/transformer_attrs.h"

namespace tenon::pattern {
namespace {

// One layer, as a stack that can grow.
Rule StackOfLayer() {
  const LayerAttrs a;
  Val x("x"), residual("residual"), wq("wq"), wo("wo"), wu("wu"), wd("wd"), bq("bq"), wk("wk"),
      bk("bk"), wv("wv"), bv("bv"), bo("bo"), cos("cos"), sin("sin"), mask("mask"), bias("bias"),
      key_mask("key_mask"), past_key("past_key"), past_value("past_value"), scale("norm_scale"),
      norm_bias("norm_bias"), bu("bu"), wg("wg"), bg("bg"), bd("bd"), out_scale("out_scale"),
      out_bias("out_bias");
  const auto has = [](const Val& operand) { return Choose(Exists(operand), 1, 0); };
  Val layer = fused::TransformerLayer(
      x, residual, wq, wo, wu, wd, Maybe(bq), Maybe(wk), Maybe(bk), Maybe(wv), Maybe(bv), Maybe(bo),
      Maybe(cos), Maybe(sin), Maybe(mask), Maybe(bias), Maybe(key_mask), Maybe(past_key),
      Maybe(past_value), Maybe(scale), Maybe(norm_bias), Maybe(bu), Maybe(wg), Maybe(bg), Maybe(bd),
      Maybe(out_scale), Maybe(out_bias), a.Of(fused::TransformerLayerArgs{}));
  Val made = fused::TransformerStack(
      x, residual, {wq,        wo,  wu,  wd,   bq,   wk,        bk,       wv,         bv,
                    bo,        cos, sin, mask, bias, key_mask,  past_key, past_value, scale,
                    norm_bias, bu,  wg,  bg,   bd,   out_scale, out_bias},
      a.Of(fused::TransformerStackArgs{
          .has = ListOf({has(bq),       has(wk),       has(bk),         has(wv),    has(bv),
                         has(bo),       has(cos),      has(sin),        has(mask),  has(bias),
                         has(key_mask), has(past_key), has(past_value), has(scale), has(norm_bias),
                         has(bu),       has(wg),       has(bg),         has(bd),    has(out_scale),
                         has(out_bias)})}));
  return Rule("transformer-stack")
      .Summary("a layer of a transformer as a stack of one")
      .Match({layer, layer.result(1), layer.Rest(2)})
      .Replace({made, made.result(1), made.Rest(2)})
      .Lowers(OpsOf({"fused.transformer_layer"}));
}

// Two stacks, of which one reads the other.
Rule JoinStacks(const char* name, bool post_norm, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  const LayerAttrs a;
  Val x("x"), residual("residual"), first = Each("first"), second = Each("second");
  Attr<I64s> has("has");
  const auto stack = [&](const Val& rows, const Val& sum, const ValList& layers) {
    auto args = a.Of(fused::TransformerStackArgs{.has = has});
    args.post_norm = post_norm;
    return fused::TransformerStack(rows, sum, layers, args);
  };
  Val lower = stack(x, residual, first);
  Val upper = stack(lower, post_norm ? lower : lower.result(1), second);
  Val made = stack(x, residual, {first, second});
  return Rule(name, file, line)
      .Summary(post_norm ? "layers whose residuals are norms, one after the other"
                         : "layers whose residuals are sums, one after the other")
      .Match({upper, upper.result(1), lower.Rest(2), upper.Rest(2)})
      .Replace({made, made.result(1), made.Rest(2), made.Rest(2)});
}

}  // namespace

RuleSet StacksRules() {
  return {StackOfLayer(), JoinStacks("transformer-stack-join", false),
          JoinStacks("transformer-stack-join-post-norm", true)};
}

}  // namespace tenon::pattern
