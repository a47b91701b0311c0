// Convolutions with what follows and precedes them, and transposes around elementwise ops.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::conv {
namespace {

constexpr int64_t kC = 4, kM = 6;

V X(Graph& g) { return g.In({B(), kC, 8, 8}); }
V Conv(Graph& g, const V& x, bool bias = true) {
  V w = g.Param({kM, kC, 3, 3}, -0.4, 0.4);
  std::vector<V> inputs = {x, w};
  if (bias) inputs.push_back(g.Param({kM}));
  return g.Op("Conv", inputs, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
}
V BatchNorm(Graph& g, const V& x, int64_t c = kM) {
  return g.Op("BatchNormalization",
              {x, g.Param({c}), g.Param({c}), g.Param({c}), g.Param({c}, 0.5, 2)});
}
V Op(Graph& g, const char* type, const V& x, const Attributes& attributes = {}) {
  return g.Op(type, {x}, attributes);
}
V Silu(Graph& g, const V& x) { return g.Mul(x, Op(g, "Sigmoid", x)); }
V Clip6(Graph& g, const V& x) { return g.Either("Min", Op(g, "Relu", x), 6.0); }
V ConvTranspose(Graph& g, const V& x, bool bias) {
  std::vector<V> inputs = {x, g.Param({kC, kM, 2, 2}, -0.4, 0.4)};
  if (bias) inputs.push_back(g.Param({kM}));
  return g.Op("ConvTranspose", inputs, {{"strides", Ints{2, 2}}});
}

const Spelling kConvs[] = {
    {"Relu", "fused.conv", [](Graph& g) { g.Out(Op(g, "Relu", Conv(g, X(g)))); }},
    {"Clip6", "fused.conv", [](Graph& g) { g.Out(Clip6(g, Conv(g, X(g)))); }},
    {"LeakyRelu", "fused.conv",
     [](Graph& g) {
       g.Out(Op(g, "LeakyRelu", Conv(g, X(g)), {{"alpha", 0.1}}));
     }},
    {"Sigmoid", "fused.conv", [](Graph& g) { g.Out(Op(g, "Sigmoid", Conv(g, X(g)))); }},
    {"HardSigmoid", "fused.conv", [](Graph& g) { g.Out(Op(g, "HardSigmoid", Conv(g, X(g)))); }},
    {"Tanh", "fused.conv", [](Graph& g) { g.Out(Op(g, "Tanh", Conv(g, X(g)))); }},
    {"HardSwishOp", "fused.conv", [](Graph& g) { g.Out(Op(g, "HardSwish", Conv(g, X(g)))); }, 14},
    {"Silu", "fused.conv", [](Graph& g) { g.Out(Silu(g, Conv(g, X(g)))); }},
    {"HardSwishFromParts", "fused.conv",
     [](Graph& g) {
       V y = Conv(g, X(g));
       g.Out(g.Div(g.Mul(y, Clip6(g, g.Add(y, 3.0))), 6.0));
     }},
    {"Mish", "fused.conv",
     [](Graph& g) {
       V y = Conv(g, X(g));
       g.Out(g.Mul(y, Op(g, "Tanh", Op(g, "Softplus", y))));
     }},
    {"Elu", "nn.conv ten.elu",
     [](Graph& g) {
       g.Out(Op(g, "Elu", Conv(g, X(g)), {{"alpha", 0.5}}));
     }},
    {"PReluOfANumber", "fused.conv",
     [](Graph& g) {
       g.Out(g.Op("PRelu", {Conv(g, X(g)), g.Fill({1}, 0.25)}));
     }},
    {"PReluOfChannels", "fused.group nn.conv",
     [](Graph& g) {
       g.Out(g.Op("PRelu", {Conv(g, X(g)), g.Param({kM, 1, 1})}));
     },
     11, false},
    {"Gelu", "fused.conv",
     [](Graph& g) {
       V y = Conv(g, X(g)), erf = Op(g, "Erf", g.Div(y, 1.4142135623730951));
       g.Out(g.Mul(g.Mul(y, 0.5), g.Add(erf, 1.0)));
     }},
    {"JoinedRelu", "fused.conv fused.conv ten.concat",
     [](Graph& g) {
       V x = X(g), parts = g.Op("Concat", {Conv(g, x), Conv(g, x, false)}, {{"axis", 1}});
       g.Out(Op(g, "Relu", parts));
     }},
    {"JoinedTwiceSilu", "fused.conv fused.conv fused.conv ten.concat ten.concat",
     [](Graph& g) {
       V x = X(g), two = g.Op("Concat", {Conv(g, x), Conv(g, x)}, {{"axis", 1}});
       g.Out(Silu(g, g.Op("Concat", {two, Conv(g, x)}, {{"axis", 1}})));
     }},
    {"JoinedResidualAndInputClip", "fused.conv ten.clip ten.concat ten.transpose",
     [](Graph& g) {
       V skip = g.In({B(), kM, 8, 8}), x = X(g);
       g.Out(Clip6(g, g.Op("Concat", {x, g.Add(Conv(g, x), skip)}, {{"axis", 1}})));
     }},
    {"JoinedAndRead", "nn.conv ten.concat ten.relu",
     [](Graph& g) {
       V x = X(g), y = Conv(g, x);
       g.Out(Op(g, "Relu", g.Op("Concat", {x, y}, {{"axis", 1}})));
       g.Out(y);
     }},
    {"BatchNormRelu", "fused.conv",
     [](Graph& g) { g.Out(Op(g, "Relu", BatchNorm(g, Conv(g, X(g), false)))); }, 11,
     false},  // some weights times their factor would be subnormal in f16
    {"BatchNormAlone", "nn.conv", [](Graph& g) { g.Out(BatchNorm(g, Conv(g, X(g)))); }},
    {"BatchNormResidualRelu", "fused.conv",
     [](Graph& g) {
       V skip = g.In({B(), kM, 8, 8});
       g.Out(Op(g, "Relu", g.Add(BatchNorm(g, Conv(g, X(g), false)), skip)));
     }},
    {"ResidualRelu", "fused.conv",
     [](Graph& g) {
       V skip = g.In({B(), kM, 8, 8});
       g.Out(Op(g, "Relu", g.Add(Conv(g, X(g)), skip)));
     }},
    {"ResidualThenBias", "fused.conv",
     [](Graph& g) {
       V skip = g.In({B(), kM, 8, 8});
       g.Out(g.Add(g.Add(Conv(g, X(g), false), skip), g.Param({1, kM, 1, 1})));
     }},
    {"ResidualAndBias", "fused.conv",
     [](Graph& g) {
       V skip = g.In({B(), kM, 8, 8});
       g.Out(Op(g, "Relu", g.Add(Conv(g, X(g)), g.Add(skip, g.Param({1, kM, 1, 1})))));
     }},
    {"Bias", "nn.conv",
     [](Graph& g) {
       g.Out(g.Add(Conv(g, X(g), false), g.Param({kM, 1, 1})));
     }},
    {"BiasAfterBias", "nn.conv",
     [](Graph& g) {
       g.Out(g.Add(Conv(g, X(g)), g.Param({1, kM, 1, 1})));
     }},
    {"MinusBias", "nn.conv",
     [](Graph& g) {
       g.Out(g.Sub(Conv(g, X(g)), g.Param({1, kM, 1, 1})));
     }},
    {"NumberAdded", "nn.conv", [](Graph& g) { g.Out(g.Add(Conv(g, X(g)), 0.5)); }},
    {"Scaled", "nn.conv",
     [](Graph& g) {
       g.Out(g.Mul(Conv(g, X(g)), g.Param({1, kM, 1, 1})));
     }},
    {"ScaledByANumber", "nn.conv", [](Graph& g) { g.Out(g.Mul(Conv(g, X(g)), 0.3)); }},
    {"Divided", "nn.conv",
     [](Graph& g) {
       g.Out(g.Div(Conv(g, X(g)), g.Param({kM, 1, 1}, 0.5, 2)));
     }},
    {"MulAddRelu", "fused.conv",
     [](Graph& g) {
       V y = g.Mul(Conv(g, X(g), false), g.Param({1, kM, 1, 1}));
       g.Out(Op(g, "Relu", g.Add(y, g.Param({1, kM, 1, 1}))));
     }},
    {"SubMulAdd", "nn.conv",
     [](Graph& g) {
       V y = g.Sub(Conv(g, X(g)), g.Param({1, kM, 1, 1}));
       g.Out(g.Add(g.Mul(y, g.Param({1, kM, 1, 1})), g.Param({1, kM, 1, 1})));
     }},
    {"SubDivMulAdd", "nn.conv",
     [](Graph& g) {
       V y = g.Sub(Conv(g, X(g)), g.Param({kM, 1, 1}));
       y = g.Div(y, g.Op("Sqrt", {g.Add(g.Param({kM, 1, 1}, 0.5, 2), 1e-5)}));
       g.Out(g.Add(g.Mul(y, g.Param({kM, 1, 1})), g.Param({kM, 1, 1})));
     }},
    {"PadConv", "nn.conv",
     [](Graph& g) {
       V x = g.Op("Pad", {X(g), g.Index({0, 0, 1, 1, 0, 0, 1, 1})});
       g.Out(g.Op("Conv", {x, g.Param({kM, kC, 3, 3})}));
     }},
    {"PadConvAsymmetric", "nn.conv",
     [](Graph& g) {
       V x = g.Op("Pad", {X(g), g.Index({0, 0, 0, 0, 0, 0, 1, 1}), 0.0});
       V y = g.Op("Conv", {x, g.Param({kM, kC, 3, 3})},
                  {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}});
       g.Out(y);
     },
     11},
    {"PadConvRelu", "fused.conv",
     [](Graph& g) {
       V x = g.Op("Pad", {X(g), g.Index({0, 0, 1, 1, 0, 0, 1, 1})});
       g.Out(Op(g, "Relu", g.Op("Conv", {x, g.Param({kM, kC, 3, 3}), g.Param({kM})})));
     }},
    {"ConvTransposeBatchNorm", "nn.conv ten.reshape ten.reshape ten.transpose",
     [](Graph& g) { g.Out(BatchNorm(g, ConvTranspose(g, X(g), false))); }},
    {"ConvTransposeBiasBatchNorm", "nn.conv ten.reshape ten.reshape ten.transpose",
     [](Graph& g) { g.Out(BatchNorm(g, ConvTranspose(g, X(g), true))); }},
    {"ConvTransposeScaleAndBias", "nn.conv ten.reshape ten.reshape ten.transpose",
     [](Graph& g) {
       V y = g.Mul(ConvTranspose(g, X(g), false), g.Param({kM, 1, 1}, 0.5, 2));
       g.Out(g.Add(y, g.Param({1, kM, 1, 1})));
     }},
    {"ConvTransposeBiasScaleAndBias", "nn.conv ten.reshape ten.reshape ten.transpose",
     [](Graph& g) {
       V y = g.Mul(ConvTranspose(g, X(g), true), g.Param({1, kM, 1, 1}, 0.5, 2));
       g.Out(g.Add(y, g.Param({kM, 1, 1})));
     }},
    {"ConvTransposeNumbers", "nn.conv ten.reshape ten.reshape ten.transpose",
     [](Graph& g) { g.Out(g.Add(g.Mul(ConvTranspose(g, X(g), false), 1.5), 0.25)); }},
    {"BatchNormBeforePointwise", "nn.conv",
     [](Graph& g) {
       g.Out(g.Op("Conv", {BatchNorm(g, X(g), kC), g.Param({kM, kC, 1, 1})}));
     },
     11, false},  // a batch norm of f16 stays whole
    {"BatchNormBeforeConvWithBias", "fused.conv",
     [](Graph& g) {
       V x = BatchNorm(g, X(g), kC);
       g.Out(Op(g, "Relu", g.Op("Conv", {x, g.Param({kM, kC, 3, 3}), g.Param({kM})})));
     },
     11, false},
    {"ScaleBeforePaddedConv", "nn.conv",
     [](Graph& g) {
       g.Out(Conv(g, g.Mul(X(g), g.Param({kC, 1, 1}, 0.5, 2))));
     }},
    {"ShiftBeforePaddedConv", "fused.add_transpose nn.conv",
     [](Graph& g) {
       g.Out(Conv(g, g.Add(X(g), g.Param({kC, 1, 1}))));
     }},
    {"ConvTransposeRelu", "fused.conv ten.reshape ten.reshape ten.slice ten.transpose",
     [](Graph& g) {
       V y = g.Op("ConvTranspose", {X(g), g.Param({kC, kM, 4, 4}, -0.4, 0.4), g.Param({kM})},
                  {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
       g.Out(Op(g, "Relu", y));
     }},
    {"ConvTransposeOddWindow", "nn.conv_transpose",
     [](Graph& g) {
       V y = g.Op(
           "ConvTranspose", {X(g), g.Param({kC, kM, 3, 5}, -0.4, 0.4)},
           {{"strides", Ints{2, 3}}, {"pads", Ints{1, 4, 0, 2}}, {"output_padding", Ints{1, 2}}});
       g.Out(y);
     },
     11, false},  // f16 is expanded
    {"ConvTransposeOfGroups", "nn.conv ten.reshape ten.reshape ten.slice ten.transpose",
     [](Graph& g) {
       V y = g.Op("ConvTranspose", {g.In({B(), kC, 9}), g.Param({kC, 3, 3}), g.Param({6})},
                  {{"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"group", 2}});
       g.Out(y);
     }},
    {"ConvTransposeWithGaps", "nn.conv",
     [](Graph& g) {
       V y = g.Op("ConvTranspose", {X(g), g.Param({kC, kM, 3, 2})},
                  {{"dilations", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 3}}});
       g.Out(y);
     }},
    {"DepthwiseBatchNormSilu", "fused.conv",
     [](Graph& g) {
       V y = g.Op("Conv", {X(g), g.Param({kC, 1, 3, 3})}, {{"group", kC}});
       g.Out(Silu(g, BatchNorm(g, y, kC)));
     }},
    {"OneDimension", "fused.conv",
     [](Graph& g) {
       V y = g.Op("Conv", {g.In({B(), kC, 9}), g.Param({kM, kC, 3}), g.Param({kM})});
       g.Out(Op(g, "Relu", BatchNorm(g, y)));
     }},
    {"BatchNormReluConv", "!nn.batch_norm",
     [](Graph& g) { g.Out(Conv(g, Op(g, "Relu", BatchNorm(g, X(g), kC)))); }, 11, false},
    {"NhwcSandwich", "fused.conv nn.conv",
     [](Graph& g) {
       V x = g.Transpose(g.In({B(), 8, 8, kC}), {0, 3, 1, 2});
       V y = g.Transpose(Conv(g, x), {0, 2, 3, 1});
       y = g.Transpose(Op(g, "Relu", y), {0, 3, 1, 2});
       V w = g.Param({kC, kM, 3, 3}, -0.4, 0.4);
       g.Out(g.Transpose(g.Op("Conv", {y, w}), {0, 2, 3, 1}));
     }},
    {"NhwcBiasRelu", "fused.conv",
     [](Graph& g) {
       V x = g.Transpose(g.In({B(), 8, 8, kC}), {0, 3, 1, 2});
       V y = g.Transpose(Conv(g, x, false), {0, 2, 3, 1});
       g.Out(Op(g, "Relu", g.Add(y, g.Param({kM}))));
     }},
    {"NhwcResidual", "fused.conv nn.conv",
     [](Graph& g) {
       V x = g.Transpose(g.In({B(), 8, 8, kM}), {0, 3, 1, 2});
       V w1 = g.Param({kM, kM, 1, 1}), w2 = g.Param({kM, kM, 1, 1});
       V a = g.Transpose(g.Op("Conv", {x, w1}), {0, 2, 3, 1});
       V b = g.Transpose(g.Op("Conv", {x, w2}), {0, 2, 3, 1});
       g.Out(Op(g, "Relu", g.Add(a, b)));
     }},
    // Near misses.
    {"PadOfOnes", "nn.conv ten.pad ten.transpose",
     [](Graph& g) {
       V x = g.Op("Pad", {X(g), g.Index({0, 0, 1, 1, 0, 0, 1, 1}), 1.0});
       g.Out(g.Op("Conv", {x, g.Param({kM, kC, 3, 3})}));
     }},
    {"PadOfChannels", "nn.conv ten.pad ten.transpose",
     [](Graph& g) {
       V x = g.Op("Pad", {X(g), g.Index({0, 1, 0, 0, 0, 1, 0, 0})});
       g.Out(g.Op("Conv", {x, g.Param({kM, kC + 2, 3, 3})}));
     }},
    {"PadByReflection", "nn.conv ten.pad ten.transpose",
     [](Graph& g) {
       V x = g.Op("Pad", {X(g), g.Index({0, 0, 1, 1, 0, 0, 1, 1})},
                  {{"mode", std::string("reflect")}});
       g.Out(g.Op("Conv", {x, g.Param({kM, kC, 3, 3})}));
     }},
    {"BiasOfEveryPixel", "fused.add_transpose nn.conv",
     [](Graph& g) {
       g.Out(g.Add(Conv(g, X(g)), g.Param({1, kM, 8, 8})));
     }},
    {"BiasAlongWidth", "!fused.conv", [](Graph& g) { g.Out(g.Add(Conv(g, X(g)), g.Param({8}))); }},
    {"BroadcastResidual", "fused.add_transpose nn.conv ten.reshape",
     [](Graph& g) {
       g.Out(g.Add(Conv(g, X(g)), g.In({B(), kM, 1, 1})));
     }},
    {"ConvIsUsedElsewhere", "nn.conv ten.relu",
     [](Graph& g) {
       V y = Conv(g, X(g));
       g.Out(y);
       g.Out(Op(g, "Relu", y));
     }},
};
using Convolution = SpellingTest;
TEST_P(Convolution, Fuses) { Check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Convolution, ::testing::ValuesIn(kConvs), SpellingName);

}  // namespace
}  // namespace tenon::spellings::conv
