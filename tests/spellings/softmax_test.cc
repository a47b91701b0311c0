// Attention whose softmax is spelled otherwise: from exponentials, over other axes, of views.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::softmax {
namespace {

constexpr int64_t kHeads = 2, kSize = 4;

Extent T() { return {"keys", 6}; }

V Queries(Graph& g) { return g.In({B(), kHeads, S(), kSize}); }
V Keys(Graph& g) { return g.In({B(), kHeads, T(), kSize}); }
V Swapped(Graph& g, const V& x) { return g.Transpose(x, {0, 1, 3, 2}); }
V Scores(Graph& g) { return g.Mul(g.Op("MatMul", {Queries(g), Swapped(g, Keys(g))}), 0.5); }
// [B, heads, T, S]
V ScoresOfKeys(Graph& g) { return g.Mul(g.Op("MatMul", {Keys(g), Swapped(g, Queries(g))}), 0.5); }
V Softmax(Graph& g, const V& x, int64_t axis) {
  return g.Op("Softmax", {x}, {{"axis", g.style().positive_axes && axis < 0 ? axis + 4 : axis}});
}
V Sum(Graph& g, const V& x) { return g.Reduce("ReduceSum", x, {-1}, 4); }
// Scores between -2 and 2.
V CappedScores(Graph& g) { return g.Mul(g.Op("Tanh", {g.Mul(Scores(g), 0.5)}), 2.0); }
V Exp(Graph& g, const V& x) { return g.Op("Exp", {x}); }
void Weigh(Graph& g, const V& weights) { g.Out(g.Op("MatMul", {weights, Keys(g)})); }

// An equation as Flax and Keras write it: the keys before the queries.
V Einsum(Graph& g, const V& a, const V& b, const char* equation) {
  return g.Op("Einsum", {a, b}, {{"equation", std::string(equation)}});
}

const Spelling kSoftmax[] = {
    {"Exponentials", "fused.attention",
     [](Graph& g) {
       V e = Exp(g, CappedScores(g));
       Weigh(g, g.Div(e, Sum(g, e)));
     }},
    {"ExponentialsOfClipped", "!ten.exp ten.div ten.reduce_sum",
     [](Graph& g) {
       const DType dtype = g.style().half ? DType::kF16 : DType::kF32;
       V e = Exp(g, g.Op("Clip", {Scores(g), g.Number(-8, dtype), g.Number(8, dtype)}));
       Weigh(g, g.Div(e, Sum(g, e)));
     }},
    {"LoweredExponentials", "fused.attention",
     [](Graph& g) {
       V scores = Scores(g);
       V e = Exp(g, g.Sub(scores, g.Reduce("ReduceMax", scores, {-1}, 4)));
       Weigh(g, g.Mul(e, g.Op("Reciprocal", {Sum(g, e)})));
     }},
    {"QuotientBehindProduct", "fused.attention",
     [](Graph& g) {
       V scores = Scores(g);
       V e = Exp(g, g.Sub(scores, g.Reduce("ReduceMax", scores, {-1}, 4)));
       g.Out(g.Div(g.Op("MatMul", {e, Keys(g)}), Sum(g, e)));
     }},
    {"ReciprocalBehindProduct", "fused.attention",
     [](Graph& g) {
       V scores = Scores(g);
       V e = Exp(g, g.Sub(scores, g.Reduce("ReduceMax", scores, {-1}, 4)));
       g.Out(g.Mul(g.Op("MatMul", {e, Keys(g)}), g.Op("Reciprocal", {Sum(g, e)})));
     }},
    {"ExponentialOfLogarithm", "fused.attention",
     [](Graph& g) {
       V log = g.Op("LogSoftmax", {Scores(g)},
                    {{"axis", g.style().positive_axes ? int64_t{3} : int64_t{-1}}});
       Weigh(g, Exp(g, log));
     }},
    {"ExponentialOfLogSum", "fused.attention",
     [](Graph& g) {
       V scores = CappedScores(g);
       Weigh(g, Exp(g, g.Sub(scores, g.Reduce("ReduceLogSumExp", scores, {-1}, 4))));
     }},
    {"InMoreBits", "fused.attention",
     [](Graph& g) {
       V wide = Softmax(g, g.Cast(Scores(g), DType::kF64), -1);
       Weigh(g, g.Cast(wide, g.style().half ? DType::kF16 : DType::kF32));
     }},
    {"OfRows", "fused.attention",
     [](Graph& g) {
       V scores = Scores(g);
       V columns = g.Op("Gather", {g.Op("Shape", {scores}), g.Index({3})});
       V shape = g.Op("Concat", {g.Index({-1}), columns}, {{"axis", int64_t{0}}});
       V rows = Softmax(g, g.Op("Reshape", {scores, shape}), 1);
       Weigh(g, g.Op("Reshape", {rows, g.Op("Shape", {scores})}));
     }},
    {"OverAnotherAxis", "fused.attention",
     [](Graph& g) {
       V moved = Softmax(g, g.Transpose(Scores(g), {0, 3, 1, 2}), 1);
       Weigh(g, g.Transpose(moved, {0, 2, 3, 1}));
     },
     13},
    {"OverRows", "fused.attention",
     [](Graph& g) { Weigh(g, Swapped(g, Softmax(g, ScoresOfKeys(g), 2))); }, 13},
    {"OverMaskedRows", "fused.attention ten.transpose",
     [](Graph& g) {
       V masked = g.Add(ScoresOfKeys(g), g.In({B(), 1, T(), S()}));
       Weigh(g, Swapped(g, Softmax(g, masked, 2)));
     },
     13},
    {"TransposedProduct", "fused.attention",
     [](Graph& g) { Weigh(g, Softmax(g, Swapped(g, ScoresOfKeys(g)), -1)); }},
    {"Negated", "fused.attention",
     [](Graph& g) { Weigh(g, Softmax(g, g.Op("Neg", {g.Mul(Scores(g), -2.0)}), -1)); }},
    {"KeysBeforeQueries", "fused.attention",
     [](Graph& g) {
       V q = g.In({B(), S(), kHeads, kSize}), k = g.In({B(), T(), kHeads, kSize});
       V weights = Softmax(g, Einsum(g, k, g.Mul(q, 0.5), "aecd,abcd->acbe"), -1);
       g.Out(Einsum(g, weights, g.In({B(), T(), kHeads, kSize}), "acbe,aecd->abcd"));
     },
     12},

    // Near misses.
    {"OfOtherRows", "nn.softmax ten.matmul ten.matmul ten.mul ten.reshape ten.reshape",
     [](Graph& g) {
       V all = g.Reshape(Scores(g), {0, kHeads, -1});
       V weights = g.Op("Softmax", {all}, {{"axis", int64_t{2}}});
       V scores = g.Op("Shape", {Scores(g)});
       Weigh(g, g.Op("Reshape", {weights, scores}));
     },
     13},
    {"ExponentialsOfAnyScores", "!fused.attention",
     [](Graph& g) {
       V e = Exp(g, Scores(g));
       Weigh(g, g.Div(e, Sum(g, e)));
     }},
    {"OverQueries", "!fused.attention", [](Graph& g) { Weigh(g, Softmax(g, Scores(g), 2)); }, 13},
    {"QuotientByAnotherSum", "!fused.attention",
     [](Graph& g) {
       V scores = Scores(g);
       V e = Exp(g, g.Sub(scores, g.Reduce("ReduceMax", scores, {-1}, 4)));
       V once = g.Reduce("ReduceSum", e, {-2}, 4);
       g.Out(g.Div(g.Op("MatMul", {e, Keys(g)}), g.Reduce("ReduceSum", once, {-1}, 4)));
     }},
    {"AnotherSum", "!fused.attention",
     [](Graph& g) {
       V e = Exp(g, Scores(g));
       Weigh(g, g.Div(e, g.Reduce("ReduceSum", e, {-2}, 4)));
     }},
    {"AnotherMaximum", "!fused.attention",
     [](Graph& g) {
       V scores = Scores(g);
       V e = Exp(g, g.Sub(scores, g.Reduce("ReduceMax", scores, {-2}, 4)));
       Weigh(g, g.Div(e, Sum(g, e)));
     }},
};

TENON_SPELLINGS(SoftmaxSpelling, kSoftmax);

}  // namespace
}  // namespace tenon::spellings::softmax
