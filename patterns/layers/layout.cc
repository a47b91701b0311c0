// Transposes between channels first and channels last: elementwise ops move in front of them, where
// they meet the convolution and leave the transposes side by side, to cancel.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// Does the permutation only move the channels of an image: axis 1 to the end, or back?
bool MovesChannels(const I64s& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 3 || perm[0] != 0) return false;
  bool to_last = true, to_first = true;
  for (int64_t i = 1; i < rank; ++i) {
    to_last &= perm[static_cast<size_t>(i)] == (i + 1 < rank ? i + 1 : 1);
    to_first &= perm[static_cast<size_t>(i)] == (i == 1 ? rank - 1 : i - 1);
  }
  return to_last || to_first;
}

bool MovesChannelsToEnd(const I64s& perm) { return MovesChannels(perm) && perm.back() == 1; }

bool AreInverse(const I64s& p, const I64s& q) {
  if (p.size() != q.size()) return false;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[static_cast<size_t>(q[i])] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

Rule CancelTransposes() {
  Val x("x");
  Attr<I64s> p("p"), q("q");
  Val inner = Transpose(x, {.perm = p});
  return Rule("cancel-transposes")
      .Summary("transpose(transpose(x, p), q) = x for inverse permutations")
      .Match(Transpose(inner, {.perm = q}))
      .Keep(inner)
      .Where(If("the permutations are inverse", AreInverse, p, q))
      .Replace(x);
}

// f(a^T, b^T) = f(a, b)^T
Rule BinaryOfTransposes(const char* name, Val (*f)(const Val&, const Val&),
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val a("a"), b("b");
  Attr<I64s> perm("perm");
  return Rule(name, file, line)
      .Summary("an op on two images that are transposed alike comes before the transpose")
      .Match(f(Transpose(a, {.perm = perm}), Transpose(b, {.perm = perm})))
      .MayCoincide()
      .Where(SameShape(a, b) && If("only channels move", MovesChannels, perm))
      .Replace(Transpose(f(a, b), {.perm = perm}));
}

// f(y^T) = f(y)^T
template <typename F>
Rule UnaryOfTranspose(const char* name, F f, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  Val y("y");
  Attr<I64s> perm("perm");
  return Rule(name, file, line)
      .Summary("an activation behind the transpose of an image comes before it")
      .Match(f(Transpose(y, {.perm = perm})))
      .Where(If("channels move to the end", MovesChannelsToEnd, perm) && RankAtLeast(y, 4))
      .Replace(Transpose(f(y), {.perm = perm}))
      .Lowers("activations behind transposes");
}

// [C] -> [C, 1, …]
std::optional<Dims> ChannelsFirst(Value c, Value y) {
  Type type = c.type(), image = y.type();
  if (!type.is_tensor() || !image.is_tensor() || type.rank() != 1 || image.rank() < 3)
    return std::nullopt;
  Dims dims(static_cast<size_t>(image.rank() - 1), DimExpr::Constant(type.context(), 1));
  dims[0] = type.dim(0);
  return dims;
}

bool HasElementForEachChannel(Value c, Value y) {
  Type type = c.type(), image = y.type();
  return type.is_tensor() && image.is_tensor() && type.rank() == 1 && image.rank() >= 4 &&
         DimExpr::ProvablyEqual(type.dim(0), image.dim(1));
}

// f(y^T, c) = f(y, c)^T for a number for each channel
Rule ChannelOp(const char* name, Val (*f)(const Val&, const Val&),
               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val y("y"), c = Const("c");
  Attr<I64s> perm("perm");
  return Rule(name, file, line)
      .Summary("a scale or bias of channels behind a transpose comes before it")
      .Match(f(Transpose(y, {.perm = perm}), c))
      .Where(Rank(c, 1) && RankAtLeast(y, 4) &&
             If("channels move to the end", MovesChannelsToEnd, perm) &&
             If("the scale or bias has a number for each channel", HasElementForEachChannel, c, y))
      .Replace(Transpose(f(y, Reshape(c, {.shape = Compute(ChannelsFirst, c, y)})), {.perm = perm}))
      .Lowers("scales and biases behind transposes");
}

}  // namespace

RuleSet LayoutRules() {
  Attr<double> low("low"), high("high");
  Attr<float> slope("slope"), gain("gain"), offset("offset"), width("width");
  return {CancelTransposes(),
          BinaryOfTransposes("add-of-transposes", Add),
          BinaryOfTransposes("mul-of-transposes", Mul),
          ChannelOp("bias-of-transpose", Add),
          ChannelOp("scale-of-transpose", Mul),
          UnaryOfTranspose("relu-of-transpose", [](const Val& y) { return Relu(y); }),
          UnaryOfTranspose("gelu-of-transpose", [](const Val& y) { return Gelu(y); }),
          UnaryOfTranspose("silu-of-transpose", [](const Val& y) { return Silu(y); }),
          UnaryOfTranspose("sigmoid-of-transpose", [](const Val& y) { return Sigmoid(y); }),
          UnaryOfTranspose("tanh-of-transpose", [](const Val& y) { return Tanh(y); }),
          UnaryOfTranspose("hard-swish-of-transpose", [](const Val& y) { return HardSwish(y); }),
          UnaryOfTranspose("mish-of-transpose", [](const Val& y) { return Mish(y); }),
          UnaryOfTranspose("clip-of-transpose",
                           [=](const Val& y) { return Clip(y, {.min = low, .max = high}); }),
          UnaryOfTranspose("leaky-relu-of-transpose",
                           [=](const Val& y) { return LeakyRelu(y, {.alpha = slope}); }),
          UnaryOfTranspose(
              "hard-sigmoid-of-transpose",
              [=](const Val& y) { return HardSigmoid(y, {.alpha = gain, .beta = offset}); }),
          UnaryOfTranspose("elu-of-transpose",
                           [=](const Val& y) {
                             return Elu(y, {.alpha = slope, .gamma = gain, .width = width});
                           }),
          UnaryOfTranspose("softplus-of-transpose", [](const Val& y) { return Softplus(y); })};
}

}  // namespace tenon::pattern
