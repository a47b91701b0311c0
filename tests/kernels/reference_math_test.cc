// Reference kernels of products, reductions, normalisations and windows against values computed by
// hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

TEST(ReferenceMatMul, RanksAndTransposes) {
  const Tensor a = F({2, 2}, {1, 2, 3, 4}), b = F({2, 2}, {5, 6, 7, 8});
  EXPECT_EQ(Eval("ref.matmul", {a, b}, {2, 2}, ten::MatmulAttrs()), (Floats{19, 22, 43, 50}));
  EXPECT_EQ(Eval("ref.matmul", {a, b}, {2, 2}, ten::MatmulAttrs{.transpose_a = true}),
            (Floats{26, 30, 38, 44}));
  EXPECT_EQ(Eval("ref.matmul", {a, b}, {2, 2}, ten::MatmulAttrs{.transpose_b = true}),
            (Floats{17, 23, 39, 53}));
  EXPECT_EQ(Eval("ref.matmul", {F({2}, {1, 2}), b}, {2}, ten::MatmulAttrs()), (Floats{19, 22}));
  EXPECT_EQ(Eval("ref.matmul", {a, F({2}, {1, 2})}, {2}, ten::MatmulAttrs()), (Floats{5, 11}));
  EXPECT_EQ(Eval("ref.matmul", {F({2}, {1, 2}), F({2}, {3, 4})}, {}, ten::MatmulAttrs()),
            (Floats{11}));
  EXPECT_EQ(Eval("ref.matmul", {F({2, 1, 2}, {1, 2, 3, 4}), F({2, 1}, {1, 1})}, {2, 1, 1},
                 ten::MatmulAttrs()),
            (Floats{3, 7}));
  EXPECT_EQ(Eval("ref.matmul", {F({2, 0}, {}), F({0, 2}, {})}, {2, 2}, ten::MatmulAttrs()),
            (Floats{0, 0, 0, 0}));
  EXPECT_EQ(
      Evaluate<int32_t>("ref.matmul",
                        {Tensor::Of<int32_t>({1, 2}, {-1, 2}), Tensor::Of<int32_t>({2, 1}, {3, 4})},
                        {1, 1}, MakeAttrs(ten::MatmulAttrs())),
      (std::vector<int32_t>{5}));
}

