#include "executor/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class EvaluatorTest : public ::testing::Test {
 protected:
  // The first op of a function around `body` that is no constant.
  Operation* Parse(std::string_view body) {
    absl::StatusOr<OwnedOp> module =
        ParseModule(*context_, Function("%x: tensor<2x3xf32>, %n: tensor<?xf32, [\"N\"]>",
                                        "(tensor<2x3xf32>, tensor<?xf32, [\"N\"]>) -> ()",
                                        std::string(body) + "\n  func.return() : () -> ()\n"));
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return nullptr;
    module_ = *std::move(module);
    return module_->region().front().front()->region().front().front();
  }
  Attribute Elements(std::string_view text) {
    absl::StatusOr<Attribute> attribute = ParseAttribute(*context_, text);
    EXPECT_TRUE(attribute.ok()) << attribute.status();
    return attribute.ok() ? *attribute : Attribute();
  }

  std::shared_ptr<Context> context_ = NewTestContext();
  OwnedOp module_;
  std::shared_ptr<const kernels::KernelRegistry> registry_ = MakeKernelRegistry();
  ReferenceEvaluator evaluator_{registry_};
};

TEST_F(EvaluatorTest, RunsAnOpOnConstants) {
  Operation* op = Parse(
      "%0 = ten.reduce_sum(%x) <{axes = array<i64: 1>, keepdims = false}> : (tensor<2x3xf32>) -> "
      "tensor<2xf32>");
  ASSERT_NE(op, nullptr);
  const Attribute x = Elements("dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>");
  absl::StatusOr<std::vector<Attribute>> result = evaluator_.Evaluate(*op, {&x, 1});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].ElementAsDouble(0), 6);
  EXPECT_EQ((*result)[0].ElementAsDouble(1), 15);
}

TEST_F(EvaluatorTest, BindsSymbols) {
  Operation* op =
      Parse("%0 = core.dims() <{dims = #core.dims<\"N + 1\", 7>}> : () -> tensor<2xi64>");
  ASSERT_NE(op, nullptr);
  absl::StatusOr<std::vector<Attribute>> result = evaluator_.Evaluate(
      *op, {},
      [](std::string_view s) { return s == "N" ? std::optional<int64_t>(4) : std::nullopt; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].text(), "dense<[5, 7]> : tensor<2xi64>");
  EXPECT_THAT(std::string(evaluator_.Evaluate(*op, {}).status().message()), HasSubstr("'N + 1'"));
}

TEST_F(EvaluatorTest, RefusesWhatKernelsRefuse) {
  Operation* op =
      Parse("%0 = ten.reshape(%x) <{shape = #core.dims<6>}> : (tensor<2x3xf32>) -> tensor<6xf32>");
  ASSERT_NE(op, nullptr);
  const Attribute wrong = Elements("dense<1.0> : tensor<2x2xf32>");
  EXPECT_FALSE(evaluator_.Evaluate(*op, {&wrong, 1}).ok());
  EXPECT_FALSE(evaluator_.Evaluate(*op, {}).ok());
}

TEST_F(EvaluatorTest, TargetKnowsItsKernels) {
  KernelTarget target(registry_);
  Operation* op =
      Parse("%0 = nn.softmax(%x) <{axis = 1 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(target.WhyNoKernel(*op), "");
  KernelTarget empty(std::make_shared<kernels::KernelRegistry>());
  EXPECT_THAT(empty.WhyNoKernel(*op), HasSubstr("nn.softmax"));
}

}  // namespace
}  // namespace tenon
