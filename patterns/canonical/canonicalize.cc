// One form for what exporters write in several ways. What a single op can tell about itself is a
// fold instead.
#include <utility>

#include "ir/core/constants/constant.h"
#include "ir/core/operation.h"
#include "patterns/canonical/slices.h"
#include "patterns/facts/magnitude.h"
#include "patterns/facts/numbers.h"

namespace tenon::pattern {
namespace {

// Does the permutation bring the two last axes in descending order?
Condition SwapsLast(const Attr<I64s>& perm) {
  const Term axes = perm;
  return If("the permutation swaps the last axes", axes[-2] > axes[-1]);
}

// A swap of the last two axes that moves no other.
Condition OnlySwapsLast(const Attr<I64s>& perm) {
  return If("the permutation is a swap of the last axes",
            SwapLast(perm) == IntegersFrom(0, LengthOf(perm)));
}

// Does every axis but the last keep its place among those that are not 1, so that only the view
// changes?
bool MovesOnlyOnes(const I64s& perm, Value x) {
  if (!x.type().is_tensor() || static_cast<size_t>(x.type().rank()) != perm.size()) return false;
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (x.type().dim(axis).is_constant(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Of reshape(transpose(x, perm)) = `result`, which only drops axes of extent 1: the axes of x that
// are left, in the order of the result; empty if it does something else, or if all that it drops
// have stayed in their places (as a batch of 1 that is joined with heads: attention reads that).
I64s AxesLeft(const I64s& perm, Value x, Value result) {
  const Type type = x.type(), made = result.type();
  if (!type.is_tensor() || !made.is_tensor() || made.rank() >= type.rank()) return {};
  I64s left;
  int64_t at = made.rank();
  bool moved = false;
  for (size_t i = perm.size(); i-- > 0;) {
    const DimExpr extent = type.dim(perm[i]);
    if (at > 0 && DimExpr::ProvablyEqual(extent, made.dim(at - 1))) {
      left.push_back(perm[i]);
      --at;
    } else if (!extent.is_constant(1)) {
      return {};
    } else {
      moved |= perm[i] != static_cast<int64_t>(i);
    }
  }
  if (at > 0 || !moved) return {};
  std::reverse(left.begin(), left.end());
  return left;
}

bool DropsOnes(const I64s& perm, Value x, Value result) {
  return !AxesLeft(perm, x, result).empty();
}

Dims ExtentsLeft(const I64s& perm, Value x, Value result) {
  I64s axes = AxesLeft(perm, x, result);
  std::sort(axes.begin(), axes.end());
  Dims dims;
  for (int64_t axis : axes) dims.push_back(x.type().dim(axis));
  return dims;
}

// The permutation of these axes, counted among themselves.
I64s OrderLeft(const I64s& perm, Value x, Value result) {
  const I64s axes = AxesLeft(perm, x, result);
  I64s order;
  for (int64_t axis : axes) {
    order.push_back(std::count_if(axes.begin(), axes.end(), [&](int64_t a) { return a < axis; }));
  }
  return order;
}

// reshape(reshape(x)) = reshape(x)
Rule ReshapeOfReshape() {
  Val x("x");
  Attr<Dims> shape("shape");
  Val inner = Reshape(x, {.shape = kAny});
  return Rule("reshape-of-reshape")
      .Summary("reshape(reshape(x)) = reshape(x)")
      .Match(Reshape(inner, {.shape = shape}))
      .Keep(inner)
      .Replace(Reshape(x, {.shape = shape}))
      .Lowers(OpsBefore({"ten.reshape"}, {"ten.reshape"}));
}

// transpose(transpose(x, p), q) = transpose(x, p ∘ q)
Rule TransposeOfTranspose() {
  Val x("x");
  Attr<I64s> p("p"), q("q");
  Val inner = Transpose(x, {.perm = p});
  return Rule("transpose-of-transpose")
      .Summary("transpose(transpose(x, p), q) = transpose(x, p[q])")
      .Match(Transpose(inner, {.perm = q}))
      .Keep(inner)
      .Replace(Transpose(x, {.perm = Term(p)[q]}))
      .Lowers(OpsBefore({"ten.transpose"}, {"ten.transpose"}));
}

// A transpose that moves nothing but axes of extent 1 is a reshape.
Rule TransposeOfOnes() {
  Val x("x");
  Attr<I64s> perm("perm");
  Val root = Transpose(x, {.perm = perm});
  return Rule("transpose-of-ones")
      .Summary("a transpose that moves only axes of extent 1 is a reshape")
      .Match(root)
      .Where(If("the axes longer than 1 keep their order", MovesOnlyOnes, perm, x))
      .Replace(Reshape(x, {.shape = ShapeOf(root)}))
      .Lowers(OpsOf({"ten.transpose"}))
      .Opaque("which axes keep their order depends on the extents of all of them");
}

// Each of the parts of a packed projection, [B, S, 1, H, D], moved to [1, B, H, S, D] and squeezed.
Rule TransposeWithDroppedOnes() {
  Val x("x");
  Attr<I64s> perm("perm");
  Val moved = Transpose(x, {.perm = perm});
  Val root = Reshape(moved, {.shape = kAny});
  return Rule("transpose-with-dropped-ones")
      .Summary("axes of extent 1 that a reshape drops behind a transpose are dropped before it")
      .Match(root)
      .Where(If("the reshape drops axes of extent 1 alone", DropsOnes, perm, x, root))
      .Replace(Transpose(Reshape(x, {.shape = Compute(ExtentsLeft, perm, x, root)}),
                         {.perm = Compute(OrderLeft, perm, x, root)}))
      .Lowers(OpsOf({AxesOf("ten.transpose")}))
      .Opaque("the axes that are left are found by aligning two shapes");
}

// a · transpose(b) = matmul(a, b) with transpose_b, for the two last axes; the rest of the
// permutation stays.
Rule MatmulTransposedB() {
  Val a("a"), b("b");
  Attr<I64s> perm("perm");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Val transposed = Transpose(b, {.perm = perm});
  return Rule("matmul-transposed-b")
      .Summary("a swap of the second factor's last axes becomes transpose_b")
      .Match(Matmul(a, transposed, {.transpose_a = ta, .transpose_b = tb}))
      .Keep(transposed)
      .Where(RankAtLeast(a, 2) && SwapsLast(perm))
      .Replace(Matmul(a, Transpose(b, {.perm = SwapLast(perm)}),
                      {.transpose_a = ta, .transpose_b = !Term(tb)}))
      .Lowers(OpsBefore({ExchangesOf("ten.transpose")}, {"ten.matmul"}));
}

Rule MatmulTransposedA() {
  Val a("a"), b("b");
  Attr<I64s> perm("perm");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Val transposed = Transpose(a, {.perm = perm});
  return Rule("matmul-transposed-a")
      .Summary("a swap of the first factor's last axes becomes transpose_a")
      .Match(Matmul(transposed, b, {.transpose_a = ta, .transpose_b = tb}))
      .Keep(transposed)
      .Where(RankAtLeast(b, 2) && OnlySwapsLast(perm))
      .Replace(Matmul(a, b, {.transpose_a = !Term(ta), .transpose_b = tb}))
      .Lowers(OpsBefore({"ten.transpose"}, {"ten.matmul"}));
}

// (a · b)^T = b^T · a^T, for products of activations: weights stay second.
Rule TransposedProduct() {
  Val a("a"), b("b");
  Attr<I64s> perm("perm");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  return Rule("transposed-product")
      .Summary("a product whose last axes change places is the product of the exchanged factors")
      .Match(Transpose(Matmul(a, b, {.transpose_a = ta, .transpose_b = tb}), {.perm = perm}))
      .Where(
          RankAtLeast(a, 2) && RankAtLeast(b, 2) &&
          !If("the first factor is a weight", FollowsFromConstants(a)) &&
          !If("the second factor is a weight", FollowsFromConstants(b)) &&
          // Probabilities stay the first factor: `scores` puts them there.
          !If("the first factor holds probabilities", IsIn(OpOf(a), {"nn.softmax", "ten.where"})) &&
          OnlySwapsLast(perm))
      .Replace(Matmul(b, a, {.transpose_a = !Term(tb), .transpose_b = !Term(ta)}));
}

// The same when the transposed factor is scaled by a number.
Rule MatmulScaledTransposedB() {
  Val a("a"), b("b");
  Attr<I64s> perm("perm");
  Attr<bool> ta("transpose_a"), tb("transpose_b");
  Attr<float> scale("scale");
  Val scaled = Mul(Transpose(b, {.perm = perm}), Splat(scale));
  return Rule("matmul-scaled-transposed-b")
      .Summary("a swap of a scaled second factor's last axes becomes transpose_b")
      .Match(Matmul(a, scaled, {.transpose_a = ta, .transpose_b = tb}))
      .Where(RankAtLeast(a, 2) && SwapsLast(perm))
      .Replace(Matmul(a, Mul(Transpose(b, {.perm = SwapLast(perm)}), Splat(scale)),
                      {.transpose_a = ta, .transpose_b = !Term(tb)}))
      .Lowers(OpsBefore({ExchangesOf("ten.transpose")}, {"ten.matmul"}));
}

// reshape(transpose(reshape(x, [B*H, S, D]), [0, 2, 1]), [B, H, D, S])
//   = transpose(reshape(x, [B, H, S, D]), [0, 1, 3, 2])
// Heads that were repeated for groups are [B, G, R, S, D] in front of it.
Rule TransposeInThreeAxes() {
  Val x("x");
  Dim B("B"), H("H"), S("S"), D("D");
  return Rule("transpose-in-three-axes")
      .Summary("a swap of the last axes on a view with the leading axes joined is one transpose")
      .Match(Reshape(Transpose(Reshape(x, {.shape = {B * H, S, D}}), {.perm = {0, 2, 1}}),
                     {.shape = {B, H, D, S}}))
      .Replace(Transpose(Reshape(x, {.shape = {B, H, S, D}}), {.perm = {0, 1, 3, 2}}));
}

// (x * a) * b = x * (a * b)
Rule ScaleOfScale() {
  Val x("x");
  Attr<float> a("a"), b("b");
  return Rule("scale-of-scale")
      .Summary("(x * a) * b = x * (a * b) for numbers a and b")
      .Match(Mul(Mul(x, Splat(a)), Splat(b)))
      .Where(IsFloat(x))
      .Replace(Mul(x, Splat(HeldProduct(DTypeOf(x), a, b))));
}

// ---- repetition --------------------------------------------------------------------------------

// A tile of axes of extent 1 is an expand, which what follows may do without.
Rule TileOfOnes() {
  Val x("x");
  Val root = Tile(x, {.repeats = kAny});
  return Rule("tile-of-ones")
      .Summary("a tile that repeats only axes of extent 1 is an expand")
      .Match(root)
      .Where(If("only axes of extent 1 are repeated", BroadcastsTo(ShapeOf(x), ShapeOf(root))))
      .Replace(Expand(x, {.shape = ShapeOf(root)}))
      .Lowers(OpsOf({"ten.tile"}));
}

// Along the last axis pairs stay, which rotary tables are made of.
Rule ConcatOfOneValue() {
  Val x("x");
  Attr<int64_t> axis("axis");
  Val root = AnyOf(Concat({x, x}, {.axis = axis}), Concat({x, x, x}, {.axis = axis}),
                   Concat({x, x, x, x}, {.axis = axis}), Concat({x, x, x, x, x}, {.axis = axis}),
                   Concat({x, x, x, x, x, x}, {.axis = axis}),
                   Concat({x, x, x, x, x, x, x}, {.axis = axis}),
                   Concat({x, x, x, x, x, x, x, x}, {.axis = axis}));
  return Rule("concat-of-one-value")
      .Summary("two to eight times one value along an axis of extent 1 are an expand")
      .Match(root)
      .Where(If("the axis is not the last, and has extent 1",
                ExtentOf(x, axis) == 1 && Term(axis) + 1 < RankOf(x)))
      .Replace(Expand(x, {.shape = ShapeOf(root)}))
      .Lowers(OpsOf({"ten.concat"}));
}

// How often each slice along the axis comes in a row, where the indices are 0, 0, …, 1, 1, … to the
// last one; null if they are not, or name each once.
std::optional<int64_t> RepeatsInRow(Value x, Value indices, int64_t axis) {
  const Attribute elements = ConstantElementsOf(indices);
  if (!elements || !x.type().is_tensor() || axis < 0 || axis + 1 >= x.type().rank()) {
    return std::nullopt;
  }
  const DimExpr slices = x.type().dim(axis);
  if (!slices.is_constant() || slices.constant() < 1 || indices.type().rank() != 1) {
    return std::nullopt;
  }
  const int64_t n = elements.type().num_elements(), repeats = n / slices.constant();
  if (repeats < 2 || repeats * slices.constant() != n) return std::nullopt;
  for (int64_t i = 0; i < n; ++i) {
    if (elements.ElementAsInt(i) != i / repeats) return std::nullopt;
  }
  return repeats;
}

// Heads repeated by indices, as by an expand of an axis of its own.
Rule GatherOfRepeats() {
  Val x("x"), indices = Const("indices");
  Attr<int64_t> axis("axis"), repeats("repeats");
  Val root = Gather(x, indices, {.axis = axis});
  const auto shape = [&](const Term& times) {
    return ListOf({Spread(Take(ShapeOf(x), axis)), ExtentOf(x, axis), times,
                   Spread(Drop(ShapeOf(x), Term(axis) + 1))});
  };
  return Rule("gather-of-repeats")
      .Summary("a gather that repeats each slice in a row is an expand between reshapes")
      .Match(root.Let(repeats, Compute(RepeatsInRow, x, indices, axis)))
      .Replace(Reshape(Expand(Reshape(x, {.shape = shape(1)}), {.shape = shape(repeats)}),
                       {.shape = ShapeOf(root)}))
      .Lowers(OpsOf({"ten.gather"}))
      .Opaque("the indices are compared element by element");
}

// x / 2^n = x * 2^-n, exactly
Rule DivideByPowerOfTwo() {
  Val x("x");
  Attr<float> divisor("divisor");
  return Rule("divide-by-power-of-two")
      .Summary("x / 2^n = x * 2^-n")
      .Match(Div(x, Splat(divisor)))
      .Where(IsFloat(x) &&
             If("the divisor is a power of two",
                IsPowerOfTwo(divisor) && AbsOf(divisor) >= 1.0 / 4096 && AbsOf(divisor) <= 4096))
      .Replace(Mul(x, Splat(1.0 / divisor)))
      .Lowers(OpsOf({"ten.div"}));
}

// softmax(where(m, s, low)) = softmax(s + where(m, 0, low)) for the lowest number of f32, which
// swallows every score. The scores must be a product: if a mask had been added to them, two such
// numbers would make -inf.
Rule SelectUnderSoftmaxLowest(const char* name, bool inverted, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  Val m("m"), a("_a"), b("_b");
  Attr<int64_t> axis("axis");
  Attr<float> factor("factor");
  Val product = Matmul(a, b, {.transpose_b = kAny});
  Val s = AnyOf(Mul(product, Splat(factor)), Div(product, Splat(factor)), product);
  Val low = Splat(kLowest);
  Val selected = inverted ? ten::Where(m, low, s) : ten::Where(m, s, low);
  Val mask = inverted ? ten::Where(m, low, Splat(0)) : ten::Where(m, Splat(0), low);
  return Rule(name, file, line)
      .Summary("products replaced by the lowest number are products with it added")
      .Match(Softmax(selected, {.axis = axis}))
      .Where(DTypeIs(product, DType::kF32) &&
             IsModerateScale("the scale is a moderate number", factor))
      // An infinite score that the select discards would come back.
      .IgnoresInfinity(IsBounded("the scores are bounded, whatever the inputs hold", s))
      .Replace(Softmax(Add(s, mask), {.axis = axis}))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.where"}));
}

}  // namespace

RuleSet CanonicalizeRules() {
  return {ReshapeOfReshape(),
          TransposeOfTranspose(),
          TransposeOfOnes(),
          TransposeWithDroppedOnes(),
          SliceOfSlice(),
          MatmulTransposedB(),
          MatmulTransposedA(),
          TransposedProduct(),
          MatmulScaledTransposedB(),
          TransposeInThreeAxes(),
          ScaleOfScale(),
          TileOfOnes(),
          ConcatOfOneValue(),
          GatherOfRepeats(),
          DivideByPowerOfTwo(),
          SelectUnderSoftmaxLowest("select-under-softmax-lowest", false),
          SelectUnderSoftmaxLowest("select-under-softmax-lowest-inverted", true)};
}

}  // namespace tenon::pattern
