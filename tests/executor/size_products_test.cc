// Products of constants and sizes, which are computed once for the sizes at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "executor/profile/profiler.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

// Row s of the table is s, which x sums up with its negative sign: 4 KiB a row.
constexpr char kBody[] = R"ir(
  %n = core.dims() <{dims = #core.dims<"S">, scalar = true}> : () -> tensor<i64>
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %part = core.constant() <{value = dense<0.015625> : tensor<64xf32>}> : () -> tensor<64xf32>
  %w = core.constant() <{value = dense<1.0> : tensor<64x1024xf32>}> : () -> tensor<64x1024xf32>
  %0 = ten.range(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, ["S"]>
  %1 = ten.cast(%0) <{to = f32}> : (tensor<?xi64, ["S"]>) -> tensor<?xf32, ["S"]>
  %2 = ten.reshape(%1) <{shape = #core.dims<"S", 1>}> : (tensor<?xf32, ["S"]>) -> tensor<?x1xf32, ["S", ""]>
  %3 = ten.mul(%2, %part) : (tensor<?x1xf32, ["S", ""]>, tensor<64xf32>) -> tensor<?x64xf32, ["S", ""]>
  %4 = fused.linear(%3, %w) <{activation = "none", alpha = 0.0 : f32, beta = 0.0 : f32, operandSegmentSizes = array<i32: 1, 1, 0, 0>, transpose_w = false}> : (tensor<?x64xf32, ["S", ""]>, tensor<64x1024xf32>) -> tensor<?x1024xf32, ["S", ""]>
  %5 = ten.neg(%4) : (tensor<?x1024xf32, ["S", ""]>) -> tensor<?x1024xf32, ["S", ""]>
  %6 = ten.matmul(%x, %5) <{transpose_a = false, transpose_b = false}> : (tensor<?x?xf32, ["B", "S"]>, tensor<?x1024xf32, ["S", ""]>) -> tensor<?x1024xf32, ["B", ""]>
  func.return(%6) : (tensor<?x1024xf32, ["B", ""]>) -> ()
)ir";

class SizeProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Program> program = CompileText(
        Function("%x: tensor<?x?xf32, [\"B\", \"S\"]>",
                 "(tensor<?x?xf32, [\"B\", \"S\"]>) -> tensor<?x1024xf32, [\"B\", \"\"]>", kBody),
        /*reference=*/false);
    ASSERT_TRUE(program.ok()) << program.status();
    session_.emplace(program->NewSession());
  }

  // Runs on ones, checks the results, and tells whether the operation ran with the program.
  bool Runs(std::string_view op, int64_t batch, int64_t n) {
    Profiler profiler;
    const std::vector<Tensor> inputs = {
        Floats({batch, n}, std::vector<float>(static_cast<size_t>(batch * n), 1))};
    absl::StatusOr<std::vector<Tensor>> out = session_->Run(inputs, {.profiler = &profiler});
    EXPECT_TRUE(out.ok()) << out.status();
    if (!out.ok()) return false;
    const auto expected = static_cast<float>(-n * (n - 1) / 2);
    for (float value : ValuesOf<float>((*out)[0])) {
      EXPECT_NEAR(value, expected, 5e-5f * -expected);
      if (HasFailure()) break;
    }
    return std::any_of(profiler.calls().begin(), profiler.calls().end(),
                       [&](const ProfiledCall& call) { return call.op == op; });
  }

  std::optional<Session> session_;
};

TEST_F(SizeProducts, AreComputedWithThePlan) {
  for (int64_t n : {200, 40, 200, 1, 40}) {
    EXPECT_FALSE(Runs("fused.linear", 1, n));
    EXPECT_FALSE(Runs("ten.neg", 1, n));
    EXPECT_TRUE(Runs("ten.matmul", 1, n));
  }
  EXPECT_EQ(session_->stats().shapes_prepared, 3);
}

TEST_F(SizeProducts, AreComputedAgainWhereWhatLedToThemIsGone) {
  for (int64_t batch : {1, 2, 3}) EXPECT_FALSE(Runs("fused.linear", batch, 200));
}

TEST_F(SizeProducts, HaveABudget) {
  EXPECT_TRUE(Runs("fused.linear", 1, 20000));
  EXPECT_FALSE(Runs("fused.linear", 1, 6000));
}

TEST_F(SizeProducts, OfAllSizesShareTheBudget) {
  for (int64_t n : {6000, 6001, 6002, 6000}) EXPECT_FALSE(Runs("fused.linear", 1, n));
  EXPECT_EQ(session_->stats().shapes_prepared, 4);
}

}  // namespace
}  // namespace tenon
