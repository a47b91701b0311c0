// Reference kernels of attention and rotary embeddings against values computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

using ::testing::HasSubstr;

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

TEST(ReferenceAttention, HiddenKeysHaveOneScore) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = 1;
  attrs.scale = 1;
  attrs.mask_replaces = true;
  attrs.mask_value = 0;
  const Tensor q = F({1, 1, 1}, {1}), k = F({1, 2, 1}, {0, 5}), v = F({1, 2, 1}, {2, 4}),
               bias = F({2}, {0, 100}), keep = Tensor::Of<bool>({2}, {true, false});
  auto attend = [&] {
    return Eval("ref.fused_attention", {q, k, v, keep, bias, Tensor()}, {1, 1, 1}, attrs);
  };
  ExpectNear(attend(), {4});  // the bias of the hidden key counts
  attrs.mask_last = true;
  ExpectNear(attend(), {3});
  attrs.mask_replaces = false;  // without it, mask_last has no meaning
  attrs.mask_value = -104;
  ExpectNear(attend(), {static_cast<float>((2 + 4 * std::exp(1)) / (1 + std::exp(1)))});
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

}  // namespace
}  // namespace tenon::kernels::testing
