#include "executor/memory/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/memory/lasting_memory.h"
#include "executor/tensor.h"
#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(MemoryBudgetTest, CountsWhatIsAlive) {
  const auto budget = MemoryBudget::Make(3 << 20);
  std::shared_ptr<std::byte> outlives;
  {
    const MemoryBudget::Scope scope(budget);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(AllocateLasting(2 << 20).ok());  // freed each time
    absl::StatusOr<std::shared_ptr<std::byte>> first = AllocateLasting(2 << 20);
    ASSERT_TRUE(first.ok());
    outlives = *first;
    for (const auto& second :
         {AllocateLasting(2 << 20), AllocateAligned(2 << 20), AllocatePassing((1 << 20) + 1)}) {
      EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(second.status().message(), HasSubstr("expected at most 3145728"));
    }
    EXPECT_TRUE(AllocatePassing(1 << 20).ok());
  }
  EXPECT_TRUE(AllocateLasting(8 << 20).ok());  // no scope
  outlives.reset();
  const MemoryBudget::Scope scope(budget);
  EXPECT_TRUE(AllocateAligned(3 << 20).ok());
}

TEST(MemoryBudgetTest, OfAProgram) {
  const std::string text =
      Function("%a: tensor<?x1000xf32, [\"N\", \"\"]>",
               "(tensor<?x1000xf32, [\"N\", \"\"]>) -> tensor<?x1000xf32, [\"N\", \"\"]>",
               "  %0 = nn.softmax(%a) <{axis = 1 : i64}> : (tensor<?x1000xf32, [\"N\", \"\"]>) -> "
               "tensor<?x1000xf32, [\"N\", \"\"]>\n"
               "  func.return(%0) : (tensor<?x1000xf32, [\"N\", \"\"]>) -> ()\n");
  const absl::StatusOr<Model> model = LoadFromBytes(text, "m.mlir");
  ASSERT_TRUE(model.ok());
  CompileOptions options;
  options.limits.memory_bytes = 1 << 20;
  const absl::StatusOr<Program> program = Compile(*model, options);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(program->Run(std::vector<Tensor>{Ramp({100, 1000})}).ok());
  const absl::Status refused = program->Run(std::vector<Tensor>{Ramp({1000, 1000})}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("result0"));
  EXPECT_TRUE(program->Run(std::vector<Tensor>{Ramp({100, 1000})}).ok());
}

// Whatever the limit, too little of it is the same error, also where a kernel packs weights.
TEST(MemoryBudgetTest, EveryRefusalNamesTheLimit) {
  constexpr char kProduct[] = R"ir(
func.func() <{function_type = (tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x64xf32, ["N", ""]>):
  %w = core.constant() <{value = dense<0.5> : tensor<64x64xf32>}> : () -> tensor<64x64xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x64xf32, ["N", ""]>, tensor<64x64xf32>) -> tensor<?x64xf32, ["N", ""]>
  %1 = nn.softmax(%0) <{axis = 1 : i64}> : (tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>
  func.return(%1) : (tensor<?x64xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";
  absl::StatusOr<Model> model = LoadFromBytes(kProduct, "m.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model).ok());
  bool packed = false, ran = false;
  for (int64_t bytes = 1000; !ran; bytes += 1000) {
    ASSERT_LT(bytes, 1 << 20);
    CompileOptions options;
    options.threads = 1;
    options.limits.memory_bytes = bytes;
    const absl::StatusOr<Program> program = Compile(*model, options);
    const absl::Status status =
        program.ok() ? program->Run(std::vector<Tensor>{Ramp({8, 64})}).status() : program.status();
    ran = status.ok();
    if (ran) break;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << bytes << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("Limits::memory_bytes")) << bytes;
    packed |= status.ToString().find("packed weights") != std::string::npos;
  }
  EXPECT_TRUE(packed);
}

// The message names the loop that runs out of memory, whoever allocates for it.
TEST(MemoryBudgetTest, OfALoop) {
  const std::string text = Function("%n: tensor<i64>, %a: tensor<?xf32>",
                                    "(tensor<i64>, tensor<?xf32>) -> tensor<?xf32>", R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %r = ctl.for(%zero, %n, %one, %a) ({
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32>):
    %y = ten.concat(%x, %x) <{axis = 0 : i64}> : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    ctl.yield(%y) : (tensor<?xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32>) -> tensor<?xf32>
  func.return(%r) : (tensor<?xf32>) -> ()
)ir");
  const absl::StatusOr<Model> model = LoadFromBytes(text, "m.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  CompileOptions options;
  options.limits.memory_bytes = 1 << 24;
  const absl::StatusOr<Program> program = Compile(*model, options);
  ASSERT_TRUE(program.ok()) << program.status();
  const Tensor a = Ramp({1000});
  const auto run = [&](int64_t count) {
    Tensor trips = Tensor::Make(DType::kI64, {});
    *trips.as<int64_t>() = count;
    return program->Run(std::vector<Tensor>{trips, a}).status();
  };
  EXPECT_TRUE(run(3).ok());
  const absl::Status refused = run(40);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("m.mlir:"));
  EXPECT_EQ(refused.ToString().find("tenon."), std::string::npos) << refused;
}

}  // namespace
}  // namespace tenon
