// Products with a constant matrix, skip norms, embeddings.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::linear {
namespace {

constexpr int64_t kH = 16, kF = 24;

V X(Graph& g) { return g.In({B(), S(), kH}); }
V Rows(Graph& g) { return g.In({B(), kH}); }
V W(Graph& g) { return g.Param({kH, kF}, -0.5, 0.5); }
V MatMul(Graph& g, const V& x, const V& w) { return g.Op("MatMul", {x, w}); }
V Gelu(Graph& g, const V& x) {
  V erf = g.Op("Erf", {g.Div(x, 1.4142135623730951)});
  return g.Mul(g.Mul(x, g.Add(erf, 1.0)), 0.5);
}

const Spelling kLinear[] = {
    {"MatMul", "fused.linear", [](Graph& g) { g.Out(MatMul(g, X(g), W(g))); }},
    {"MatMulBias", "fused.linear",
     [](Graph& g) { g.Out(g.Add(MatMul(g, X(g), W(g)), g.Param({kF}))); }},
    {"MatMulBiasMatrix", "fused.linear",
     [](Graph& g) {
       g.Out(g.Add(MatMul(g, X(g), W(g)), g.Param({1, kF})));
     }},
    {"MatMulBiasCube", "fused.linear",
     [](Graph& g) {
       g.Out(g.Add(MatMul(g, X(g), W(g)), g.Param({1, 1, kF})));
     }},
    {"MatMulMinusBias", "fused.linear",
     [](Graph& g) { g.Out(g.Sub(MatMul(g, X(g), W(g)), g.Param({kF}))); }},
    {"BiasOfMovedHeads", "fused.linear ten.reshape ten.transpose",
     [](Graph& g) {
       V heads = g.Reshape(MatMul(g, X(g), W(g)), {0, -1, 2, kF / 2});
       g.Out(g.Add(g.Transpose(heads, {0, 2, 1, 3}), g.Param({1, 2, 1, kF / 2})));
     }},
    {"BiasOfElementsBeforeHeads", "fused.add_transpose fused.linear ten.reshape",
     [](Graph& g) {
       V heads = g.Reshape(MatMul(g, X(g), W(g)), {0, -1, 2, kF / 2});
       g.Out(g.Add(g.Transpose(heads, {0, 3, 1, 2}), g.Param({1, kF / 2, 1, 2})));
     }},
    {"MatMulNumber", "fused.linear", [](Graph& g) { g.Out(g.Add(MatMul(g, X(g), W(g)), 0.25)); }},
    {"SquaredMatSub", "fused.squared_mat_sub",
     [](Graph& g) {
       V x = Rows(g), v = W(g), sums = MatMul(g, x, v);
       V squares = MatMul(g, g.Mul(x, x), g.Mul(v, v));
       g.Out(g.Mul(g.Sub(g.Mul(sums, sums), squares), 0.5));
     }},
    {"SquaredMatSubByPowers", "fused.squared_mat_sub",
     [](Graph& g) {
       V x = Rows(g), v = W(g);
       V squares = MatMul(g, g.Pow(x, 2), g.Pow(v, 2));
       g.Out(g.Sub(g.Pow(MatMul(g, x, v), 2), squares));
     }},
    {"MatMulTwoBiases", "fused.linear",
     [](Graph& g) { g.Out(g.Add(g.Add(MatMul(g, X(g), W(g)), g.Param({kF})), g.Param({kF}))); }},
    {"MatMulTransposedWeights", "fused.linear",
     [](Graph& g) {
       V w = g.Transpose(g.Param({kF, kH}), {1, 0});
       g.Out(g.Add(MatMul(g, X(g), w), g.Param({kF})));
     }},
    {"MatMulCastWeights", "fused.linear",
     [](Graph& g) {
       V w = g.Op("Identity", {W(g)});
       g.Out(g.Add(MatMul(g, X(g), w), g.Op("Identity", {g.Param({kF})})));
     }},
    {"MatMulScaled", "fused.linear",
     [](Graph& g) { g.Out(g.Mul(g.Add(MatMul(g, X(g), W(g)), g.Param({kF})), 0.125)); }},
    {"MatMulScaledBefore", "fused.linear",
     [](Graph& g) { g.Out(g.Add(g.Mul(MatMul(g, X(g), W(g)), 0.125), g.Param({kF}))); }},
    {"MatMulDivided", "fused.linear", [](Graph& g) { g.Out(g.Div(MatMul(g, X(g), W(g)), 3.0)); }},
    {"MatMulScaleOfColumns", "fused.linear",
     [](Graph& g) { g.Out(g.Mul(g.Add(MatMul(g, X(g), W(g)), g.Param({kF})), g.Param({kF}))); }},
    {"Gemm", "fused.linear",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {Rows(g), W(g), g.Param({kF})}));
     }},
    {"GemmTransposedB", "fused.linear",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {Rows(g), g.Param({kF, kH}), g.Param({kF})}, {{"transB", int64_t{1}}}));
     }},
    {"GemmTransposedA", "fused.linear ten.transpose",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {g.In({kH, B()}), W(g), g.Param({kF})}, {{"transA", int64_t{1}}}));
     }},
    {"MatrixFirst", "fused.linear",
     [](Graph& g) {  // (w x^T)^T
       V product = MatMul(g, g.Param({kF, kH}), g.Transpose(Rows(g), {1, 0}));
       g.Out(g.Op("Relu", {g.Add(g.Transpose(product, {1, 0}), g.Param({kF}))}));
     }},
    {"MatrixFirstOfRows", "fused.linear",
     [](Graph& g) {
       V product = MatMul(g, g.Param({kF, kH}), g.Transpose(X(g), {0, 2, 1}));
       g.Out(g.Transpose(g.Add(product, g.Param({kF, 1})), {0, 2, 1}));
     }},
    {"MatrixFirstOfColumns", "fused.linear",
     [](Graph& g) {
       V product = MatMul(g, g.Param({kF, kH}), g.In({B(), kH, S()}));
       g.Out(g.Add(g.Transpose(product, {0, 2, 1}), g.Param({kF})));
     }},
    // A near miss: the result is not transposed.
    {"MatrixFirstAlone", "!fused.linear",
     [](Graph& g) {
       g.Out(MatMul(g, g.Param({kF, kH}), g.In({B(), kH, S()})));
     }},
    {"GemmFactors", "fused.linear",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {Rows(g), W(g), g.Param({kF})}, {{"alpha", 0.5}, {"beta", 2.0}}));
     }},
    {"GemmWithoutC", "fused.linear",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {Rows(g), W(g)}));
     }},
    {"GemmAdd", "fused.linear",
     [](Graph& g) {
       g.Out(g.Add(g.Op("Gemm", {Rows(g), W(g)}), g.Param({kF})));
     }},
    {"GemmScalarC", "fused.linear",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {Rows(g), W(g), g.Param({1})}));
     }},
    {"GemmMatrixC", "fused.linear",
     [](Graph& g) {
       g.Out(g.Op("Gemm", {Rows(g), W(g), g.Param({1, kF})}));
     }},
    {"ReshapeGemmReshape", "fused.linear",
     [](Graph& g) {
       V rows = g.Reshape(g.In({B(), 5, kH}), {-1, kH});
       V y = g.Op("Gemm", {rows, W(g), g.Param({kF})});
       g.Out(g.Op("Reshape", {y, g.Index({-1, 5, kF})}));
     }},
    {"ReshapeMatMulReshapeOfShape", "fused.linear",
     [](Graph& g) {
       V x = X(g), y = MatMul(g, g.Reshape(x, {-1, kH}), W(g));
       V lead = g.Slice(g.Op("Shape", {x}), 0, 2, 0);
       V shape = g.Op("Concat", {lead, g.Index({kF})}, {{"axis", int64_t{0}}});
       g.Out(g.Add(g.Op("Reshape", {y, shape}), g.Param({kF})));
     }},
    {"ReshapeGemmActivationReshape", "fused.linear",
     [](Graph& g) {
       V rows = g.Reshape(g.In({B(), 5, kH}), {-1, kH});
       V y = g.Op("Relu", {g.Op("Gemm", {rows, W(g), g.Param({kF})})});
       g.Out(g.Op("Reshape", {y, g.Index({-1, 5, kF})}));
     }},
    {"EinsumOfWeights", "fused.linear",
     [](Graph& g) {
       V y = g.Op("Einsum", {X(g), W(g)}, {{"equation", std::string("bsh,hf->bsf")}});
       g.Out(g.Add(y, g.Param({kF})));
     },
     12},
    {"EinsumOfTransposedWeights", "fused.linear",
     [](Graph& g) {
       V w = g.Param({kF, kH});
       V y = g.Op("Einsum", {X(g), w}, {{"equation", std::string("bsi,oi->bso")}});
       g.Out(g.Add(y, g.Param({kF})));
     },
     12},
    {"Relu", "fused.linear",
     [](Graph& g) { g.Out(g.Op("Relu", {g.Add(MatMul(g, X(g), W(g)), g.Param({kF}))})); }},
    {"GeluAfterBias", "fused.linear",
     [](Graph& g) { g.Out(Gelu(g, g.Add(MatMul(g, X(g), W(g)), g.Param({kF})))); }},
    {"GeluAfterGemm", "fused.linear",
     [](Graph& g) {
       g.Out(Gelu(g, g.Op("Gemm", {Rows(g), W(g), g.Param({kF})})));
     }},
    {"MishAfterGemm", "fused.linear",
     [](Graph& g) {
       V y = g.Op("Gemm", {Rows(g), W(g), g.Param({kF})});
       g.Out(g.Mul(y, g.Op("Tanh", {g.Op("Softplus", {y})})));
     }},
    {"SiluAfterMatMul", "fused.linear",
     [](Graph& g) {
       V y = MatMul(g, X(g), W(g));
       g.Out(g.Mul(g.Op("Sigmoid", {y}), y));
     }},
    {"GemmBatchNorm", "fused.linear",
     [](Graph& g) {
       V y = g.Op("Gemm", {Rows(g), W(g), g.Param({kF})});
       g.Out(g.Op("BatchNormalization",
                  {y, g.Param({kF}), g.Param({kF}), g.Param({kF}), g.Param({kF}, 0.5, 2)}));
     },
     11, false},  // some weights times their factor would be subnormal in f16
    {"MatMulBatchNormRelu", "fused.linear",
     [](Graph& g) {
       V y = MatMul(g, Rows(g), W(g));
       y = g.Op("BatchNormalization",
                {y, g.Param({kF}), g.Param({kF}), g.Param({kF}), g.Param({kF}, 0.5, 2)});
       g.Out(g.Op("Relu", {y}));
     }},
    {"Residual", "fused.linear",
     [](Graph& g) {
       V x = X(g), y = g.Add(MatMul(g, x, g.Param({kH, kH}, -0.5, 0.5)), g.Param({kH}));
       g.Out(g.Add(y, x));
     }},
    {"ResidualAndRow", "fused.linear",
     [](Graph& g) {
       V x = X(g), y = g.Add(MatMul(g, x, g.Param({kH, kH}, -0.5, 0.5)), g.Param({kH}));
       g.Out(g.Add(g.Add(x, g.Param({1, kH})), y));
     }},
    {"TwoLayers", "fused.linear fused.linear",
     [](Graph& g) {
       V y = Gelu(g, g.Add(MatMul(g, X(g), W(g)), g.Param({kF})));
       g.Out(g.Add(MatMul(g, y, g.Param({kF, kH})), g.Param({kH})));
     }},
    // Near misses.
    {"BiasOfRows", "fused.linear ten.add",
     [](Graph& g) {
       g.Out(g.Add(MatMul(g, g.In({B(), kF, kH}), W(g)), g.Param({kF, 1})));
     }},
    {"ProductIsUsedElsewhere", "fused.linear ten.add",
     [](Graph& g) {
       V y = MatMul(g, X(g), W(g));
       g.Out(y);
       g.Out(g.Add(y, g.Param({kF})));
     }},
    {"BatchOfWeights", "!fused.linear",
     [](Graph& g) {
       g.Out(MatMul(g, g.In({3, S(), kH}), g.Param({3, kH, kF})));
     }},
    {"WeightsAreAnInput", "!fused.linear",
     [](Graph& g) {
       g.Out(MatMul(g, X(g), g.In({kH, kF})));
     }},
    {"RowsAreRegrouped", "!fused.gated",
     [](Graph& g) {
       V y = MatMul(g, g.Reshape(X(g), {0, -1, kH / 2}), g.Param({kH / 2, kH}));
       g.Out(g.Reshape(y, {0, -1, 2 * kH}));
     }},
};
using Linear = SpellingTest;
TEST_P(Linear, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Linear, ::testing::ValuesIn(kLinear), SpellingName);

