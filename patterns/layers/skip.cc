// Residual additions with the norm that follows. They come last: attention and linear want the
// addition for themselves first.
#include "patterns/layers/activations.h"

namespace tenon::pattern {
namespace {

// layer_norm(x + skip), and the sum for whoever else needs it
Rule SkipLayerNorm() {
  Val x("x"), skip("skip"), w("w"), b("b");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val sum = Add(x, skip);
  Val norm = LayerNorm(sum, Maybe(w), Maybe(b), {.axis = axis, .epsilon = epsilon});
  Val fused = fused::SkipLayerNorm(x, skip, w, b, {.axis = axis, .epsilon = epsilon});
  return Rule("skip-layer-norm")
      .Summary("layer_norm(x + skip) and x + skip")
      .Match({norm, sum})
      .Where(SameShape(x, sum))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

Rule SkipRmsNorm() {
  Val x("x"), skip("skip"), w("w");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val sum = Add(x, skip);
  Val norm = RmsNorm(sum, Maybe(w), {.axis = axis, .epsilon = epsilon});
  Val fused = fused::SkipRmsNorm(x, skip, w, {.axis = axis, .epsilon = epsilon});
  return Rule("skip-rms-norm")
      .Summary("rms_norm(x + skip) and x + skip")
      .Match({norm, sum})
      .Where(SameShape(x, sum))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

// group_norm(x + skip), and the sum for whoever else needs it
Rule SkipGroupNorm() {
  Val x("x"), skip("skip"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon");
  Val sum = Add(x, skip);
  Val norm = nn::GroupNorm(sum, Maybe(w), Maybe(b), {.groups = groups, .epsilon = epsilon});
  Val fused = fused::GroupNorm(x, skip, w, b, {.groups = groups, .epsilon = epsilon});
  return Rule("skip-group-norm")
      .Summary("group_norm(x + skip) and x + skip")
      .Match({norm, sum})
      .Where(SameShape(x, skip))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

Rule GroupNormActivation() {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon"), alpha("alpha"), beta("beta");
  Attr<std::string> activation("activation");
  Val norm = nn::GroupNorm(x, Maybe(w), Maybe(b), {.groups = groups, .epsilon = epsilon});
  return Rule("group-norm-activation")
      .Summary("activation(group_norm(x))")
      .Match(AnyActivation(norm, activation, alpha, beta))
      .Replace(fused::GroupNorm(x, {}, w, b,
                                {.groups = groups,
                                 .epsilon = epsilon,
                                 .activation = activation,
                                 .alpha = alpha,
                                 .beta = beta}))
      .RequireKernel();
}

Rule SkipGroupNormActivation() {
  Val x("x"), skip("skip"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon"), alpha("alpha"), beta("beta");
  Attr<std::string> activation("activation");
  Val norm = fused::GroupNorm(x, skip, Maybe(w), Maybe(b), {.groups = groups, .epsilon = epsilon});
  Val fused = fused::GroupNorm(x, skip, w, b,
                               {.groups = groups,
                                .epsilon = epsilon,
                                .activation = activation,
                                .alpha = alpha,
                                .beta = beta});
  return Rule("skip-group-norm-activation")
      .Summary("activation(group_norm(x + skip)) and x + skip")
      .Match({AnyActivation(norm, activation, alpha, beta), norm.result(1)})
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

}  // namespace

RuleSet SkipRules() {
  return {SkipLayerNorm(), SkipRmsNorm(), SkipGroupNorm(), GroupNormActivation(),
          SkipGroupNormActivation()};
}

}  // namespace tenon::pattern
