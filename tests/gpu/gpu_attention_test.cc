// Kernels of attention on calls that reach each of their ways.
#include <gtest/gtest.h>

#include "executor/gpu/cuda_plugin.h"
#include "kernels/op_attrs.h"
#include "tests/gpu/emulated_device.h"
#include "tests/gpu/on_device.h"

namespace tenon::kernels::testing {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

struct Size {
  int64_t batch, heads, q_len, k_len, dim, v_dim, window = 0, past = 0;
};

void CompareAttention(gpu::Device& device, const Size& s, bool causal, DType dtype,
                      int64_t shift = 0) {
  SCOPED_TRACE(std::to_string(s.q_len) + " queries, " + std::to_string(s.k_len) + " keys of " +
               std::to_string(s.dim) + " " + Name(dtype) + (causal ? " causal" : "") +
               (shift == 0 ? "" : " shifted"));
  Random random(5);
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = s.heads;
  attrs.scale = 0.4f;
  attrs.causal = causal;
  attrs.window = s.window;
  attrs.q_layout = fused::AttentionQLayout::kBhsd;
  attrs.k_layout = fused::AttentionKLayout::kBhsd;
  attrs.v_layout = fused::AttentionVLayout::kBhsd;
  attrs.out_layout = fused::AttentionOutLayout::kBshd;
  Case c;
  c.inputs = {random.Floats({s.batch, s.heads, s.q_len, s.dim}, -1, 1),
              random.Floats({s.batch, s.heads, s.k_len - s.past, s.dim}, -1, 1),
              random.Floats({s.batch, s.heads, s.k_len - s.past, s.v_dim})};
  c.inputs.resize(6);
  c.outputs = {Tensor(DType::kF32, {s.batch, s.q_len, s.heads, s.v_dim})};
  if (s.past > 0) {
    for (int64_t columns : {s.dim, s.v_dim}) {
      c.inputs.push_back(random.Floats({s.batch, s.heads, s.past, columns}, -1, 1));
      c.outputs.emplace_back(DType::kF32, Shape{s.batch, s.heads, s.k_len, columns});
    }
  }
  c.attrs = MakeAttrs(attrs);
  c = WithElements(c, dtype);
  EXPECT_TRUE(RunCase(*ReferenceOf("fused.attention"), c).ok());
  OnDevice run(device, GpuRegistry().Find("fused.attention")[0], c, shift);
  EXPECT_TRUE(run.Run().ok());
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    EXPECT_TRUE(Same(run.results()[i], c.outputs[i])) << "result " << i;
  }
}
// The same on an emulated device; returns the kernels that it has launched.
std::vector<std::string> CompareAttention(const Size& s, bool causal, DType dtype,
                                          int64_t shift = 0) {
  gpu::testing::EmulatedDevice device;
  CompareAttention(device, s, causal, dtype, shift);
  return device.log().Kernels();
}

using Launched = std::vector<std::string>;

// Heads of each width, whole vectors and none, fewer keys than a block takes at once and more.
TEST(GpuAttentionTest, FewRowsReadVectors) {
  for (const DType dtype : kFloats) {
    for (const Size& s : {Size{2, 3, 1, 129, 64, 64}, Size{1, 2, 5, 40, 128, 64},
                          Size{1, 1, 3, 70, 136, 256}, Size{1, 2, 2, 70, 40, 33}}) {
      for (const int64_t shift : {0, 1}) {
        EXPECT_EQ(CompareAttention(s, s.q_len > 1, dtype, shift), Launched{"Attention"});
      }
    }
  }
}

TEST(GpuAttentionTest, BlocksShareManyKeysOfFewRows) {
  for (const DType dtype : kFloats) {
    for (const Size& s : {Size{1, 2, 1, 1000, 64, 64}, Size{1, 1, 4, 513, 128, 72, 200},
                          Size{1, 1, 20, 600, 48, 64}}) {
      EXPECT_EQ(CompareAttention(s, s.q_len > 1, dtype), (Launched{"Attention", "JoinAttention"}));
    }
  }
}

TEST(GpuAttentionTest, KeysAndValuesAreAppendedTogether) {
  for (const DType dtype : kFloats) {
    for (const Size& s : {Size{2, 3, 1, 130, 64, 64, 0, 129}, Size{1, 2, 3, 60, 33, 20, 0, 57},
                          Size{2, 2, 20, 40, 16, 24, 0, 20}}) {
      EXPECT_EQ(CompareAttention(s, true, dtype), (Launched{"AppendRows", "Attention"}));
    }
  }
}

// Blocks of few and of many rows, heads of each width, whole and partly visible tiles of keys.
TEST(GpuAttentionTest, ManyRowsAreComputedInTiles) {
  for (const Size& s :
       {Size{11, 12, 70, 70, 9, 12}, Size{11, 12, 66, 20, 33, 40}, Size{1, 2, 150, 300, 8, 20, 90},
        Size{2, 3, 40, 140, 60, 20, 33}, Size{1, 2, 34, 70, 70, 128}}) {
    for (const bool causal : {false, true}) {
      EXPECT_EQ(CompareAttention(s, causal, DType::kF32), Launched{"Attention"});
    }
  }
}

// The same with operands that are copied while a block computes, or read in vectors.
TEST(GpuAttentionTest, TilesOfVectors) {
  for (const DType dtype : kFloats) {
    for (const Size& s :
         {Size{11, 12, 66, 72, 32, 32}, Size{5, 11, 130, 70, 16, 64}, Size{1, 2, 50, 200, 64, 64},
          Size{1, 2, 40, 150, 128, 72, 60}, Size{9, 8, 70, 40, 128, 104}}) {
      EXPECT_EQ(CompareAttention(s, s.q_len == 50, dtype), Launched{"Attention"});
    }
  }
}

// Elements of 16 bits that tensor cores cannot read.
TEST(GpuAttentionTest, TilesOfShortElementsBesideVectors) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Size& s : {Size{2, 3, 66, 72, 20, 32}, Size{1, 2, 50, 70, 64, 64}}) {
      EXPECT_EQ(CompareAttention(s, true, dtype, 1), Launched{"Attention"});
    }
  }
}

// Each way, with the sizes of models too.
TEST(GpuAttentionTest, AgreesWithTheReferenceOnADevice) {
  const auto device = OpenCudaDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  for (const DType dtype : kFloats) {
    for (const Size& s :
         {Size{1, 12, 1, 130, 64, 64, 0, 129}, Size{1, 12, 128, 128, 64, 64},
          Size{1, 12, 197, 197, 64, 64}, Size{2, 12, 1, 1000, 64, 64}, Size{1, 1, 3, 700, 136, 256},
          Size{1, 2, 20, 600, 48, 64}, Size{11, 12, 66, 72, 32, 32}, Size{5, 11, 130, 70, 16, 64},
          Size{1, 2, 40, 150, 128, 72, 60}, Size{1, 2, 34, 70, 70, 128}}) {
      for (const int64_t shift : {0, 1}) {
        for (const bool causal : {false, true}) {
          CompareAttention(**device, s, causal, dtype, shift);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
