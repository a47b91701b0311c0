// Reference kernels of products, reductions, normalisations, windows and attention against values
// computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor F(Shape shape, Floats values) { return Tensor::Of(std::move(shape), values); }

template <typename Attrs>
Floats Eval(const char* name, std::vector<Tensor> inputs, Shape out, Attrs attrs) {
  return Evaluate<float>(name, std::move(inputs), std::move(out), MakeAttrs(std::move(attrs)));
}

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

TEST(ReferenceAttention, MasksAndGuards) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = 1;
  attrs.scale = 1;
  const Tensor q = F({1, 1, 1}, {0}), k = F({1, 2, 1}, {1, 1}), v = F({1, 2, 1}, {2, 6});
  auto attend = [&](Tensor mask, Tensor bias = Tensor()) {
    return Eval("ref.fused_attention", {q, k, v, std::move(mask), std::move(bias)}, {1, 1, 1},
                attrs)[0];
  };
  EXPECT_FLOAT_EQ(attend(Tensor()), 4);
  EXPECT_FLOAT_EQ(attend(Tensor::Of<bool>({2}, {false, true})), 6);
  EXPECT_FLOAT_EQ(attend(F({2}, {std::log(3.0f), 0})), 3);
  EXPECT_FLOAT_EQ(attend(Tensor(), F({2}, {std::log(3.0f), 0})), 3);
  EXPECT_FLOAT_EQ(attend(F({1}, {-3e38f})), 4);  // finite: uniform
  EXPECT_TRUE(std::isnan(attend(F({1}, {-kInf}))));
  attrs.nan_guard = true;
  EXPECT_EQ(attend(F({1}, {-kInf})), 0);
}

// A hidden key is one whatever hides it, and a finite mask value is added once.
TEST(ReferenceAttention, HiddenKeys) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = 1;
  attrs.scale = 0;
  const Tensor q = F({1, 3, 1}, {0, 0, 0}), k = F({1, 4, 1}, {0, 0, 0, 0}),
               v = F({1, 4, 1}, {3, 6, 9, 12});
  auto attend = [&](Tensor mask, Tensor key_mask) {
    return Eval("ref.fused_attention", {q, k, v, std::move(mask), Tensor(), std::move(key_mask)},
                {1, 3, 1}, attrs);
  };
  const Tensor second_padded = Tensor::Of<bool>({1, 4}, {true, false, true, true});
  ExpectNear(attend(Tensor(), second_padded), {8, 8, 8});
  attrs.window = 2;  // query 0 is at position 1: keys 0, 1 and what follows
  ExpectNear(attend(Tensor(), Tensor()), {7.5, 9, 10.5});
  attrs.causal = true;
  ExpectNear(attend(Tensor(), Tensor()), {4.5, 7.5, 10.5});
  ExpectNear(attend(Tensor(), second_padded), {3, 9, 10.5});
  const Tensor first_two = Tensor::Of<bool>({4}, {true, true, false, false});
  EXPECT_TRUE(std::isnan(attend(first_two, Tensor())[2]));
  for (float lowest : {-10000.0f, -3.4028235e38f}) {
    attrs.mask_value = lowest;  // the last row sees no key: all weigh the same
    ExpectNear(attend(first_two, Tensor()), {4.5, 6, 7.5});
    ExpectNear(attend(first_two, second_padded), {3, 7.5, 7.5});
  }
}

