// Moves beside the op that makes or takes them: Swin's windows, sums of tokens as images, the heads
// of detectors.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::moves {
namespace {

constexpr int64_t kSide = 4, kWindow = 2, kC = 64;

V Norm(Graph& g, const V& x, int rank = 4) {
  V d = g.Sub(x, g.Mean(x, {-1}, rank));
  V root = g.Op("Sqrt", {g.Add(g.Mean(g.Mul(d, d), {-1}, rank), 1e-5)});
  return g.Add(g.Mul(g.Div(d, root), g.Param({kC})), g.Param({kC}));
}

V Windows(Graph& g, const V& x) {
  constexpr int64_t kCount = kSide / kWindow;
  V cut = g.Reshape(x, {-1, kCount, kWindow, kCount, kWindow, kC});
  return g.Reshape(g.Transpose(cut, {0, 1, 3, 2, 4, 5}), {-1, kWindow * kWindow, kC});
}

// torch.roll as its decomposition exports it: two slices and a concatenation for each axis.
V RolledBySlices(Graph& g, V x) {
  for (const int64_t axis : {1, 2}) {
    V head = g.Slice(x, 0, 1, axis), tail = g.Slice(x, 1, kSide, axis);
    x = g.Op("Concat", {tail, head}, {{"axis", axis}});
  }
  return x;
}

// The same with the end of the slice left open, as older exporters write it.
V RolledByOpenSlices(Graph& g, V x) {
  for (const int64_t axis : {1, 2}) {
    V head = g.Slice(x, 0, 1 - kSide, axis), tail = g.Slice(x, 1 - kSide, 1 << 30, axis);
    x = g.Op("Concat", {tail, head}, {{"axis", axis}});
  }
  return x;
}

// The roll as an index: torch.roll through index_select.
V RolledByGather(Graph& g, V x) {
  for (const int64_t axis : {1, 2}) {
    x = g.Op("Gather", {x, g.Index({1, 2, 3, 0})}, {{"axis", axis}});
  }
  return x;
}

V Image(Graph& g) { return g.In({B(), kSide, kSide, kC}); }

const Spelling kWindows[] = {
    {"Partition", "fused.moved_norm ten.reshape ten.reshape",
     [](Graph& g) { g.Out(Windows(g, Norm(g, Image(g)))); }},
    {"Shifted", "fused.moved_norm ten.reshape ten.reshape",
     [](Graph& g) { g.Out(Windows(g, RolledBySlices(g, Norm(g, Image(g))))); }},
    {"ShiftedByOpenSlices", "fused.moved_norm ten.reshape ten.reshape",
     [](Graph& g) { g.Out(Windows(g, RolledByOpenSlices(g, Norm(g, Image(g))))); }},
    {"ShiftedByGather", "fused.moved_norm ten.reshape ten.reshape",
     [](Graph& g) { g.Out(Windows(g, RolledByGather(g, Norm(g, Image(g))))); }},
    {"ShiftedTokens", "fused.moved_norm ten.reshape ten.reshape",
     [](Graph& g) {  // tokens in one axis before the image
       V x = g.In({B(), kSide * kSide, kC});
       V n = Norm(g, g.Reshape(x, {-1, kSide, kSide, kC}));
       g.Out(Windows(g, RolledBySlices(g, n)));
     }},
    {"ShiftedAfterResidual", "fused.moved_norm ten.reshape ten.reshape ten.reshape ten.reshape",
     [](Graph& g) {
       V sum = g.Add(Image(g), Image(g));
       g.Out(Windows(g, RolledBySlices(g, Norm(g, sum))));
       g.Out(sum);
     }},
    {"ShiftedAfterBiasAndResidual",
     "fused.moved_norm ten.reshape ten.reshape ten.reshape ten.reshape",
     [](Graph& g) {
       V sum = g.Add(Image(g), g.Add(g.Param({kC}), Image(g)));
       g.Out(Windows(g, RolledBySlices(g, Norm(g, sum))));
       g.Out(sum);
     }},
    // Near misses: the norm is read elsewhere, or the windows are cut before it.
    {"NormReadTwice", "!fused.moved_norm",
     [](Graph& g) {
       V n = Norm(g, Image(g));
       g.Out(Windows(g, n));
       g.Out(n);
     }},
    {"NormBehindWindows", "!fused.moved_norm",
     [](Graph& g) { g.Out(g.Op("Relu", {Norm(g, Windows(g, Image(g)), 3)})); }},
};
TENON_SPELLINGS(ShiftPartition, kWindows);

}  // namespace