// ---- residual and norm -------------------------------------------------------------------------

V LayerNorm(Graph& g, const V& x) {
  V w = g.Param({kH}, 0.5, 1.5), b = g.Param({kH});
  if (g.style().opset >= 17) return g.Op("LayerNormalization", {x, w, b});
  V centered = g.Sub(x, g.Mean(x));
  V r = g.Op("Sqrt", {g.Add(g.Mean(g.Mul(centered, centered)), 1e-5)});
  return g.Add(g.Mul(g.Div(centered, r), w), b);
}
V RmsNorm(Graph& g, const V& x) {
  V r = g.Op("Sqrt", {g.Add(g.Mean(g.Pow(x, 2.0)), 1e-6)});
  return g.Mul(g.Mul(x, g.Op("Reciprocal", {r})), g.Param({kH}, 0.5, 1.5));
}
V Square(Graph& g, const V& x) { return MatMul(g, x, g.Param({kH, kH}, -0.5, 0.5)); }

const Spelling kSkips[] = {
    {"AddLayerNorm", "fused.skip_layer_norm",
     [](Graph& g) { g.Out(LayerNorm(g, g.Add(X(g), X(g)))); }},
    {"AddLayerNormSumUsed", "fused.skip_layer_norm",
     [](Graph& g) {
       V sum = g.Add(X(g), X(g));
       g.Out(LayerNorm(g, sum));
       g.Out(sum);
     }},
    {"AddRmsNorm", "fused.skip_rms_norm", [](Graph& g) { g.Out(RmsNorm(g, g.Add(X(g), X(g)))); }},
    {"AddRmsNormSumUsed", "fused.skip_rms_norm",
     [](Graph& g) {
       V sum = g.Add(X(g), X(g));
       g.Out(sum);
       g.Out(RmsNorm(g, sum));
     }},
    {"AddRmsNormOp", "fused.skip_rms_norm",
     [](Graph& g) {
       V sum = g.Add(X(g), X(g));
       g.Out(g.Op("RMSNormalization", {sum, g.Param({kH})}));
     },
     23},
    {"LinearBiasResidualNorm", "fused.linear fused.skip_layer_norm",
     [](Graph& g) {
       V x = X(g);
       g.Out(LayerNorm(g, g.Add(g.Add(Square(g, x), g.Param({kH})), x)));
     }},
    {"LinearResidualBiasNorm", "fused.linear fused.skip_layer_norm",
     [](Graph& g) {
       V x = X(g);
       g.Out(LayerNorm(g, g.Add(g.Add(Square(g, x), x), g.Param({kH}))));
     }},
    {"LinearBiasOnResidualNorm", "fused.linear fused.skip_layer_norm",
     [](Graph& g) {
       V x = X(g), y = X(g);
       g.Out(LayerNorm(g, g.Add(Square(g, y), g.Add(x, g.Param({kH})))));
     }},
    {"PreNormBlock", "fused.linear fused.linear fused.skip_layer_norm nn.layer_norm",
     [](Graph& g) {
       V x = X(g);
       V sum = g.Add(x, g.Add(Square(g, LayerNorm(g, x)), g.Param({kH})));
       V y = Gelu(g, g.Add(MatMul(g, LayerNorm(g, sum), W(g)), g.Param({kF})));
       g.Out(y);
       g.Out(sum);
     }},
    {"BiasAndResidualNorm", "fused.skip_layer_norm",
     [](Graph& g) { g.Out(LayerNorm(g, g.Add(g.Add(X(g), g.Param({kH})), X(g)))); }},
    {"ResidualAndBiasNorm", "fused.skip_layer_norm",
     [](Graph& g) {
       V sum = g.Add(g.Add(X(g), X(g)), g.Param({1, 1, kH}));
       g.Out(LayerNorm(g, sum));
       g.Out(sum);
     }},
    {"BiasOnResidualRmsNorm", "fused.skip_rms_norm",
     [](Graph& g) { g.Out(RmsNorm(g, g.Add(X(g), g.Add(X(g), g.Param({kH}))))); }},
    {"BiasThenNorm", "fused.skip_layer_norm",
     [](Graph& g) { g.Out(LayerNorm(g, g.Add(X(g), g.Param({kH})))); }},
    {"BroadcastSkip", "fused.skip_layer_norm",
     [](Graph& g) {
       g.Out(LayerNorm(g, g.Add(X(g), g.In({1, S(), kH}))));
     }},
    {"TwoResiduals", "fused.skip_layer_norm ten.add",
     [](Graph& g) { g.Out(LayerNorm(g, g.Add(g.Add(X(g), X(g)), X(g)))); }},
    // Near misses.
    {"DifferenceThenNorm", "nn.rms_norm ten.sub",
     [](Graph& g) { g.Out(RmsNorm(g, g.Sub(X(g), X(g)))); }},
    {"NormOfProduct", "nn.rms_norm ten.mul",
     [](Graph& g) { g.Out(RmsNorm(g, g.Mul(X(g), X(g)))); }},
};
using Skip = SpellingTest;
TEST_P(Skip, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Skip, ::testing::ValuesIn(kSkips), SpellingName);