TEST(ReferenceAttention, OneColumnForAllKeys) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = 1;
  attrs.scale = 0;
  attrs.causal = true;
  attrs.mask_value = -10000;
  const Tensor q = F({1, 3, 1}, {0, 0, 0}), k = F({1, 4, 1}, {0, 0, 0, 0}),
               v = F({1, 4, 1}, {3, 6, 9, 12}), bias = F({4}, {0, 0, 0, 10000});
  auto attend = [&](Tensor key_mask) {
    return Eval("ref.fused_attention", {q, k, v, Tensor(), bias, std::move(key_mask)}, {1, 3, 1},
                attrs);
  };
  const Tensor shown = Tensor::Of<bool>({1, 1}, {true}), hidden = Tensor::Of<bool>({1, 1}, {false});
  // Query 0 is at position 1. The bias of the last key makes up for its being hidden.
  ExpectNear(attend(shown), {7, 7.5, 12});
  attrs.repeat_first_key = true;
  ExpectNear(attend(shown), {12, 12, 12});
  ExpectNear(attend(hidden), {12, 12, 12});
  attrs.mask_replaces = true;
  attrs.window = 2;  // the first key is beyond that of queries 1 and 2
  attrs.mask_value = -std::numeric_limits<float>::infinity();
  const Floats rows = attend(shown);
  EXPECT_FLOAT_EQ(rows[0], 12);
  EXPECT_TRUE(std::isnan(rows[1]) && std::isnan(rows[2]));
  // One column is one of whatever rank.
  attrs.window = 0;
  attrs.mask_replaces = false;
  attrs.mask_value = -10000;
  ExpectNear(attend(Tensor::Of<bool>({1}, {true})), {12, 12, 12});
  ExpectNear(attend(Tensor::Of<bool>({}, {false})), {12, 12, 12});
  attrs.mask_replaces = true;
  attrs.mask_value = -std::numeric_limits<float>::infinity();
  // A column for each key is a mask as any other.
  ExpectNear(attend(Tensor::Of<bool>({1, 4}, {true, true, true, true})), {4.5, 6, 12});
  ExpectNear(attend(Tensor::Of<bool>({4}, {true, true, true, true})), {4.5, 6, 12});
}

TEST(ReferenceAttention, CausalGroupsAndLayouts) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = 2;
  attrs.kv_num_heads = 1;
  attrs.scale = 0;
  attrs.causal = true;
  attrs.q_layout = fused::AttentionQLayout::kBhsd;
  attrs.k_layout = fused::AttentionKLayout::kBhds;
  // Two query heads share one key head; query 0 sees keys 0 and 1, query 1 sees all three.
  EXPECT_EQ(Eval("ref.fused_attention",
                 {F({1, 2, 2, 1}, {1, 1, 1, 1}), F({1, 1, 1, 3}, {1, 1, 1}),
                  F({1, 3, 1}, {3, 6, 9}), Tensor(), Tensor()},
                 {1, 2, 2}, attrs),
            (Floats{4.5f, 4.5f, 6, 6}));
  nn::AttentionAttrs plain;
  plain.is_causal = true;  // aligned at the first key
  ExpectNear(Eval("ref.attention",
                  {F({1, 1, 2, 1}, {0, 0}), F({1, 1, 3, 1}, {1, 1, 1}), F({1, 1, 3, 1}, {3, 6, 9}),
                   Tensor()},
                  {1, 1, 2, 1}, plain),
             {3, 4.5f});
}

