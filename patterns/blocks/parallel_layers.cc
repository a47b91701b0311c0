// Layers of transformers whose halves do not wait for each other: both are added to one residual,
// as in GPT-J, GPT-NeoX and Falcon. Part of the family `transformer`.
#include <string>

#include "patterns/blocks/transformer_parts.h"

namespace tenon::pattern {
namespace {

// How a layer is written down.
struct Form {
  bool layer;      // the norms are layer norms, else RMS norms
  bool own;        // the linear layers read a norm of their own of the residual
  bool sum_first;  // in the last addition the sum of both halves is the first operand
  int matrices;    // of queries, keys and values

  std::string Name() const {
    std::string name = "parallel-layer";
    if (matrices < 3) name += matrices == 2 ? "-packed-kv" : "-packed";
    name += layer ? "-layer-norm" : "-rms-norm";
    if (own) name += "-own";
    return sum_first ? name : name + "-second";
  }
};

Rule Parallel(const Form& form, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const LayerAttrs a;
  const BlockVals v;
  const Matrices m{.transpose = a.transpose};
  const AttentionHalf half(a, v, m, form.matrices);
  Val residual("residual"), scale("norm_scale"), bias("norm_bias"), out_scale("out_scale"),
      out_bias("out_bias");
  Val wu("wu"), wg("wg"), wd("wd"), bu("bu"), bg("bg"), bd("bd");
  Attr<int64_t> axis("axis");
  Val own_norm = form.layer ? LayerNorm(residual, Maybe(scale), Maybe(bias),
                                        {.axis = axis, .epsilon = a.epsilon})
                            : RmsNorm(residual, Maybe(scale), {.axis = axis, .epsilon = a.epsilon});
  const Val rows = form.own ? own_norm : v.x;
  Val gated = fused::Gated(m.Of(rows, wg, bg), m.Of(rows, wu, bu),
                           {.activation = a.activation, .alpha = a.alpha, .beta = a.beta});
  Val plain = fused::Linear(
      rows, wu, Maybe(bu), {},
      {.transpose_w = a.transpose, .activation = a.activation, .alpha = a.alpha, .beta = a.beta});
  Val inner = AnyOf(gated, plain);
  // One product has the other as its residual.
  Val sum = AnyOf(m.OfWithResidual(half.attention, v.wo, v.bo, m.Of(inner, wd, bd)),
                  m.OfWithResidual(inner, wd, bd, m.Of(half.attention, v.wo, v.bo)));
  const Val &first = form.sum_first ? sum : residual, &second = form.sum_first ? residual : sum;
  Val norm = form.layer ? fused::SkipLayerNorm(first, second, Maybe(out_scale), Maybe(out_bias),
                                               {.axis = axis, .epsilon = a.epsilon})
                        : fused::SkipRmsNorm(first, second, Maybe(out_scale),
                                             {.axis = axis, .epsilon = a.epsilon});
  fused::TransformerLayerArgs args = half.Rotated(a.Of(fused::TransformerLayerArgs{}));
  args.norm = form.layer ? "layer" : "rms";
  args.post_norm = false;
  args.parallel = form.own ? "own" : "shared";
  const OptVal none;
  Val made = fused::TransformerLayer(
      v.x, residual, v.wq, v.wo, wu, wd, v.bq, half.wk(), half.bk(), half.wv(), half.bv(), v.bo,
      half.cos(), half.sin(), v.mask, v.bias, v.key_mask, v.past_key, v.past_value,
      form.own ? OptVal(scale) : none, form.own && form.layer ? OptVal(bias) : none, bu, wg, bg, bd,
      out_scale, form.layer ? OptVal(out_bias) : none, args);
  Condition outside;
  for (const Val& val : {half.attention, half.q, half.k, half.values, inner})
    outside = outside && !(Term(residual) == Term(val));
  Condition fits = half.Fits() && If("the last axis is normalized", axis == RankOf(norm) - 1) &&
                   Rank(out_scale, 1) && SameShape(sum, norm) && SameShape(residual, norm) &&
                   If("the residual comes from outside", outside);
  if (form.layer) fits = fits && Rank(out_bias, 1);
  if (form.own) fits = fits && Rank(scale, 1);
  if (form.own && form.layer) fits = fits && Rank(bias, 1);
  return Rule(form.Name(), file, line)
      .Summary(form.own ? "both halves of a layer, each with a norm of its own, beside each other"
                        : "both halves of a layer, which share a norm, beside each other")
      .Match({norm, norm.result(1), half.attention.result(1), half.attention.result(2)})
      .Where(fits)
      .Replace({made, made.result(1), made.result(2), made.result(3)});
}

}  // namespace

RuleSet ParallelLayerRules() {
  RuleSet rules;
  for (const int matrices : {3, 2, 1}) {
    for (const bool layer : {true, false}) {
      for (const bool own : {false, true}) {
        for (const bool sum_first : {true, false}) {
          rules.push_back(
              Parallel({.layer = layer, .own = own, .sum_first = sum_first, .matrices = matrices}));
        }
      }
    }
  }
  return rules;
}

}  // namespace tenon::pattern
