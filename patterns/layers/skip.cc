// Residual additions with the norm that follows, and batch norms that no convolution has taken.
// They come last: attention and linear want the addition for themselves first.
#include "patterns/activations/activations.h"
#include "patterns/layers/conv_parts.h"
#include "patterns/layers/norm_parts.h"

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

// A row of numbers that is added as well, such as the bias of a projection: to x, to the residual,
// or to the sum of both, which is then the first summand of the norm.
enum class OffsetOf { kX, kSkip, kSum };

// `more`: beside a row that the norm has already.
Rule SkipNormOffset(const char* name, bool layer, OffsetOf of, bool more = false,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), skip("skip"), w("w"), b("b"), offset = Const("offset"), other = Const("other");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  const Val sum = of == OffsetOf::kSum ? Add(x, skip)
                  : of == OffsetOf::kX ? Add(x, offset)
                                       : Add(skip, offset);
  const Val &first = of == OffsetOf::kSkip ? x : sum, &second = of == OffsetOf::kSum    ? offset
                                                                : of == OffsetOf::kSkip ? sum
                                                                                        : skip;
  const OptVal had = more ? OptVal(other) : OptVal();
  Val norm =
      layer ? fused::SkipLayerNorm(first, second, Maybe(w), Maybe(b), had,
                                   {.axis = axis, .epsilon = epsilon})
            : fused::SkipRmsNorm(first, second, Maybe(w), had, {.axis = axis, .epsilon = epsilon});
  Val added = Reshape(offset, {.shape = ListOf({ExtentOf(norm, -1)})});
  const Val row = more ? Add(other, added) : added;
  Val made = layer ? fused::SkipLayerNorm(x, skip, w, b, row, {.axis = axis, .epsilon = epsilon})
                   : fused::SkipRmsNorm(x, skip, w, row, {.axis = axis, .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary(of == OffsetOf::kX      ? "norm((x + row) + skip) and the sum"
               : of == OffsetOf::kSkip ? "norm(x + (skip + row)) and the sum"
                                       : "norm((x + skip) + row) and the sum")
      .Match({norm, norm.result(1)})
      .Where(If("the last axis is normalized", axis == RankOf(norm) - 1) &&
             If("the row has an element for each column", IsRow(offset, norm)) &&
             SameShape(of == OffsetOf::kSkip ? skip : x, sum) && SameShape(x, norm) &&
             (of == OffsetOf::kSum ? !IsConstant(skip) : Condition()) &&
             (more ? Rank(other, 1) : Condition()))
      .Replace({made, made.result(1)})
      .Lowers(OpsOf({"ten.add"}))
      .RequireKernel();
}

// A row beside a linear layer is its bias, which costs nothing there. What takes layers with norms
// behind them then meets norms without a row.
Rule OffsetIntoLinear(const char* name, bool layer, bool product_first, bool biased,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), m("m"), c("c"), residual("residual"), other("other");
  Val w("w"), b("b"), offset("offset");
  Attr<bool> transpose("transpose");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  const auto norm_of = [&](const Val& product, const auto& scale, const auto& bias,
                           const OptVal& row) {
    const Val &first = product_first ? product : other, &second = product_first ? other : product;
    return layer
               ? fused::SkipLayerNorm(first, second, scale, bias, row,
                                      {.axis = axis, .epsilon = epsilon})
               : fused::SkipRmsNorm(first, second, scale, row, {.axis = axis, .epsilon = epsilon});
  };
  Val product = fused::Linear(x, m, biased ? OptVal(c) : OptVal(), Maybe(residual),
                              {.transpose_w = transpose});
  Val norm = norm_of(product, Maybe(w), Maybe(b), offset);
  Val made = norm_of(
      fused::Linear(x, m, biased ? Add(c, offset) : offset, residual, {.transpose_w = transpose}),
      OptVal(w), OptVal(b), OptVal());
  return Rule(name, file, line)
      .Summary("norm((linear(x) + row) + skip): the row is the bias of the layer")
      .Match({norm, norm.result(1)})
      .Where(If("the row has an element for each column",
                ShapeOf(offset) == ListOf({ExtentOf(product, -1)})))
      .Where(biased ? FollowsFromConstants(c) && FollowsFromConstants(offset) : Condition())
      .Replace({made, made.result(1)})
      .Lowers(OpsOf({OperandsOf(layer ? "fused.skip_layer_norm" : "fused.skip_rms_norm")}));
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

// 16 bits that are widened, normalized, activated and rounded again: the kernel computes in f32 and
// rounds once.
Rule GroupNormActivationInCasts(const char* name, DType narrow_type,
                                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), w("w"), b("b");
  Attr<int64_t> groups("groups");
  Attr<float> epsilon("epsilon"), alpha("alpha"), beta("beta");
  Attr<std::string> activation("activation");
  const auto narrow = [&](const Val& v) { return Cast(v, {.to = narrow_type}); };
  Val norm =
      nn::GroupNorm(Cast(x, {.to = DType::kF32}), w, b, {.groups = groups, .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary("activation(group_norm(x)) of 16 bits that is computed in f32")
      .Match(narrow(AnyActivation(norm, activation, alpha, beta)))
      .Where(DTypeIs(x, narrow_type) && DTypeIs(w, DType::kF32) && FollowsFromConstants(w) &&
             DTypeIs(b, DType::kF32) && FollowsFromConstants(b))
      .Replace(fused::GroupNorm(x, {}, narrow(w), narrow(b),
                                {.groups = groups,
                                 .epsilon = epsilon,
                                 .activation = activation,
                                 .alpha = alpha,
                                 .beta = beta}))
      .RequireKernel()
      .Benefit(1);
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

// One that no convolution takes: by elements, which fuse, and whatever the layout. Not of 16 bits,
// in which factors and offsets, and an epsilon, would be rounded before they meet.
Rule BatchNormAlone() {
  Val x("x");
  Val scale = Const("scale"), bias = Const("bias"), mean = Const("mean"), var = Const("var");
  Attr<float> epsilon("epsilon");
  Val norm = BatchNorm(x, scale, bias, mean, var, {.epsilon = epsilon});
  Val k = Div(scale, Sqrt(Add(var, Splat(epsilon))));
  auto by_channel = [&](Val v) { return Reshape(v, {.shape = ChannelShape(norm)}); };
  return Rule("batch-norm-by-elements")
      .Summary("batch_norm(x) with known statistics = x * k + offset")
      .Match(norm)
      .Where(If("the tensor has spatial axes", RankOf(norm) > 2))
      .Where(AreFiniteStatistics(scale, mean, var))
      .Where((DTypeIs(norm, DType::kF32) && DTypeIs(scale, DType::kF32)) ||
             (DTypeIs(norm, DType::kF64) && DTypeIs(scale, DType::kF64)))
      .Replace(Add(Mul(x, by_channel(k)), by_channel(Sub(bias, Mul(mean, k)))))
      .Lowers(OpsOf({"nn.batch_norm"}));
}

}  // namespace

RuleSet SkipRules() {
  return {SkipLayerNorm(),
          SkipRmsNorm(),
          SkipNormOffset("skip-layer-norm-offset", true, OffsetOf::kX),
          SkipNormOffset("skip-layer-norm-offset-of-skip", true, OffsetOf::kSkip),
          SkipNormOffset("skip-layer-norm-offset-of-sum", true, OffsetOf::kSum),
          SkipNormOffset("skip-rms-norm-offset", false, OffsetOf::kX),
          SkipNormOffset("skip-rms-norm-offset-of-skip", false, OffsetOf::kSkip),
          SkipNormOffset("skip-rms-norm-offset-of-sum", false, OffsetOf::kSum),
          SkipNormOffset("skip-layer-norm-second-offset", true, OffsetOf::kX, true),
          SkipNormOffset("skip-layer-norm-second-offset-of-skip", true, OffsetOf::kSkip, true),
          SkipNormOffset("skip-layer-norm-second-offset-of-sum", true, OffsetOf::kSum, true),
          SkipNormOffset("skip-rms-norm-second-offset", false, OffsetOf::kX, true),
          SkipNormOffset("skip-rms-norm-second-offset-of-skip", false, OffsetOf::kSkip, true),
          SkipNormOffset("skip-rms-norm-second-offset-of-sum", false, OffsetOf::kSum, true),
          OffsetIntoLinear("skip-layer-norm-offset-into-linear", true, true, false),
          OffsetIntoLinear("skip-layer-norm-offset-into-linear-bias", true, true, true),
          OffsetIntoLinear("skip-layer-norm-offset-into-linear-second", true, false, false),
          OffsetIntoLinear("skip-layer-norm-offset-into-linear-bias-second", true, false, true),
          OffsetIntoLinear("skip-rms-norm-offset-into-linear", false, true, false),
          OffsetIntoLinear("skip-rms-norm-offset-into-linear-bias", false, true, true),
          OffsetIntoLinear("skip-rms-norm-offset-into-linear-second", false, false, false),
          OffsetIntoLinear("skip-rms-norm-offset-into-linear-bias-second", false, false, true),
          SkipGroupNorm(),
          GroupNormActivation(),
          GroupNormActivationInCasts("group-norm-activation-in-casts", DType::kF16),
          GroupNormActivationInCasts("group-norm-activation-in-casts-of-bf16", DType::kBF16),
          SkipGroupNormActivation(),
          BatchNormAlone()};
}

}  // namespace tenon::pattern