TEST(ReferenceAttention, KeysBehindThoseOfThePast) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = 1;
  attrs.scale = 0;
  attrs.causal = true;
  attrs.k_layout = fused::AttentionKLayout::kBhds;
  // Two new keys after one of the past: query 0 sees two of them, query 1 all three.
  Case c;
  c.inputs = {F({1, 2, 2}, Floats(4)),
              F({1, 1, 2, 2}, {3, 5, 4, 6}),
              F({1, 2, 1}, {6, 9}),
              Tensor(),
              Tensor(),
              Tensor(),
              F({1, 1, 1, 2}, {1, 2}),
              F({1, 1, 1, 1}, {3})};
  c.outputs = {F({1, 2, 1}, Floats(2)), F({1, 1, 3, 2}, Floats(6)), F({1, 1, 3, 1}, Floats(3))};
  c.attrs = MakeAttrs(attrs);
  ASSERT_TRUE(RunCase(*Registry().FindByName("ref.fused_attention"), c).ok());
  EXPECT_EQ(c.outputs[0].values<float>(), (Floats{4.5f, 6}));
  EXPECT_EQ(c.outputs[1].values<float>(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(c.outputs[2].values<float>(), (Floats{3, 6, 9}));
}

TEST(ReferenceRotary, FullTables) {
  const Tensor x = F({1, 5}, {1, 2, 3, 4, 5}), cos = F({4}, {0, 1, 0, 1}),
               sin = F({4}, {1, 0, 1, 0});
  fused::RotaryAttrs attrs;
  attrs.rotary_dim = 4;  // a quarter turn of the first and third element
  EXPECT_EQ(Eval("ref.fused_rotary", {x, cos, sin}, {1, 5}, attrs), (Floats{-3, 2, 1, 4, 5}));
  attrs.interleaved = true;
  const Tensor turn = F({4}, {0, 0, 1, 1}), none = F({4}, {1, 1, 0, 0});
  EXPECT_EQ(Eval("ref.fused_rotary", {x, turn, none}, {1, 5}, attrs), (Floats{-2, 1, 3, 4, 5}));
}

TEST(ReferenceRotary, HalvesAndPairs) {
  const Tensor cos = F({1, 1, 1}, {0}), sin = F({1, 1, 1}, {1});  // a quarter turn
  EXPECT_EQ(Eval("ref.rotary_embedding", {F({1, 1, 1, 3}, {1, 2, 3}), cos, sin, Tensor()},
                 {1, 1, 1, 3}, nn::RotaryEmbeddingAttrs{.rotary_dim = 2}),
            (Floats{-2, 1, 3}));
  const Tensor x = F({1, 1, 4}, {1, 2, 3, 4}), table_cos = F({2, 2}, {1, 1, 0, 0}),
               table_sin = F({2, 2}, {0, 0, 1, 1}), position = Tensor::Of<int64_t>({1, 1}, {1});
  nn::RotaryEmbeddingAttrs attrs;
  attrs.num_heads = 1;
  EXPECT_EQ(Eval("ref.rotary_embedding", {x, table_cos, table_sin, position}, {1, 1, 4}, attrs),
            (Floats{-3, -4, 1, 2}));
  attrs.interleaved = true;
  EXPECT_EQ(Eval("ref.rotary_embedding", {x, table_cos, table_sin, position}, {1, 1, 4}, attrs),
            (Floats{-2, 1, -4, 3}));
  Refusal("ref.rotary_embedding", {x, table_cos, table_sin, Tensor::Of<int64_t>({1, 1}, {2})},
          Tensor(DType::kF32, {1, 1, 4}), MakeAttrs(attrs));
}

// Tables may have axes of one element that the other has not; a row that one of them lacks is none.
TEST(ReferenceRotary, TablesOfTwoShapes) {
  const Tensor x = F({1, 2, 2}, {1, 2, 3, 4}), cos = F({2, 1}, {1, 0}), sin = F({1, 2, 1}, {0, 1});
  const Tensor first = Tensor::Of<int64_t>({1, 2}, {0, 0}),
               second = Tensor::Of<int64_t>({1, 2}, {0, 1}), one = F({1, 1}, {0});
  const nn::RotaryEmbeddingAttrs attrs{.num_heads = 1};
  for (const char* name : {"ref.rotary_embedding", "cpu.rotary_embedding"}) {
    EXPECT_EQ(Eval(name, {x, cos, sin, Tensor()}, {1, 2, 2}, attrs), (Floats{1, 2, -4, 3})) << name;
    EXPECT_EQ(Eval(name, {x, sin, cos, Tensor()}, {1, 2, 2}, attrs), (Floats{-2, 1, 3, 4})) << name;
    EXPECT_EQ(Eval(name, {x, cos, one, first}, {1, 2, 2}, attrs), (Floats{1, 2, 3, 4})) << name;
    const Tensor out(DType::kF32, {1, 2, 2});
    EXPECT_THAT(Refusal(name, {x, cos, one, second}, out, MakeAttrs(attrs)),
                HasSubstr("out of range"));
    EXPECT_THAT(Refusal(name, {x, cos, one, Tensor()}, out, MakeAttrs(attrs)),
                HasSubstr("do not fit x"));
  }
}

TEST(ReferenceResize, Modes) {
  ten::ResizeAttrs attrs;
  auto resize = [&](int64_t out) {
    return Eval("ref.resize", {F({1, 1, 1, 2}, {0, 8})}, {1, 1, 1, out}, attrs);
  };
  EXPECT_EQ(resize(4), (Floats{0, 0, 8, 8}));
  attrs.mode = ten::ResizeMode::kLinear;
  EXPECT_EQ(resize(4), (Floats{0, 2, 6, 8}));
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kAsymmetric;
  EXPECT_EQ(resize(4), (Floats{0, 4, 8, 8}));
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kAlignCorners;
  ExpectNear(resize(5), {0, 2, 4, 6, 8});
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kHalfPixel;
  attrs.antialias = true;
  EXPECT_EQ(Eval("ref.resize", {F({4}, {0, 2, 4, 6})}, {2}, attrs), (Floats{1.25f, 4.75f}));
  attrs.antialias = false;
  attrs.mode = ten::ResizeMode::kCubic;
  ExpectNear(Eval("ref.resize", {F({4}, {1, 2, 3, 4})}, {8}, attrs),
             {0.8945312f, 1.1914062f, 1.6679688f, 2.296875f, 2.703125f, 3.3320312f, 3.8085938f,
              4.1054688f});
}

// Cubic weights overshoot: integers end at the limits of their types, and are rounded. Linear
// interpolation truncates, with antialiasing it rounds.
TEST(ReferenceResize, Integers) {
  ten::ResizeAttrs attrs{.mode = ten::ResizeMode::kCubic};
  EXPECT_EQ(Evaluate<uint8_t>("ref.resize", {Tensor::Of<uint8_t>({4}, {0, 0, 255, 255})}, {8},
                              MakeAttrs(attrs)),
            (std::vector<uint8_t>{0, 0, 0, 58, 197, 255, 255, 255}));
  EXPECT_EQ(Evaluate<int8_t>("ref.resize", {Tensor::Of<int8_t>({4}, {-128, -128, 127, 127})}, {8},
                             MakeAttrs(attrs)),
            (std::vector<int8_t>{-128, -128, -128, -70, 69, 127, 127, 127}));
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> ends =
      Evaluate<int64_t>("ref.resize", {Tensor::Of<int64_t>({4}, {kLeast, kLeast, kMost, kMost})},
                        {8}, MakeAttrs(attrs));
  EXPECT_EQ(ends[2], kLeast);
  EXPECT_EQ(ends[5], kMost);
  attrs.mode = ten::ResizeMode::kLinear;
  const Tensor x = Tensor::Of<int32_t>({4}, {0, 3, 4, 7});
  EXPECT_EQ(Evaluate<int32_t>("ref.resize", {x}, {8}, MakeAttrs(attrs)),
            (std::vector<int32_t>{0, 0, 2, 3, 3, 4, 6, 7}));
  attrs.antialias = true;
  EXPECT_EQ(Evaluate<int32_t>("ref.resize", {x}, {8}, MakeAttrs(attrs)),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// However small the scale of a lone element is, the taps stay within a few lengths of the input;
// a position that no tap of the input reaches takes the element next to it.
TEST(ReferenceResize, BoundedTaps) {
  ten::ResizeAttrs attrs{.scales = {1e-9f}, .mode = ten::ResizeMode::kLinear, .antialias = true};
  ExpectNear(Eval("ref.resize", {F({2}, {3, 3})}, {1}, attrs), {3});
  attrs = {.scales = {0.25f},
           .mode = ten::ResizeMode::kCubic,
           .coordinate_mode = ten::ResizeCoordinateMode::kAsymmetric,
           .exclude_outside = true};
  EXPECT_EQ(Eval("ref.resize", {F({4}, {1, 2, 3, 4})}, {3}, attrs)[2], 4);
  attrs.scales = {1e-30f};
  attrs.mode = ten::ResizeMode::kNearest;
  EXPECT_EQ(Eval("ref.resize", {F({4}, {1, 2, 3, 4})}, {2}, attrs), (Floats{1, 4}));
}

// Corners fall on corners: which element is the nearest one follows from whole numbers.
TEST(ReferenceResize, NearestOfAlignedCorners) {
  ten::ResizeAttrs attrs;
  attrs.coordinate_mode = ten::ResizeCoordinateMode::kAlignCorners;
  for (int64_t in = 2; in <= 40; ++in) {
    Tensor x(DType::kF32, {in});
    std::iota(x.data<float>(), x.data<float>() + in, 0.0f);
    for (int64_t out = 2; out <= 128; ++out) {
      const int64_t n = in - 1, d = out - 1;  // output o is at o * n / d
      const auto expect = [&](ten::ResizeNearestMode mode, auto nearest) {
        attrs.nearest_mode = mode;
        const Floats y = Eval("ref.resize", {x}, {out}, attrs);
        for (int64_t o = 0; o < out; ++o) {
          EXPECT_EQ(y[static_cast<size_t>(o)], static_cast<float>(nearest(o)))
              << in << " to " << out << " at " << o << ", mode " << static_cast<int>(mode);
        }
      };
      expect(ten::ResizeNearestMode::kFloor, [&](int64_t o) { return o * n / d; });
      expect(ten::ResizeNearestMode::kCeil, [&](int64_t o) { return (o * n + d - 1) / d; });
      expect(ten::ResizeNearestMode::kRoundPreferCeil,
             [&](int64_t o) { return (2 * o * n + d) / (2 * d); });
      expect(ten::ResizeNearestMode::kRoundPreferFloor,
             [&](int64_t o) { return (2 * o * n + d - 1) / (2 * d); });
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
