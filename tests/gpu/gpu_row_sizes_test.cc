// GPU kernels of norms and softmaxes agree with the reference on rows of any size.
#include <gtest/gtest.h>

#include "ir/dialect/dialects.h"
#include "kernels/op_attrs.h"
#include "tests/gpu/emulated_device.h"
#include "tests/gpu/on_device.h"
#include "tests/kernels/row_sizes.h"
#include "tests/sanitizers.h"

namespace tenon::kernels::testing {
namespace {

constexpr uint32_t kCalls = kUnderSanitizers ? 2 : 8;

// Rows of whole vectors, which stay in registers, and others.
TEST(GpuRowSizesTest, RowsMayBeOfAnySize) {
  Context context;
  RegisterAllDialects(context);
  gpu::testing::EmulatedDevice device;
  for (const std::string& op : OpsOnRows(context)) {
    for (const Kernel& kernel : GpuRegistry().Find(op)) {
      int compared = 0;
      for (const int size : kRowSizes) {
        for (uint32_t seed = 0; seed < kCalls; ++seed) {
          Random random(seed);
          Case want = AtSize(*context.FindOp(op), Generators().at(op)(random), size);
          if (!WhyNot(kernel, want).empty()) continue;
          ASSERT_TRUE(RunCase(*ReferenceOf(op), want).ok());
          if (!IsFinite(want)) continue;
          OnDevice run(device, kernel, want);
          ASSERT_TRUE(run.Run().ok());
          ++compared;
          for (size_t i = 0; i < want.outputs.size(); ++i)
            EXPECT_EQ(DifferenceOf(run.results()[i], want.outputs[i]), "")
                << kernel.name << ", 2^" << size << ", seed " << seed << ", result " << i;
        }
      }
      EXPECT_GT(compared, 0) << kernel.name << " is not compared";
    }
  }
}

TEST(GpuRowSizesTest, RowsOfWholeVectorsMayBeOfAnySize) {
  Context context;
  RegisterAllDialects(context);
  gpu::testing::EmulatedDevice device;
  for (const char* op : {"nn.layer_norm", "nn.rms_norm", "ten.reduce_l2"}) {
    for (const int size : kRowSizes) {
      Random random(3);
      Case c;
      c.inputs = {random.Floats({3, 64})};
      c.outputs = {Tensor(DType::kF32, {3, op == std::string("ten.reduce_l2") ? 1 : 64})};
      if (op == std::string("nn.layer_norm")) {
        c.attrs = MakeAttrs(nn::LayerNormAttrs{.axis = 1});
      } else if (op == std::string("nn.rms_norm")) {
        c.attrs = MakeAttrs(nn::RmsNormAttrs{.axis = 1});
      } else {
        c.attrs = MakeAttrs(ten::ReduceL2Attrs{.axes = {1}});
      }
      c = AtSize(*context.FindOp(op), c, size);
      ASSERT_TRUE(RunCase(*ReferenceOf(op), c).ok());
      OnDevice run(device, GpuRegistry().Find(op)[0], c);
      ASSERT_TRUE(run.Run().ok());
      EXPECT_EQ(DifferenceOf(run.results()[0], c.outputs[0]), "") << op << ", 2^" << size;
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
