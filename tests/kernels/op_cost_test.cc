// FLOPs and bytes of operations.
#include "kernels/op_cost.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

class Call {
 public:
  TensorView Of(std::vector<int64_t> shape, DType dtype = DType::kF32) {
    shapes_.push_back(std::move(shape));
    return {nullptr, dtype, shapes_.back()};
  }

 private:
  std::deque<std::vector<int64_t>> shapes_;
};

TEST(OpCost, CountsProducts) {
  Call c;
  ten::MatmulAttrs transposed;
  transposed.transpose_a = true;
  const TensorView ab[] = {c.Of({5, 1, 4, 3}), c.Of({2, 4, 7})}, out[] = {c.Of({5, 2, 3, 7})};
  EXPECT_EQ(CostOf("ten.matmul", ab, out, &transposed).flops, 2.0 * 10 * 3 * 7 * 4);
  EXPECT_EQ(CostOf("ten.matmul", ab, out, &transposed).bytes, 4.0 * (60 + 56 + 210));

  const TensorView linear[] = {c.Of({2, 5, 3}), c.Of({3, 8}), {}, {}}, y[] = {c.Of({2, 5, 8})};
  EXPECT_EQ(CostOf("fused.linear", linear, y, nullptr).flops, 2.0 * 10 * 3 * 8);
  EXPECT_EQ(CostOf("fused.linear", linear, y, nullptr).bytes, 4.0 * (30 + 24 + 80));

  // Four groups; channels first and last count the same.
  const TensorView conv[] = {c.Of({1, 8, 6, 6}), c.Of({12, 2, 3, 3})}, z[] = {c.Of({1, 12, 4, 4})};
  const TensorView last[] = {c.Of({1, 6, 6, 8}), c.Of({12, 2, 3, 3})}, zl[] = {c.Of({1, 4, 4, 12})};
  EXPECT_EQ(CostOf("fused.conv", conv, z, nullptr).flops, 2.0 * 12 * 16 * 2 * 9);
  EXPECT_EQ(CostOf("nn.conv", last, zl, nullptr).flops, 2.0 * 12 * 16 * 2 * 9);
}

TEST(OpCost, CountsTheKeysThatAttentionSees) {
  Call c;
  fused::AttentionAttrs attrs;
  attrs.num_heads = 2;
  attrs.kv_num_heads = 1;
  const TensorView qkv[] = {c.Of({3, 4, 16}), c.Of({3, 6, 8}), c.Of({3, 6, 8}), {}, {}, {}};
  const TensorView out[] = {c.Of({3, 4, 16})};
  EXPECT_EQ(CostOf("fused.attention", qkv, out, &attrs).flops, 2.0 * 3 * 2 * (4 * 6) * 16);
  attrs.causal = true;  // the queries see 3, 4, 5 and 6 keys
  EXPECT_EQ(CostOf("fused.attention", qkv, out, &attrs).flops, 2.0 * 3 * 2 * (3 + 4 + 5 + 6) * 16);
}

TEST(OpCost, CountsElementsAndBytesOfOthers) {
  Call c;
  const TensorView xy[] = {c.Of({4, 8}), c.Of({8})}, out[] = {c.Of({4, 8})};
  EXPECT_EQ(CostOf("ten.add", xy, out, nullptr).flops, 32);
  EXPECT_EQ(CostOf("ten.add", xy, out, nullptr).bytes, 4.0 * (32 + 8 + 32));
  const TensorView table[] = {c.Of({1000, 8}), c.Of({4}, DType::kI64)};
  EXPECT_EQ(CostOf("ten.gather", table, out, nullptr).bytes, 4.0 * 32 + 8.0 * 4 + 4.0 * 32);
  // Three rows read at most three experts of 8, many rows at most all.
  const TensorView experts[] = {c.Of({3, 4}), c.Of({8, 4, 5}), c.Of({3}, DType::kI64)};
  const TensorView chosen[] = {c.Of({3, 5})}, many[] = {c.Of({20, 5})};
  EXPECT_EQ(CostOf("fused.expert_linear", experts, chosen, nullptr).bytes,
            4.0 * (12 + 3 * 20 + 15) + 8.0 * 3);
  const TensorView all[] = {c.Of({20, 4}), c.Of({8, 4, 5}), c.Of({20}, DType::kI64)};
  EXPECT_EQ(CostOf("fused.expert_linear", all, many, nullptr).bytes,
            4.0 * (80 + 8 * 20 + 100) + 8.0 * 20);
  EXPECT_EQ(BytesRead("ten.gather", table, out, 0), 4.0 * 32);
  EXPECT_EQ(BytesRead("ten.add", xy, out, 1), 4.0 * 8);
  // No rows read no weights.
  const TensorView none[] = {c.Of({0, 4}), c.Of({4, 5})}, nothing[] = {c.Of({0, 5})};
  EXPECT_EQ(CostOf("fused.linear", none, nothing, nullptr).bytes, 0);
}

}  // namespace
}  // namespace tenon::kernels
