// Residual additions with the norm that follows. They come last: attention and linear want the
// addition for themselves first.
#include "patterns/prelude.h"

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

}  // namespace

RuleSet SkipRules() { return {SkipLayerNorm(), SkipRmsNorm()}; }

}  // namespace tenon::pattern
