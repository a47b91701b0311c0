// One program, run by several threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

// A product with weights, and work enough for several threads.
std::string Layer() {
  return Function("%x: tensor<?x64xf32, [\"N\", \"\"]>",
                  "(tensor<?x64xf32, [\"N\", \"\"]>) -> tensor<?x64xf32, [\"N\", \"\"]>", R"ir(
  %w = core.constant() <{value = dense<0.0625> : tensor<64x64xf32>}> : () -> tensor<64x64xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x64xf32, ["N", ""]>, tensor<64x64xf32>) -> tensor<?x64xf32, ["N", ""]>
  %1 = ten.tanh(%0) : (tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>
  %2 = ten.add(%1, %x) : (tensor<?x64xf32, ["N", ""]>, tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>
  func.return(%2) : (tensor<?x64xf32, ["N", ""]>) -> ()
)ir");
}

TEST(ParallelRuns, EveryThreadGetsItsResult) {
  for (int threads : {1, 2, 4}) {
    absl::StatusOr<Program> program = CompileText(Layer(), false, nullptr, threads);
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<Tensor> inputs;
    std::vector<std::vector<float>> expected;
    for (int64_t rows : {1, 100, 700}) {
      inputs.push_back(Ramp({rows, 64}));
      absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{inputs.back()});
      ASSERT_TRUE(out.ok()) << out.status();
      expected.push_back(ValuesOf<float>((*out)[0]));
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int c = 0; c < 6; ++c) {
      callers.emplace_back([&, c] {
        for (int i = 0; i < 30; ++i) {
          const size_t which = static_cast<size_t>(c + i) % inputs.size();
          absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{inputs[which]});
          if (!out.ok() || ValuesOf<float>((*out)[0]) != expected[which]) ++wrong;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0) << threads;
  }
}

// Programs of their own, made, run and destroyed at the same time: the threads come and go.
TEST(ParallelRuns, ProgramsOfTheirOwn) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        absl::StatusOr<Program> program = CompileText(Layer(), false, nullptr, 2);
        if (!program.ok() || !program->Run(std::vector{Ramp({300, 64})}).ok()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tenon