namespace sums {
namespace {

const Spelling kSums[] = {
    {"TokensAsImage", "fused.add_transpose ten.reshape",
     [](Graph& g) {
       V sum = g.Add(g.In({B(), 6, kC}), g.In({B(), 6, kC}));
       g.Out(g.Transpose(g.Reshape(sum, {-1, 2, 3, kC}), {0, 3, 1, 2}));
     }},
    {"TokensAsImageLater", "fused.add_transpose ten.reshape",
     [](Graph& g) {
       V sum = g.Add(g.In({B(), 6, kC}), g.Param({6, kC}));
       g.Out(g.Reshape(g.Transpose(sum, {0, 2, 1}), {-1, kC, 2, 3}));
     }},
    // A near miss: the sum is read elsewhere.
    {"SumReadTwice", "!fused.add_transpose",
     [](Graph& g) {
       V sum = g.Add(g.In({B(), 6, kC}), g.In({B(), 6, kC}));
       g.Out(g.Transpose(sum, {0, 2, 1}));
       g.Out(sum);
     }},
};
TENON_SPELLINGS(AddTranspose, kSums);

}  // namespace
}  // namespace sums

namespace heads {
namespace {

V Head(Graph& g, int64_t side) { return g.Transpose(g.In({B(), 8, side, side}), {0, 2, 3, 1}); }

const Spelling kHeads[] = {
    {"Flattened", "fused.transpose_concat",
     [](Graph& g) {
       const auto flat = [&](int64_t side) {
         return g.Op("Flatten", {Head(g, side)}, {{"axis", int64_t{1}}});
       };
       g.Out(g.Op("Concat", {flat(4), flat(2), flat(1)}, {{"axis", int64_t{1}}}));
     }},
    {"RowsOfFour", "fused.transpose_concat ten.reshape",
     [](Graph& g) {
       const auto rows = [&](int64_t side) { return g.Reshape(Head(g, side), {0, -1, 4}); };
       g.Out(g.Op("Concat", {rows(4), rows(3), rows(2), rows(1)}, {{"axis", int64_t{1}}}));
     }},
    {"AnotherBeside", "fused.transpose_concat ten.reshape ten.reshape",
     [](Graph& g) {
       const auto flat = [&](const V& x) { return g.Op("Flatten", {x}, {{"axis", int64_t{1}}}); };
       V plain = g.In({B(), 7}), more = g.In({B(), 3, 5});
       g.Out(g.Op("Concat", {plain, flat(Head(g, 4)), flat(Head(g, 2)), flat(more)},
                  {{"axis", int64_t{1}}}));
     }},
    // A near miss: another order of axes.
    {"OtherOrder", "!fused.transpose_concat",
     [](Graph& g) {
       V a = g.Reshape(Head(g, 3), {0, -1, 4});
       V b = g.Reshape(g.Transpose(g.In({B(), 8, 2, 2}), {0, 3, 2, 1}), {0, -1, 4});
       g.Out(g.Op("Concat", {a, b}, {{"axis", int64_t{1}}}));
     }},
};
TENON_SPELLINGS(TransposeConcat, kHeads);

}  // namespace
}  // namespace heads

namespace groups {
namespace {

V GroupNorm(Graph& g, const V& x) {
  V rows = g.Reshape(x, {0, 4, -1});
  V norm =
      g.Op("InstanceNormalization", {rows, g.Fill({4}, 1), g.Fill({4}, 0)}, {{"epsilon", 1e-5}});
  V image = g.Reshape(norm, {-1, 8, 3, 3});
  return g.Add(g.Mul(image, g.Param({8, 1, 1})), g.Param({8, 1, 1}));
}
V Silu(Graph& g, const V& x) { return g.Mul(x, g.Op("Sigmoid", {x})); }

const Spelling kGroups[] = {
    {"Silu", "fused.group_norm",
     [](Graph& g) {
       g.Out(Silu(g, GroupNorm(g, g.In({B(), 8, 3, 3}))));
     }},
    {"SumAndSilu", "fused.group_norm",
     [](Graph& g) {
       V sum = g.Add(g.In({B(), 8, 3, 3}), g.In({B(), 8, 3, 3}));
       g.Out(Silu(g, GroupNorm(g, sum)));
       g.Out(sum);
     }},
};
TENON_SPELLINGS(GroupNormActivation, kGroups);

}  // namespace
}  // namespace groups
}  // namespace tenon::spellings::moves
