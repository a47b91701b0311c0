// Gated activations: the product of an activation and another value in one op, also from the halves
// of one tensor.
#include "ir/core/operation.h"
#include "patterns/layers/activations.h"

namespace tenon::pattern {
namespace {

// A convolution takes its activation itself.
bool IsNoConvolution(Value gate) {
  const Operation* op = gate.defining_op();
  return op == nullptr || (op->name() != "nn.conv" && op->name() != "fused.conv" &&
                           op->name() != "nn.conv_transpose");
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
      .Where(SameShape(gate, up) &&
             If("the gate is not the result of a convolution", IsNoConvolution, gate))
      .Replace(fused::Gated(gate, up, {.activation = activation}))
      .RequireKernel();
}

bool IsLastAxis(int64_t axis, Value x) {
  return x.type().is_tensor() && axis + 1 == x.type().rank();
}

Rule GatedOfSplit(const char* name, bool second, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  Val x("x");
  Attr<int64_t> axis("axis");
  Attr<std::string> activation("activation");
  Dim n("n");
  Val first = Split(x, {.axis = axis, .sizes = {n, n}});
  const Val& last = first.result(1);
  Val product =
      fused::Gated(second ? last : first, second ? first : last, {.activation = activation});
  return Rule(name, file, line)
      .Summary("a gated activation of both halves of a tensor reads the tensor")
      .Match(product)
      .Where(If("the last axis is split", IsLastAxis, axis, x))
      .Replace(fused::Gated(x, {}, {.activation = activation, .second = second}))
      .RequireKernel();
}

bool IsHalf(Value x, const I64s& axes, const Dims& starts, const Dims& ends, const I64s& steps,
            bool second) {
  Type type = x.type();
  if (!type.is_tensor() || axes.size() != 1 || starts.size() != 1 || ends.size() != 1 ||
      axes[0] + 1 != type.rank() || steps != I64s{1} || !type.dim(-1).is_constant() ||
      !starts[0].is_constant() || !ends[0].is_constant())
    return false;
  const int64_t whole = type.dim(-1).constant(), half = whole / 2;
  if (whole % 2 != 0) return false;
  return starts[0].constant() == (second ? half : 0) &&
         (second ? ends[0].constant() >= whole : ends[0].constant() == half);
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
    return If(
        last ? "the slice is the second half of the last axis"
             : "the slice is the first half of the last axis",
        [last](Value v, const I64s& a, const Dims& s, const Dims& e, const I64s& t) {
          return IsHalf(v, a, s, e, t, last);
        },
        x, axes[i], starts[i], ends[i], steps[i]);
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