TEST(ReferenceEinsum, Notations) {
  auto einsum = [](const char* equation, std::vector<Tensor> inputs, Shape out) {
    return Eval("ref.einsum", std::move(inputs), std::move(out),
                ten::EinsumAttrs{.equation = equation});
  };
  const Tensor a = F({2, 2}, {1, 2, 3, 4}), b = F({2, 2}, {5, 6, 7, 8});
  EXPECT_EQ(einsum("ij,jk->ik", {a, b}, {2, 2}), (Floats{19, 22, 43, 50}));
  EXPECT_EQ(einsum("ij, jk", {a, b}, {2, 2}), (Floats{19, 22, 43, 50}));
  EXPECT_EQ(einsum("ii->i", {a}, {2}), (Floats{1, 4}));
  EXPECT_EQ(einsum("ii", {a}, {}), (Floats{5}));
  EXPECT_EQ(einsum("...j->j...", {a}, {2, 2}), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(einsum("ba", {a}, {2, 2}), (Floats{1, 3, 2, 4}));
  Refusal("ref.einsum", {a}, Tensor(DType::kF32, {2}),
          MakeAttrs(ten::EinsumAttrs{.equation = "ijk->i"}));
  Refusal("ref.einsum", {a}, Tensor(DType::kF32, {2}),
          MakeAttrs(ten::EinsumAttrs{.equation = "ij->x"}));
  Refusal("ref.einsum", {a}, Tensor(DType::kF32, {2}),
          MakeAttrs(ten::EinsumAttrs{.equation = "i?->i"}));
}

// Rows without columns have an expert, too.
TEST(ReferenceExpertLinear, RefusesIndices) {
  for (const char* name : {"ref.expert_linear", "cpu.expert_linear"}) {
    for (int64_t columns : {0, 4}) {
      const std::string message =
          Refusal(name,
                  {Tensor(DType::kF32, {2, 3}), Tensor(DType::kF32, {5, 3, columns}),
                   Tensor::Of<int64_t>({2}, {4, 5})},
                  Tensor(DType::kF32, {2, columns}), MakeAttrs(fused::ExpertLinearAttrs()));
      EXPECT_NE(message.find("index 5"), std::string::npos) << message;
      EXPECT_NE(message.find("5 experts"), std::string::npos) << message;
    }
  }
}

TEST(ReferenceReduce, AllKinds) {
  const Tensor x = F({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Eval("ref.reduce_sum", {x}, {2, 1}, ten::ReduceSumAttrs{.axes = {1}}), (Floats{6, 15}));
  EXPECT_EQ(Eval("ref.reduce_sum", {x}, {2, 3}, ten::ReduceSumAttrs{.axes = {}}),
            x.values<float>());
  EXPECT_EQ(Eval("ref.reduce_mean", {x}, {3}, ten::ReduceMeanAttrs{.axes = {0}}),
            (Floats{2.5f, 3.5f, 4.5f}));
  EXPECT_EQ(Eval("ref.reduce_max", {x}, {}, ten::ReduceMaxAttrs{.axes = {0, 1}}), (Floats{6}));
  EXPECT_EQ(Eval("ref.reduce_min", {x}, {2}, ten::ReduceMinAttrs{.axes = {1}}), (Floats{1, 4}));
  EXPECT_EQ(Eval("ref.reduce_prod", {x}, {2}, ten::ReduceProdAttrs{.axes = {1}}), (Floats{6, 120}));
  EXPECT_EQ(Eval("ref.reduce_l2", {F({2}, {3, 4})}, {1}, ten::ReduceL2Attrs{.axes = {0}}),
            (Floats{5}));
  const Tensor none = F({2, 0}, {});
  EXPECT_EQ(Eval("ref.reduce_sum", {none}, {2}, ten::ReduceSumAttrs{.axes = {1}}), (Floats{0, 0}));
  EXPECT_EQ(Eval("ref.reduce_max", {none}, {2}, ten::ReduceMaxAttrs{.axes = {1}}),
            (Floats{-kInf, -kInf}));
  EXPECT_EQ(Evaluate<int8_t>("ref.reduce_mean", {Tensor::Of<int8_t>({2}, {-3, -4})}, {1},
                             MakeAttrs(ten::ReduceMeanAttrs{.axes = {0}})),
            (std::vector<int8_t>{-3}));
}

TEST(ReferenceCumSum, Directions) {
  auto cumsum = [](bool exclusive, bool reverse) {
    return Eval("ref.cumsum", {F({3}, {1, 2, 3})}, {3},
                ten::CumsumAttrs{.axis = 0, .exclusive = exclusive, .reverse = reverse});
  };
  EXPECT_EQ(cumsum(false, false), (Floats{1, 3, 6}));
  EXPECT_EQ(cumsum(true, false), (Floats{0, 1, 3}));
  EXPECT_EQ(cumsum(false, true), (Floats{6, 5, 3}));
  EXPECT_EQ(cumsum(true, true), (Floats{5, 3, 0}));
}

TEST(ReferenceSoftmax, AnyAxis) {
  const Tensor x = F({2, 2}, {0, 0, std::log(3.0f), 0});
  ExpectNear(Eval("ref.softmax", {x}, {2, 2}, nn::SoftmaxAttrs{.axis = 0}),
             {0.25f, 0.5f, 0.75f, 0.5f});
  ExpectNear(Eval("ref.softmax", {x}, {2, 2}, nn::SoftmaxAttrs{.axis = 1}),
             {0.5f, 0.5f, 0.75f, 0.25f});
  ExpectNear(Eval("ref.log_softmax", {x}, {2, 2}, nn::LogSoftmaxAttrs{.axis = 1}),
             {std::log(0.5f), std::log(0.5f), std::log(0.75f), std::log(0.25f)});
}

TEST(ReferenceNorm, LayerAndRms) {
  const Tensor x = F({1, 2}, {1, 3}), scale = F({2}, {2, 1}), bias = F({2}, {0, 1});
  ExpectNear(
      Eval("ref.layer_norm", {x, scale, bias}, {1, 2}, nn::LayerNormAttrs{.axis = 1, .epsilon = 0}),
      {-2, 2});
  ExpectNear(Eval("ref.layer_norm", {x, Tensor(), Tensor()}, {1, 2},
                  nn::LayerNormAttrs{.axis = 1, .epsilon = 3}),
             {-0.5f, 0.5f});
  ExpectNear(Eval("ref.rms_norm", {F({2}, {1, 7}), F({2}, {1, 2})}, {2},
                  nn::RmsNormAttrs{.axis = 0, .epsilon = 0}),
             {0.2f, 2.8f});
}

TEST(ReferenceNorm, SkipReturnsTheSum) {
  Case c = {{F({1, 2}, {0, 1}), F({2}, {1, 2}), Tensor(), Tensor()},
            {Tensor(DType::kF32, {1, 2}), Tensor(DType::kF32, {1, 2})},
            MakeAttrs(fused::SkipLayerNormAttrs{.axis = 1, .epsilon = 0}),
            {}};
  ASSERT_TRUE(RunCase(*Registry().FindByName("ref.skip_layer_norm"), c).ok());
  ExpectNear(c.outputs[0].values<float>(), {-1, 1});
  EXPECT_EQ(c.outputs[1].values<float>(), (Floats{1, 3}));
  c.inputs = {F({1, 2}, {0, 5}), F({2}, {1, 2}), Tensor()};
  c.attrs = MakeAttrs(fused::SkipRmsNormAttrs{.axis = 1, .epsilon = 0});
  ASSERT_TRUE(RunCase(*Registry().FindByName("ref.skip_rms_norm"), c).ok());
  ExpectNear(c.outputs[0].values<float>(), {0.2f, 1.4f});
}

TEST(ReferenceNorm, Batch) {
  ExpectNear(
      Eval("ref.batch_norm",
           {F({1, 2, 1}, {3, 5}), F({2}, {2, 1}), F({2}, {1, 0}), F({2}, {1, 1}), F({2}, {4, 1})},
           {1, 2, 1}, nn::BatchNormAttrs{.epsilon = 0}),
      {3, 4});
}

TEST(ReferenceConv, PaddingGroupsDilation) {
  nn::ConvAttrs attrs;
  attrs.pads = {1, 1};
  EXPECT_EQ(Eval("ref.conv", {F({1, 1, 3}, {1, 2, 3}), F({1, 1, 3}, {1, 10, 100}), F({1}, {0.5f})},
                 {1, 1, 3}, attrs),
            (Floats{210.5f, 321.5f, 32.5f}));
  attrs.pads = {};
  attrs.dilations = {2};
  EXPECT_EQ(Eval("ref.conv", {F({1, 1, 3}, {1, 2, 3}), F({1, 1, 2}, {1, 10}), Tensor()}, {1, 1, 1},
                 attrs),
            (Floats{31}));
  attrs = {};
  attrs.group = 2;
  EXPECT_EQ(
      Eval("ref.conv", {F({1, 2, 1}, {3, 4}), F({2, 1, 1}, {10, 100}), Tensor()}, {1, 2, 1}, attrs),
      (Floats{30, 400}));
  attrs = {};
  attrs.auto_pad = nn::ConvAutoPad::kSameUpper;
  EXPECT_EQ(
      Eval("ref.conv", {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10}), Tensor()}, {1, 1, 2}, attrs),
      (Floats{21, 2}));
  attrs.auto_pad = nn::ConvAutoPad::kSameLower;
  EXPECT_EQ(
      Eval("ref.conv", {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10}), Tensor()}, {1, 1, 2}, attrs),
      (Floats{10, 21}));
}

