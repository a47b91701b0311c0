// Linear layers with an activation between them and none behind the last one, as in the
// feed-forward half of a transformer's layer, as one op. The op is not known to be faster than its
// parts, so the pipelines leave this family out; `fuse{rules=mlp}` applies it.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// Layers that share their activation and the way in which matrices are stored.
struct Layers {
  Val x{"x"}, residual{"residual"};
  Attr<bool> transpose{"transpose"};
  Attr<std::string> activation{"activation"};
  Attr<float> alpha{"alpha"}, beta{"beta"};

  // A layer in front of others.
  Val Inner(const Val& w, const OptVal& b) const {
    return fused::Linear(
        x, w, b, {},
        {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  }
  // The last layer.
  Val Last(const Val& rows, const Val& w, const OptVal& b) const {
    return fused::Linear(rows, w, b, Maybe(residual), {.transpose_w = transpose});
  }
  Val Chain(const Val& rows, const OptVal& summand, const ValList& parameters, bool biased,
            bool activate_last = false) const {
    return fused::LinearChain(rows, summand, parameters,
                              {.transpose_w = transpose,
                               .biased = biased,
                               .activate_last = activate_last,
                               .activation = activation,
                               .alpha = alpha,
                               .beta = beta});
  }
  Rule Make(Rule rule, const Val& root) const {
    return std::move(rule)
        .Summary("linear layers with an activation between them, one after the other")
        .Where(If("there is an activation", !(Term(activation) == Term("none"))) &&
               SameShape(residual, root))  // where there is one
        .Lowers(OpsOf({"fused.linear"}))
        .RequireKernel();
  }
};

// Two layers. One without a bias beside one that has a bias gets zeros.
Rule Two(const char* name, bool first_biased, bool second_biased,
         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Layers l;
  Val w("w"), b("b"), v("v"), c("c");
  Val inner = l.Inner(w, first_biased ? OptVal(b) : OptVal());
  Val root = l.Last(inner, v, second_biased ? OptVal(c) : OptVal());
  // A negative zero and a number make that number.
  const auto zeros = [](const Val& product) {
    return Expand(Splat(-0.0), {.shape = ListOf({ExtentOf(product, -1)})});
  };
  const bool biased = first_biased || second_biased;
  const ValList parameters =
      biased ? ValList{w, first_biased ? b : zeros(inner), v, second_biased ? c : zeros(root)}
             : ValList{w, v};
  return l.Make(
      Rule(name, file, line).Match(root).Replace(l.Chain(l.x, l.residual, parameters, biased)),
      root);
}

// The last layer behind a chain whose layers are all activated.
Rule End(const char* name, bool biased, const char* file = __builtin_FILE(),
         int line = __builtin_LINE()) {
  const Layers l;
  Val w("w"), b("b"), layers = Each("layers");
  Val root = l.Last(l.Chain(l.x, {}, layers, biased, true), w, biased ? OptVal(b) : OptVal());
  const ValList parameters = biased ? ValList{layers, w, b} : ValList{layers, w};
  return l.Make(
      Rule(name, file, line).Match(root).Replace(l.Chain(l.x, l.residual, parameters, biased)),
      root);
}

// One more layer in front.
Rule Prepend(const char* name, bool biased, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  const Layers l;
  Val w("w"), b("b"), layers = Each("layers");
  Val root = l.Chain(l.Inner(w, biased ? OptVal(b) : OptVal()), Maybe(l.residual), layers, biased);
  const ValList parameters = biased ? ValList{w, b, layers} : ValList{w, layers};
  return l.Make(
      Rule(name, file, line).Match(root).Replace(l.Chain(l.x, l.residual, parameters, biased)),
      root);
}

}  // namespace

RuleSet MlpRules() {
  return {Two("mlp", true, true),
          Two("mlp-without-bias", false, false),
          Two("mlp-first-bias", true, false),
          Two("mlp-last-bias", false, true),
          End("mlp-end", true),
          End("mlp-end-without-bias", false),
          Prepend("mlp-prepend", true),
          Prepend("mlp-prepend-without-bias", false)};
}

}  // namespace tenon::pattern
