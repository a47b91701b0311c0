// Attention whose scores or values are several things beside each other, and attention of blocks.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::attention {
namespace {

constexpr int64_t kHeads = 2;

Extent T() { return {"keys", 6}; }
Extent Blocks() { return {"blocks", 3}; }

V Queries(Graph& g, int64_t size) { return g.In({B(), kHeads, S(), size}); }
V Keys(Graph& g, int64_t size) { return g.In({B(), kHeads, T(), size}); }
V Product(Graph& g, const V& q, const V& k) {
  return g.Op("MatMul", {q, g.Transpose(k, {0, 1, 3, 2})});
}
V Probabilities(Graph& g, const V& scores, int64_t rank = 4) {
  return g.Op("Softmax", {scores}, {{"axis", g.style().positive_axes ? rank - 1 : int64_t{-1}}});
}
// Of five queries and six keys.
V FixedQueries(Graph& g) { return g.In({B(), kHeads, 5, 4}); }
V FixedKeys(Graph& g) { return g.In({B(), kHeads, 6, 4}); }
V Mask(Graph& g) { return g.In({B(), 1, 1, T()}); }
// Of text and of its layout.
V SumOfScores(Graph& g) {
  V text = g.Div(Product(g, Queries(g, 4), Keys(g, 4)), 2);
  return g.Add(text, g.Mul(Product(g, Queries(g, 3), Keys(g, 3)), 0.5));
}
V BlockQueries(Graph& g) { return g.In({B(), Blocks(), 4, kHeads, 4}); }
V BlockKeys(Graph& g) { return g.In({B(), Blocks(), 8, kHeads, 4}); }
V BlockScores(Graph& g) {
  return g.Op("Einsum", {BlockQueries(g), BlockKeys(g)},
              {{"equation", std::string("...qhd,...khd->...hqk")}});
}
void WeighBlocks(Graph& g, const V& scores) {
  g.Out(g.Op("Einsum", {Probabilities(g, scores, 5), BlockKeys(g)},
             {{"equation", std::string("...hqk,...khd->...qhd")}}));
}

// softmax(scores) * sigmoid(log(sum(e^scores)) - sinks): each head learns the score of a sink.
// Infinite scores would have another gate: queries and keys are bounded.
void GateOfSinks(Graph& g, bool with_mask, bool subtracts, bool bounded = true) {
  V queries = FixedQueries(g), keys = FixedKeys(g);
  if (bounded) queries = g.Op("Tanh", {queries}), keys = g.Op("Tanh", {keys});
  V scores = g.Mul(Product(g, queries, keys), 0.5);
  if (with_mask) scores = g.Add(scores, g.Param({1, 1, 5, 6}));
  V sum = g.Reduce("ReduceLogSumExp", scores, {-1}, 4, false);
  V sinks = g.Param({1, kHeads, 1});
  V gate = g.Op("Sigmoid", {subtracts ? g.Sub(sum, sinks) : g.Add(sum, sinks)});
  V out = g.Op("MatMul", {Probabilities(g, scores), FixedKeys(g)});
  g.Out(g.Mul(out, g.Unsqueeze(gate, {3})));
}

// Two heads of keys and of values, each for two heads of the queries.
using Repeat = V (*)(Graph&, const V&);
void AttendGroups(Graph& g, Repeat repeat) {
  V q = g.In({B(), 4, S(), 4}), k = repeat(g, Keys(g, 4)), v = repeat(g, Keys(g, 4));
  g.Out(g.Op("MatMul", {Probabilities(g, g.Mul(Product(g, q, k), 0.5)), v}));
}

const Spelling kAttention[] = {
    // Images: [B, channels, pixels].
    {"OfImages", "fused.attention",
     [](Graph& g) {
       V q = g.In({B(), 4, S()}), k = g.In({B(), 4, T()}), v = g.In({B(), 4, T()});
       V scores = g.Mul(g.Op("MatMul", {g.Transpose(q, {0, 2, 1}), k}), 0.5);
       V weights = g.Transpose(Probabilities(g, scores, 3), {0, 2, 1});
       g.Out(g.Op("MatMul", {v, weights}));
     }},
    {"HeadsRepeatedByTile", "fused.attention",
     [](Graph& g) {
       AttendGroups(g, [](Graph& h, const V& x) {
         V wide = h.Op("Tile", {h.Unsqueeze(x, {2}), h.Index({1, 1, 2, 1, 1})});
         return h.Reshape(wide, {0, 4, -1, 4});
       });
     }},
    {"HeadsRepeatedByConcat", "fused.attention",
     [](Graph& g) {
       AttendGroups(g, [](Graph& h, const V& x) {
         V one = h.Unsqueeze(x, {2});
         return h.Reshape(h.Op("Concat", {one, one}, {{"axis", int64_t{2}}}), {0, 4, -1, 4});
       });
     }},
    {"HeadsRepeatedByGather", "fused.attention",
     [](Graph& g) {
       AttendGroups(g, [](Graph& h, const V& x) {
         return h.Op("Gather", {x, h.Index({0, 0, 1, 1})}, {{"axis", int64_t{1}}});
       });
     }},
    {"HeadsInTurnByGather", "fused.attention ten.gather ten.gather",
     [](Graph& g) {
       AttendGroups(g, [](Graph& h, const V& x) {
         return h.Op("Gather", {x, h.Index({0, 1, 0, 1})}, {{"axis", int64_t{1}}});
       });
     }},
    {"FactorOfEachHead", "fused.attention ten.mul",
     [](Graph& g) {
       V scores = g.Mul(Product(g, Queries(g, 4), Keys(g, 4)), g.Param({kHeads, 1, 1}, 0.2, 1));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), Keys(g, 4)}));
     },
     11, false},
    {"FactorOfEachHeadOfNorms", "fused.attention nn.rms_norm ten.mul",
     [](Graph& g) {
       V q = Queries(g, 4);
       V mean = g.Mean(g.Mul(q, q), {-1}, 4);
       V unit = g.Div(q, g.Op("Sqrt", {g.Add(mean, 1e-5)}));
       V scores = g.Mul(Product(g, unit, Keys(g, 4)), g.Param({kHeads, 1, 1}, 5, 20));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), Keys(g, 4)}));
     },
     11, false},
    {"QuotientOfEachHead", "fused.attention ten.mul",
     [](Graph& g) {
       V scores = g.Div(Product(g, Queries(g, 4), Keys(g, 4)), g.Param({1, kHeads, 1, 1}, 1, 4));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), Keys(g, 4)}));
     },
     11, false},
    {"FactorOfEachHeadMasked", "fused.attention ten.mul",
     [](Graph& g) {
       V scores = g.Mul(Product(g, FixedQueries(g), FixedKeys(g)), g.Param({kHeads, 1, 1}, 0.2, 1));
       V biased = g.Add(g.Add(scores, g.Param({1, kHeads, 5, 6})), g.In({B(), 1, 1, 6}));
       g.Out(g.Op("MatMul", {Probabilities(g, biased), FixedKeys(g)}));
     },
     11, false},
    {"FactorOfEachHeadBehindNumber", "fused.attention ten.mul",
     [](Graph& g) {
       V scores = g.Div(Product(g, Queries(g, 4), Keys(g, 4)), 2);
       V scaled = g.Mul(scores, g.Param({kHeads, 1, 1}, 0.2, 1));
       g.Out(g.Op("MatMul", {Probabilities(g, scaled), Keys(g, 4)}));
     },
     11, false},
    {"FactorOfEachHeadBeforeNumber", "fused.attention ten.mul",
     [](Graph& g) {
       V scores = g.Mul(Product(g, Queries(g, 4), Keys(g, 4)), g.Param({kHeads, 1, 1}, 0.2, 1));
       g.Out(g.Op("MatMul", {Probabilities(g, g.Div(scores, 2)), Keys(g, 4)}));
     },
     11, false},
    {"QuotientOfEachHeadBehindNumber", "fused.attention ten.mul",
     [](Graph& g) {
       V scores = g.Mul(Product(g, Queries(g, 4), Keys(g, 4)), 0.5);
       V scaled = g.Div(scores, g.Param({1, kHeads, 1, 1}, 1, 4));
       g.Out(g.Op("MatMul", {Probabilities(g, scaled), Keys(g, 4)}));
     },
     11, false},
    // Angles between queries and keys, times a large number of each head.
    {"AnglesOfEachHead",
     "fused.attention fused.group ten.clip ten.clip ten.div ten.reduce_l2 ten.reduce_l2",
     [](Graph& g) {
       const auto unit = [&](const V& x) {
         V length = g.Op("ReduceL2", {x}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
         return g.Div(x, g.Op("Clip", {length, g.Number(1e-12, DType::kF32)}));
       };
       V scores =
           g.Mul(Product(g, unit(Queries(g, 4)), unit(Keys(g, 4))), g.Param({kHeads, 1, 1}, 5, 20));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), Keys(g, 4)}));
     },
     11, false},
    // Scores that are capped, of which a mask replaces some by a number.
    {"CappedScoresReplaced", "fused.attention",
     [](Graph& g) {
       V scores = g.Mul(Product(g, FixedQueries(g), FixedKeys(g)), 0.5);
       V capped = g.Mul(g.Op("Tanh", {g.Div(scores, 30)}), 30);
       V masked = g.Op("Where", {g.In({B(), 1, 5, 6}, DType::kBool), capped, -1e9});
       g.Out(g.Op("MatMul", {Probabilities(g, masked), FixedKeys(g)}));
     },
     11, false},
    {"GateOfSinks", "fused.attention ten.expand ten.tanh ten.tanh",
     [](Graph& g) { GateOfSinks(g, false, true); }, 11, false},
    {"GateOfNegatedSinks", "fused.attention ten.expand ten.tanh ten.tanh",
     [](Graph& g) { GateOfSinks(g, false, false); }, 11, false},
    {"GateOfSinksMasked", "fused.attention ten.expand ten.tanh ten.tanh",
     [](Graph& g) { GateOfSinks(g, true, true); }, 11, false},
    {"TwoKeys", "fused.attention ten.concat ten.concat ten.mul ten.mul",
     [](Graph& g) {
       g.Out(g.Op("MatMul", {Probabilities(g, SumOfScores(g)), Keys(g, 4)}));
     }},
    {"TwoKeysMasked", "fused.attention ten.concat ten.concat ten.mul ten.mul",
     [](Graph& g) {
       V masked = g.Add(SumOfScores(g), Mask(g));
       g.Out(g.Op("MatMul", {Probabilities(g, masked), Keys(g, 4)}));
     }},
    {"TwoValues", "fused.attention ten.concat ten.concat ten.concat ten.mul ten.mul ten.split",
     [](Graph& g) {
       V weights = Probabilities(g, g.Add(SumOfScores(g), Mask(g)));
       g.Out(g.Op("MatMul", {weights, Keys(g, 4)}));
       g.Out(g.Op("MatMul", {weights, Keys(g, 3)}));
     }},
    {"Blocks",
     "fused.attention ten.reshape ten.reshape ten.reshape ten.reshape ten.transpose ten.transpose "
     "ten.transpose ten.transpose",
     [](Graph& g) { WeighBlocks(g, BlockScores(g)); }, 12},
    {"BlocksWithBiasAndMask",
     "fused.attention ten.add ten.reshape ten.reshape ten.reshape ten.reshape ten.reshape "
     "ten.transpose ten.transpose ten.transpose ten.transpose",
     [](Graph& g) {
       V biased = g.Add(BlockScores(g), g.Param({1, 1, kHeads, 4, 8}));
       WeighBlocks(g, g.Add(biased, g.In({B(), Blocks(), 1, 4, 8})));
     },
     12},
    {"ValuesFirst", "fused.attention ten.transpose ten.transpose",
     [](Graph& g) {
       V weights = Probabilities(g, g.Mul(Product(g, Queries(g, 4), Keys(g, 4)), 0.5));
       V values = g.In({B(), kHeads, 4, T()});
       g.Out(g.Op("MatMul", {values, g.Transpose(weights, {0, 1, 3, 2})}));
     }},

    // Near misses.
    {"GateOfSinksUnbounded", "!fused.attention",
     [](Graph& g) { GateOfSinks(g, false, true, false); }, 11, false},
    {"FactorOfEachKey", "!fused.attention",
     [](Graph& g) {
       V scores = g.Mul(Product(g, FixedQueries(g), FixedKeys(g)), g.Param({1, 1, 1, 6}, 5, 20));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), FixedKeys(g)}));
     }},
    {"FactorOfEachHeadOutOfBounds", "!fused.attention",
     [](Graph& g) {
       V scores = g.Mul(Product(g, Queries(g, 4), Keys(g, 4)), g.Param({kHeads, 1, 1}, 2e4, 5e4));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), Keys(g, 4)}));
     },
     11, false},
    {"SumOfProbabilities", "nn.softmax nn.softmax ten.add ten.matmul ten.matmul ten.matmul",
     [](Graph& g) {
       V text = Probabilities(g, Product(g, Queries(g, 4), Keys(g, 4)));
       V layout = Probabilities(g, Product(g, Queries(g, 3), Keys(g, 3)));
       g.Out(g.Op("MatMul", {g.Add(text, layout), Keys(g, 4)}));
     }},
    {"ProductOfScores", "nn.softmax ten.matmul ten.matmul ten.matmul ten.mul",
     [](Graph& g) {
       V scores =
           g.Mul(Product(g, Queries(g, 4), Keys(g, 4)), Product(g, Queries(g, 3), Keys(g, 3)));
       g.Out(g.Op("MatMul", {Probabilities(g, scores), Keys(g, 4)}));
     }},
    {"ValuesOfTheFirst", "nn.softmax ten.matmul ten.matmul ten.matmul ten.relu",
     [](Graph& g) {
       V weights = Probabilities(g, Product(g, g.In({B(), kHeads, T(), 4}), Keys(g, 4)));
       V once = g.Op("Relu", {g.Op("MatMul", {weights, Keys(g, 4)})});
       g.Out(g.Op("MatMul", {weights, once}));
     }},
};

TENON_SPELLINGS(AttentionSpelling, kAttention);

}  // namespace
}  // namespace tenon::spellings::attention