// ---- embeddings --------------------------------------------------------------------------------

V Words(Graph& g) { return g.Op("Gather", {g.Param({20, kH}), g.Ids({B(), S()}, 20)}); }
V Types(Graph& g) { return g.Op("Gather", {g.Param({2, kH}), g.Ids({B(), S()}, 2)}); }
V PositionsOfIds(Graph& g) { return g.Op("Gather", {g.Param({12, kH}), g.Ids({1, S()}, 12)}); }
V PositionsOfTable(Graph& g) {  // the first S rows, as a slice of numbers gives them
  V ids = g.Index({0, 1, 2, 3, 4});
  return g.Op("Gather", {g.Param({12, kH}), g.Unsqueeze(ids, {0})});
}
V Fixed(Graph& g) { return g.Op("Gather", {g.Param({20, kH}), g.Ids({B(), 5}, 20)}); }

const Spelling kEmbeddings[] = {
    {"WordTypePosition", "fused.embedding",
     [](Graph& g) {
       V w = Words(g), t = Types(g);
       g.Out(LayerNorm(g, g.Add(g.Add(w, t), PositionsOfIds(g))));
     }},
    {"WordPositionType", "fused.embedding",
     [](Graph& g) {
       V w = Words(g), t = Types(g);
       g.Out(LayerNorm(g, g.Add(g.Add(w, PositionsOfIds(g)), t)));
     }},
    {"WordAndSum", "fused.embedding",
     [](Graph& g) {
       V w = Words(g), t = Types(g), p = PositionsOfIds(g);
       g.Out(LayerNorm(g, g.Add(w, g.Add(p, t))));
     }},
    {"ConstantPositions", "fused.embedding",
     [](Graph& g) {
       V w = Fixed(g);
       g.Out(LayerNorm(g, g.Add(w, PositionsOfTable(g))));
     }},
    {"ConstantTypes", "fused.embedding",
     [](Graph& g) {
       V w = Words(g), t = g.Op("Gather", {g.Param({2, kH}), g.Index({0}, true)});
       g.Out(LayerNorm(g, g.Add(g.Add(w, t), PositionsOfIds(g))));
     }},
    {"FiveTables", "fused.embedding",
     [](Graph& g) {  // LayoutLM: words, positions and those of the boxes
       V sum = g.Add(Words(g), PositionsOfIds(g));
       for (int i = 0; i < 3; ++i) sum = g.Add(sum, Types(g));
       g.Out(LayerNorm(g, sum));
     }},
    {"FourTablesInPairs", "fused.embedding",
     [](Graph& g) {
       V a = g.Add(Words(g), Types(g)), b = g.Add(PositionsOfIds(g), Words(g));
       g.Out(LayerNorm(g, g.Add(a, b)));
     }},
    {"WordOnly", "fused.embedding", [](Graph& g) { g.Out(LayerNorm(g, Words(g))); }},
    {"WordRms", "fused.embedding", [](Graph& g) { g.Out(RmsNorm(g, Words(g))); }},
    {"WordPositionNoNorm", "fused.embedding",
     [](Graph& g) {
       V w = Words(g);
       g.Out(g.Add(w, PositionsOfIds(g)));
     }},
    {"SumUsedAfterNorm", "fused.embedding",
     [](Graph& g) {  // GPT-2: the first norm and the residual stream
       V w = Words(g), sum = g.Add(w, PositionsOfIds(g));
       g.Out(LayerNorm(g, sum));
       g.Out(sum);
     }},
    {"BagOfWords", "fused.embedding_pool",
     [](Graph& g) { g.Out(g.Reduce("ReduceSum", Words(g), {-2}, 3, false)); }},
    {"MeanOfWords", "fused.embedding_pool ten.reshape",
     [](Graph& g) { g.Out(g.Reduce("ReduceMean", Words(g), {-2}, 3)); }},
    // Near misses.
    {"SumOfColumns", "ten.gather ten.reduce_sum",
     [](Graph& g) { g.Out(g.Reduce("ReduceSum", Words(g), {-1}, 3)); }},
    {"GatherOfColumns", "!fused.embedding",
     [](Graph& g) {
       V x = g.Op("Gather", {g.Param({kH, kH}), g.Ids({B(), kH}, kH)}, {{"axis", int64_t{1}}});
       g.Out(g.Add(x, 1.0));
     }},
    {"SumOfOneTableAndInput", "!fused.embedding", [](Graph& g) { g.Out(g.Mul(Words(g), X(g))); }},
};
using Embedding = SpellingTest;
TEST_P(Embedding, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Embedding, ::testing::ValuesIn(kEmbeddings), SpellingName);

}  // namespace
}  // namespace tenon::spellings::linear
