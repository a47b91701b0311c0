#include "executor/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAddMul[] = R"(
func.func() <{function_type = (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>):
  %0 = ten.add(%a, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = ten.mul(%0, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ten.neg(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return(%2) : (tensor<2x2xf32>) -> ()
}) : () -> ()
)";

TEST(Program, RunsStaticShapes) {
  std::string lowered;
  absl::StatusOr<Program> program = CompileText(kAddMul, true, &lowered);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(lowered, HasSubstr("kernel.arena_bytes"));
  EXPECT_THAT(lowered, HasSubstr("\"ref.add\""));
  absl::StatusOr<std::vector<Tensor>> out =
      program->Run(std::vector{Floats({2, 2}, {1, 2, 3, 4}), Floats({2, 2}, {10, 20, 30, 40})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<float>((*out)[0]), ElementsAre(-110, -440, -990, -1760));
}

}  // namespace
}  // namespace tenon
