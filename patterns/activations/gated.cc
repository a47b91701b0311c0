// Gated activations: the product of an activation and another value in one op, also from the halves
// of one tensor.
#include "ir/core/operation.h"
#include "patterns/activations/activations.h"

namespace tenon::pattern {
namespace {

// A convolution takes its activation itself.
Condition IsNoConvolution(const Val& gate) {
  return If("the gate is not the result of a convolution",
            !IsIn(OpOf(gate), {"nn.conv", "fused.conv", "nn.conv_transpose"}));
}

Rule GatedFromProduct() {
  Val gate("gate"), up("up");
  Attr<std::string> activation("activation");
  Val activated =
      AnyOf(Silu(gate).Let(activation, "silu"), Gelu(gate).Let(activation, "gelu"),
            Gelu(gate, {.approximate = "tanh"}).Let(activation, "gelu_tanh"),
            Gelu(gate, {.approximate = "sigmoid"}).Let(activation, "gelu_sigmoid"),
            Sigmoid(gate).Let(activation, "sigmoid"), Relu(gate).Let(activation, "relu"));
  return Rule("gated")
      .Summary("activation(gate) * up")
      .Match(Mul(activated, up))
      .Where(SameShape(gate, up) && IsNoConvolution(gate))
      .Replace(fused::Gated(gate, up, {.activation = activation}))
      .RequireKernel();
}

Rule GatedOfSplit(const char* name, bool second, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  Val x("x");
  Attr<int64_t> axis("axis");
  Attr<std::string> activation("activation");
  Dim n("N");
  Val first = Split(x, {.axis = axis, .sizes = {n, n}});
  const Val& last = first.result(1);
  Val product =
      fused::Gated(second ? last : first, second ? first : last, {.activation = activation});
  return Rule(name, file, line)
      .Summary("a gated activation of both halves of a tensor reads the tensor")
      .Match(product)
      .Where(If("the last axis is split", axis == RankOf(x) - 1))
      .Replace(fused::Gated(x, {}, {.activation = activation, .second = second}))
      .RequireKernel();
}

Rule GatedOfSlices(const char* name, bool second, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x");
  Attr<std::string> activation("activation");
  Attr<I64s> axes[2] = {Attr<I64s>("axes"), Attr<I64s>("more_axes")},
             steps[2] = {Attr<I64s>("steps"), Attr<I64s>("more_steps")};
  Attr<Dims> starts[2] = {Attr<Dims>("starts"), Attr<Dims>("more_starts")},
             ends[2] = {Attr<Dims>("ends"), Attr<Dims>("more_ends")};
  auto half = [&](int i) {
    return Slice(x, {.axes = axes[i], .starts = starts[i], .ends = ends[i], .steps = steps[i]});
  };
  auto is_half = [&](int i, bool last) {
    const Term whole = ExtentOf(x, -1), half_size = whole / 2, end = Term(ends[i])[0];
    const Condition begins = starts[i] == ListOf({last ? half_size : Term(0)});
    const Condition stops = last ? end >= whole : end == half_size;
    return If(last ? "the slice is the second half of the last axis"
                   : "the slice is the first half of the last axis",
              axes[i] == ListOf({RankOf(x) - 1}) && steps[i] == ListOf({1}) && IsFixed(whole) &&
                  begins && LengthOf(ends[i]) == 1 && stops);
  };
  return Rule(name, file, line)
      .Summary("a gated activation of two slices that are the halves of a tensor reads the tensor")
      .Match(fused::Gated(half(0), half(1), {.activation = activation}))
      .Where(is_half(0, second) && is_half(1, !second))
      .Replace(fused::Gated(x, {}, {.activation = activation, .second = second}))
      .RequireKernel();
}

}  // namespace

RuleSet GatedRules() {
  return {GatedFromProduct(), GatedOfSplit("gated-of-split", false),
          GatedOfSplit("gated-of-split-second", true), GatedOfSlices("gated-of-slices", false),
          GatedOfSlices("gated-of-slices-second", true)};
}

}  // namespace tenon::pattern