TEST(ReferenceFused, ActivationAndResidualInOrder) {
  fused::ConvAttrs conv;
  conv.activation = fused::ConvActivation::kRelu;
  EXPECT_EQ(Eval("ref.fused_conv",
                 {F({1, 1, 2}, {1, -1}), F({1, 1, 1}, {2}), F({1}, {0}), F({1, 1, 2}, {-5, 3})},
                 {1, 1, 2}, conv),
            (Floats{0, 1}));  // the residual goes in before the activation
  fused::LinearAttrs linear;
  linear.activation = fused::LinearActivation::kRelu;
  EXPECT_EQ(Eval("ref.fused_linear",
                 {F({1, 2}, {1, 2}), F({2, 2}, {1, -1, 1, -1}), F({2}, {1, 1}), F({2}, {-10, -20})},
                 {1, 2}, linear),
            (Floats{-6, -20}));  // and after it here
  linear.transpose_w = true;
  linear.activation = fused::LinearActivation::kClip;
  linear.alpha = 0;
  linear.beta = 2;
  EXPECT_EQ(Eval("ref.fused_linear", {F({2}, {1, 2}), F({2, 2}, {1, -1, 1, 1}), Tensor(), Tensor()},
                 {2}, linear),
            (Floats{0, 2}));
}

TEST(ReferencePool, MaxAndAverage) {
  nn::MaxPoolAttrs max;
  max.kernel = {2};
  max.strides = {2};
  max.pads = {1, 0};
  EXPECT_EQ(Eval("ref.max_pool", {F({1, 1, 3}, {-3, -2, -1})}, {1, 1, 2}, max), (Floats{-3, -1}));
  nn::AveragePoolAttrs average;
  average.kernel = {2};
  average.strides = {2};
  average.pads = {1, 0};
  average.ceil_mode = true;
  EXPECT_EQ(Eval("ref.average_pool", {F({1, 1, 4}, {2, 4, 6, 8})}, {1, 1, 3}, average),
            (Floats{2, 5, 8}));
  average.count_include_pad = true;  // what ceil_mode adds beyond the padding does not count
  EXPECT_EQ(Eval("ref.average_pool", {F({1, 1, 4}, {2, 4, 6, 8})}, {1, 1, 3}, average),
            (Floats{1, 5, 8}));
}

}  // namespace
}  // namespace tenon::kernels::testing
