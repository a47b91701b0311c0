// Attention as nn.MultiheadAttention and older PyTorch compute it: rows of a sequence and then of
// the batch, heads joined with batches, and products of three axes.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::sequence {
namespace {

constexpr int64_t kHeads = 2, kSize = 4, kAll = kHeads * kSize, kBatch = 3;

V Rows(Graph& g) { return g.In({S(), kBatch, kAll}); }
V Keys(Graph& g) { return g.In({Extent("keys", 6), kBatch, kAll}); }
// [S, B, H * D] as [B * H, S, D].
V Heads(Graph& g, const V& x) {
  return g.Transpose(g.Reshape(x, {-1, kBatch * kHeads, kSize}), {1, 0, 2});
}
V Projected(Graph& g, const V& x) {
  return g.Add(g.Op("MatMul", {x, g.Param({kAll, kAll})}), g.Param({kAll}));
}
V Back(Graph& g, const V& x) { return g.Reshape(g.Transpose(x, {1, 0, 2}), {-1, kBatch, kAll}); }
V Scores(Graph& g, const V& q, const V& k) {
  return g.Op("MatMul", {q, g.Transpose(k, {0, 2, 1})});
}
V Weigh(Graph& g, const V& scores, const V& v) {
  return g.Op("MatMul", {g.Op("Softmax", {scores}, {{"axis", int64_t{2}}}), v});
}

// [B, S, H * D] as [B * H, S, D], as fairseq does it.
V JoinedHeads(Graph& g, const V& x) {
  V heads = g.Transpose(g.Reshape(x, {kBatch, -1, kHeads, kSize}), {0, 2, 1, 3});
  return g.Reshape(heads, {kBatch * kHeads, -1, kSize});
}
V FromJoined(Graph& g, const V& x) {
  V heads = g.Transpose(g.Reshape(x, {kBatch, kHeads, -1, kSize}), {0, 2, 1, 3});
  return g.Reshape(heads, {kBatch, -1, kAll});
}
V BatchFirst(Graph& g) { return g.In({kBatch, S(), kAll}); }

const Spelling kSpellings[] = {
    {"Rows", "fused.attention ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {
       V q = Heads(g, Rows(g)), k = Heads(g, Keys(g)), v = Heads(g, Keys(g));
       g.Out(Back(g, Weigh(g, g.Mul(Scores(g, q, k), 0.5), v)));
     }},
    {"ScaledQueries", "fused.attention ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {
       V q = g.Mul(Heads(g, Rows(g)), 0.5), k = Heads(g, Keys(g)), v = Heads(g, Keys(g));
       g.Out(Back(g, Weigh(g, Scores(g, q, k), v)));
     }},
    {"DividedQueriesAndMask",
     "fused.attention ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {
       V q = g.Div(Heads(g, g.In({5, kBatch, kAll})), 2);
       V k = Heads(g, g.In({6, kBatch, kAll})), v = Heads(g, g.In({6, kBatch, kAll}));
       V scores = g.Add(Scores(g, q, k), g.Param({5, 6}));
       g.Out(g.Reshape(g.Transpose(Weigh(g, scores, v), {1, 0, 2}), {5, kBatch, kAll}));
     }},
    {"MaskOfKeys", "fused.attention ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {  // the padding of each batch, added to a view of four axes
       V q = g.Mul(Heads(g, Rows(g)), 0.5);
       V k = Heads(g, g.In({6, kBatch, kAll})), v = Heads(g, g.In({6, kBatch, kAll}));
       V scores = g.Reshape(Scores(g, q, k), {kBatch, kHeads, -1, 6});
       V sum = g.Add(scores, g.In({kBatch, 1, 1, 6}));
       g.Out(Back(g, Weigh(g, g.Reshape(sum, {kBatch * kHeads, -1, 6}), v)));
     }},
    {"FourAxes",
     "fused.attention ten.reshape ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {  // without weights for the caller: scaled_dot_product_attention
       auto view = [&](const V& x, int64_t n) {
         return g.Reshape(Heads(g, x), {kBatch, kHeads, n, kSize});
       };
       V q = view(g.In({5, kBatch, kAll}), 5), k = view(g.In({6, kBatch, kAll}), 6);
       V v = view(g.In({6, kBatch, kAll}), 6);
       V scores = g.Op("MatMul", {g.Mul(q, 0.7), g.Transpose(g.Mul(k, 0.7), {0, 1, 3, 2})});
       V out = g.Op("MatMul", {g.Op("Softmax", {scores}, {{"axis", int64_t{3}}}), v});
       g.Out(g.Reshape(g.Transpose(out, {2, 0, 1, 3}), {5 * kBatch, kAll}));
     }},
    {"Projections", "fused.attention fused.linear ten.transpose ten.transpose",
     [](Graph& g) {  // one exchange of rows for the projections that read the same rows
       V x = Rows(g);
       V q = g.Mul(Heads(g, Projected(g, x)), 0.5);
       V k = Heads(g, Projected(g, x)), v = Heads(g, Projected(g, x));
       g.Out(Back(g, Weigh(g, Scores(g, q, k), v)));
     }},
    {"ProjectionsOfKeys",
     "fused.attention fused.linear fused.linear ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {
       V x = Rows(g), y = Keys(g);
       V q = g.Mul(Heads(g, Projected(g, x)), 0.5);
       V k = Heads(g, Projected(g, y)), v = Heads(g, Projected(g, y));
       g.Out(Back(g, Weigh(g, Scores(g, q, k), v)));
     }},
    {"JoinedHeads", "fused.attention",
     [](Graph& g) {
       V q = JoinedHeads(g, g.Mul(BatchFirst(g), 0.5)), k = JoinedHeads(g, BatchFirst(g));
       g.Out(FromJoined(g, Weigh(g, Scores(g, q, k), JoinedHeads(g, BatchFirst(g)))));
     }},
    {"ScaleBetweenViews", "fused.attention",
     [](Graph& g) {
       V q = g.Mul(JoinedHeads(g, BatchFirst(g)), 0.5), k = JoinedHeads(g, BatchFirst(g));
       g.Out(FromJoined(g, Weigh(g, Scores(g, q, k), JoinedHeads(g, BatchFirst(g)))));
     }},
    {"QuotientBetweenViewsOfKeys", "fused.attention",
     [](Graph& g) {
       V q = JoinedHeads(g, BatchFirst(g)), k = g.Div(JoinedHeads(g, BatchFirst(g)), 2);
       g.Out(FromJoined(g, Weigh(g, Scores(g, q, k), JoinedHeads(g, BatchFirst(g)))));
     }},
    // A near miss: rows of another order are no heads of one row.
    {"OtherOrder", "!fused.attention ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {
       auto heads = [&](const V& x) {
         return g.Transpose(g.Reshape(x, {6, -1, kSize}), {0, 1, 2});
       };
       V q = heads(Rows(g)), k = heads(Rows(g));
       g.Out(Weigh(g, g.Op("Relu", {Scores(g, q, k)}), heads(Rows(g))));
     }},
};
TENON_SPELLINGS(Sequence, kSpellings);

}  // namespace
}  // namespace tenon::spellings::sequence
