// Linear layers with the norm behind or before them, chains of them, and two that a gate reads, as
// one op. The parts are as fast, so the pipelines leave this family out; `fuse{rules=blocks}`
// applies it.
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

// A linear layer with everything that the fused ops take over from it.
struct Layer {
  Val x{"x"}, w{"w"}, b{"b"};
  Attr<bool> transpose{"transpose"};
  Attr<std::string> activation{"activation"};
  Attr<float> alpha{"alpha"}, beta{"beta"};

  Val Of(const Val& rows, const OptVal& residual) const {
    return fused::Linear(
        rows, w, Maybe(b), residual,
        {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  }
};

// Which place in the addition before the norm the product has.
enum class Place : uint8_t { kFirst, kSecond, kAlone };

// norm(linear(x) + residual), and the sum for whoever else needs it.
Rule LinearNorm(const char* name, bool layer, Place place, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  const Layer l;
  Val residual("residual"), scale("scale"), bias("bias");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  const bool alone = place == Place::kAlone;
  Val product = l.Of(l.x, alone ? Maybe(residual) : OptVal());
  const Val &first = place == Place::kSecond ? residual : product,
            &second = place == Place::kSecond ? product : residual;
  Val norm =
      alone && layer
          ? LayerNorm(product, Maybe(scale), Maybe(bias), {.axis = axis, .epsilon = epsilon})
      : alone ? RmsNorm(product, Maybe(scale), {.axis = axis, .epsilon = epsilon})
      : layer ? fused::SkipLayerNorm(first, second, Maybe(scale), Maybe(bias),
                                     {.axis = axis, .epsilon = epsilon})
              : fused::SkipRmsNorm(first, second, Maybe(scale), {.axis = axis, .epsilon = epsilon});
  Val fused = fused::LinearNorm(l.x, l.w, l.b, residual, scale, layer ? OptVal(bias) : OptVal(),
                                {.transpose_w = l.transpose,
                                 .activation = l.activation,
                                 .alpha = l.alpha,
                                 .beta = l.beta,
                                 .norm = layer ? "layer" : "rms",
                                 .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary("the norm of a linear layer, with its residual, and the sum")
      .Match({norm, alone ? product : norm.result(1)})
      .Where(If("the last axis is normalized", axis == RankOf(norm) - 1) && Rank(scale, 1) &&
             (layer ? Rank(bias, 1) : Condition()) && SameShape(product, norm))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

// linear(norm(x))
Rule NormLinear(const char* name, bool layer, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  const Layer l;
  Val residual("residual"), scale("scale"), bias("bias");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val norm = layer ? LayerNorm(l.x, Maybe(scale), Maybe(bias), {.axis = axis, .epsilon = epsilon})
                   : RmsNorm(l.x, Maybe(scale), {.axis = axis, .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary("a linear layer of a norm that nothing else reads")
      .Match(l.Of(norm, Maybe(residual)))
      .Where(If("the last axis is normalized", axis == RankOf(norm) - 1) && Rank(scale, 1) &&
             (layer ? Rank(bias, 1) : Condition()))
      .Replace(fused::NormLinear(l.x, l.w, l.b, residual, scale, layer ? OptVal(bias) : OptVal(),
                                 {.transpose_w = l.transpose,
                                  .activation = l.activation,
                                  .alpha = l.alpha,
                                  .beta = l.beta,
                                  .norm = layer ? "layer" : "rms",
                                  .epsilon = epsilon}))
      .RequireKernel();
}

// Layers with a bias and one activation, which grow a chain at either end.
struct ChainParts {
  Attr<bool> transpose{"transpose"};
  Attr<std::string> activation{"activation"};
  Attr<float> alpha{"alpha"}, beta{"beta"};

  Val Layer(const Val& x, const Val& w, const Val& b) const {
    return fused::Linear(
        x, w, b, {},
        {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  }
  Val Chain(const Val& x, const ValList& parameters) const {
    return fused::LinearChain(
        x, {}, parameters,
        {.transpose_w = transpose, .activation = activation, .alpha = alpha, .beta = beta});
  }
  Rule Make(const char* name, const Val& root, const Val& result, const char* file,
            int line) const {
    return Rule(name, file, line)
        .Summary("linear layers with one activation, one after the other")
        .Match(root)
        .Where(If("there is an activation", !(Term(activation) == Term("none"))))
        .Replace(result)
        .RequireKernel();
  }
};

Rule ChainOfTwo(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const ChainParts p;
  Val x("x"), w("w"), b("b"), w1("w1"), b1("b1");
  return p.Make("linear-chain", p.Layer(p.Layer(x, w, b), w1, b1), p.Chain(x, {w, b, w1, b1}), file,
                line);
}

Rule ChainAppend(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const ChainParts p;
  Val x("x"), w("w"), b("b"), layers = Each("layers");
  return p.Make("linear-chain-append", p.Layer(p.Chain(x, layers), w, b),
                p.Chain(x, {layers, w, b}), file, line);
}

Rule ChainPrepend(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const ChainParts p;
  Val x("x"), w("w"), b("b"), layers = Each("layers");
  return p.Make("linear-chain-prepend", p.Chain(p.Layer(x, w, b), layers),
                p.Chain(x, {w, b, layers}), file, line);
}

Rule ChainOfChains(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const ChainParts p;
  Val x("x"), layers = Each("layers"), more = Each("more");
  return p.Make("linear-chain-of-chains", p.Chain(p.Chain(x, layers), more),
                p.Chain(x, {layers, more}), file, line);
}

// The gate and the factor of a gated activation, which reads both from one tensor.
Rule PackGate(const char* name, bool transposed, bool biased, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  Val x("x"), wg = Const("wg"), wu = Const("wu"), bg = Const("bg"), bu = Const("bu");
  Attr<std::string> activation("activation");
  Attr<float> alpha("alpha"), beta("beta");
  const auto product = [&](const Val& w, const Val& b) {
    return fused::Linear(x, w, biased ? OptVal(b) : OptVal(), {}, {.transpose_w = transposed});
  };
  const fused::GatedArgs args{.activation = activation, .alpha = alpha, .beta = beta};
  return Rule(name, file, line)
      .Summary("the gate and the factor of a gated activation from one product")
      .Match(fused::Gated(product(wg, bg), product(wu, bu), args))
      .Where(SameType(wg, wu))
      .Replace(fused::Gated(
          product(Concat({wg, wu}, {.axis = transposed ? 0 : 1}), Concat({bg, bu}, {.axis = 0})),
          {}, args))
      .Lowers(OpsOf({"fused.linear"}))
      .RequireKernel();
}

}  // namespace

RuleSet BlocksRules() {
  return {LinearNorm("linear-layer-norm", true, Place::kAlone),
          LinearNorm("linear-rms-norm", false, Place::kAlone),
          LinearNorm("linear-skip-layer-norm", true, Place::kFirst),
          LinearNorm("linear-skip-layer-norm-second", true, Place::kSecond),
          LinearNorm("linear-skip-rms-norm", false, Place::kFirst),
          LinearNorm("linear-skip-rms-norm-second", false, Place::kSecond),
          ChainOfTwo(),
          ChainAppend(),
          ChainPrepend(),
          ChainOfChains(),
          NormLinear("layer-norm-linear", true),
          NormLinear("rms-norm-linear", false),
          PackGate("pack-gate", false, true),
          PackGate("pack-gate-without-bias", false, false),
          PackGate("pack-gate-transposed", true, true),
          PackGate("pack-gate-transposed-without-bias", true, false)};
}

}  // namespace tenon::pattern
