// What attention asks for besides its results.
#include <gtest/gtest.h>

#include "kernels/op_attrs.h"
#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {
namespace {

size_t ScratchOf(int64_t q_len, int64_t k_len, int threads) {
  fused::AttentionAttrs attrs;
  attrs.num_heads = attrs.kv_num_heads = 12;
  const Shape q = {2, q_len, 768}, k = {2, k_len, 768};
  const std::vector<TensorView> inputs = {
      {nullptr, DType::kF32, q}, {nullptr, DType::kF32, k}, {nullptr, DType::kF32, k}};
  const std::vector<TensorView> outputs = {{nullptr, DType::kF32, q}};
  ThreadPool pool(threads);
  DeviceContext device = {&pool};
  PrepareArgs args = {.inputs = inputs, .outputs = outputs, .attrs = &attrs, .device = &device};
  std::shared_ptr<KernelState> state;
  const KernelStatus status = Registry().FindByName("cpu.fused_attention")->prepare(args, state);
  EXPECT_TRUE(status.ok());
  return args.scratch_bytes;
}

TEST(AttentionScratch, DoesNotGrowWithTheLengths) {
  const size_t small = ScratchOf(128, 128, 1);
  EXPECT_LE(small, size_t{384} << 10);
  EXPECT_EQ(ScratchOf(2048, 2048, 1), small);
  EXPECT_EQ(ScratchOf(2048, 8192, 1), small);
  EXPECT_EQ(ScratchOf(2048, 2048, 4), 4 * small);  // of its own for each thread
}

}  // namespace
}  // namespace tenon::kernels::testing
