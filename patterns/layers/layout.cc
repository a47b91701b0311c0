// Transposes between channels first and channels last: elementwise ops move in front of them, where
// they meet the convolution and leave the transposes side by side, to cancel.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// The permutation only moves the channels of an image: axis 1 to the end, …
Term MovesToEnd(const Attr<I64s>& perm) {
  return And(Compare(perm, "==", MovedAxis(LengthOf(perm), 1, -1)),
             Compare(LengthOf(perm), ">=", 3));
}

Condition MovesChannelsToEnd(const Attr<I64s>& perm) {
  return If("channels move to the end", MovesToEnd(perm));
}

// … or back.
Condition MovesChannels(const Attr<I64s>& perm) {
  return If("only channels move",
            Or(MovesToEnd(perm), And(Compare(perm, "==", MovedAxis(LengthOf(perm), -1, 1)),
                                     Compare(LengthOf(perm), ">=", 3))));
}

Rule CancelTransposes() {
  Val x("x");
  Attr<I64s> p("p"), q("q");
  Val inner = Transpose(x, {.perm = p});
  return Rule("cancel-transposes")
      .Summary("transpose(transpose(x, p), q) = x for inverse permutations")
      .Match(Transpose(inner, {.perm = q}))
      .Keep(inner)
      .Where(If("the permutations are inverse", Term(p)[q] == IntegersFrom(0, LengthOf(p))))
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
      .Where(SameShape(a, b) && MovesChannels(perm))
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
      .Where(MovesChannelsToEnd(perm) && RankAtLeast(y, 4))
      .Replace(Transpose(f(y), {.perm = perm}))
      .Lowers(OpsBefore({"ten.transpose"}, {f(y).ref().node->op}));
}

// [C] -> [C, 1, …]
Term ChannelsFirst(const Val& c, const Val& y) {
  return ListOf({ExtentOf(c, 0), Spread(Ones(RankOf(y) - 2))});
}

// f(y^T, c) = f(y, c)^T for a number for each channel
Rule ChannelOp(const char* name, Val (*f)(const Val&, const Val&),
               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val y("y"), c = Const("c");
  Attr<I64s> perm("perm");
  return Rule(name, file, line)
      .Summary("a scale or bias of channels behind a transpose comes before it")
      .Match(f(Transpose(y, {.perm = perm}), c))
      .Where(
          Rank(c, 1) && RankAtLeast(y, 4) && MovesChannelsToEnd(perm) &&
          If("the scale or bias has a number for each channel", ExtentOf(c, 0) == ExtentOf(y, 1)))
      .Replace(Transpose(f(y, Reshape(c, {.shape = ChannelsFirst(c, y)})), {.perm = perm}))
      .Lowers(OpsBefore({"ten.transpose"}, {"ten.add", "ten.mul"}));
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
