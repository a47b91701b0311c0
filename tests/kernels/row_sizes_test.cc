// Fast kernels of norms and softmaxes agree with the reference on rows of any size.
#include "tests/kernels/row_sizes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ir/dialect/dialects.h"
#include "tests/sanitizers.h"

namespace tenon::kernels::testing {
namespace {

constexpr uint32_t kCalls = kUnderSanitizers ? 4 : 12;

TEST(KernelVsReferenceTest, RowsMayBeOfAnySize) {
  Context context;
  RegisterAllDialects(context);
  for (const std::string& op : OpsOnRows(context)) {
    const Kernel* reference = nullptr;
    for (const Kernel& kernel : Registry().Find(op))
      if (std::strncmp(kernel.name, "ref.", 4) == 0) reference = &kernel;
    ASSERT_NE(reference, nullptr) << op;
    for (const Kernel& kernel : Registry().Find(op)) {
      if (&kernel == reference || kernel.backend != Backend::kCpu) continue;
      int compared = 0;
      for (const int size : kRowSizes) {
        for (uint32_t seed = 0; seed < kCalls; ++seed) {
          Random random(seed);
          Case want = AtSize(*context.FindOp(op), Generators().at(op)(random), size);
          if (!WhyNot(kernel, want).empty()) continue;
          Case got = want;
          ASSERT_TRUE(RunCase(*reference, want).ok());
          if (!IsFinite(want)) continue;
          ASSERT_TRUE(RunCase(kernel, got).ok());
          ++compared;
          for (size_t i = 0; i < want.outputs.size(); ++i)
            EXPECT_EQ(DifferenceOf(got.outputs[i], want.outputs[i]), "")
                << kernel.name << ", 2^" << size << ", seed " << seed << ", result " << i;
        }
      }
      EXPECT_GT(compared, 0) << kernel.name << " is not compared";
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
