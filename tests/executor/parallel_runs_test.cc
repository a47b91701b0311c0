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

// n times: one of two products with a weight of both branches, whose result is carried and stacked.
// How many there are follows from the shape of %stop, or from its values.
std::string Loop(bool is_planned) {
  const std::string x = "tensor<?x64xf32, [\"N\", \"\"]>";
  const std::string stacked = is_planned ? "tensor<?x?x64xf32, [\"R\", \"N\", \"\"]>"
                                         : "tensor<?x?x64xf32, [\"K\", \"N\", \"\"]>";
  const std::string stop = "tensor<?xi64, [\"R\"]>";
  return Function("%x: " + x + ", %stop: " + stop,
                  "(" + x + ", " + stop + ") -> (" + x + ", " + stacked + ")",
                  R"ir(
  %w = core.constant() <{value = dense<0.03125> : tensor<64x64xf32>}> : () -> tensor<64x64xf32>
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %two = core.constant() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
)ir" +
                      std::string(is_planned ? R"ir(
  %dims = core.dims() <{dims = #core.dims<"R">}> : () -> tensor<1xi64>
  %n = ten.reshape(%dims) <{shape = #core.dims<>}> : (tensor<1xi64>) -> tensor<i64>
)ir"
                                             : R"ir(
  %n = ten.reduce_sum(%stop) <{axes = array<i64: 0>, keepdims = false}> : (tensor<?xi64, ["R"]>) -> tensor<i64>
)ir") +
                      "  %r:2 = ctl.for(%zero, %n, %one, %x) <{scan_axes = array<i64: 0>}> ({\n"
                      "  ^bb0(%i: tensor<i64>, %y: " +
                      x + "):\n" + R"ir(
    %c = ten.less(%i, %two) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %z = ctl.if(%c) ({
      %a = ten.matmul(%y, %w) : (tensor<?x64xf32, ["N", ""]>, tensor<64x64xf32>) -> tensor<?x64xf32, ["N", ""]>
      ctl.yield(%a) : (tensor<?x64xf32, ["N", ""]>) -> ()
    }, {
      %b = ten.matmul(%x, %w) : (tensor<?x64xf32, ["N", ""]>, tensor<64x64xf32>) -> tensor<?x64xf32, ["N", ""]>
      %d = ten.tanh(%b) : (tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>
      ctl.yield(%d) : (tensor<?x64xf32, ["N", ""]>) -> ()
    }) : (tensor<i1>) -> tensor<?x64xf32, ["N", ""]>
    %s = ten.add(%z, %y) : (tensor<?x64xf32, ["N", ""]>, tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>
    ctl.yield(%s, %s) : (tensor<?x64xf32, ["N", ""]>, tensor<?x64xf32, ["N", ""]>) -> ()
)ir" + "  }) : (tensor<i64>, tensor<i64>, tensor<i64>, " +
                      x + ") -> (" + x + ", " + stacked + ")\n  func.return(%r#0, %r#1) : (" + x +
                      ", " + stacked + ") -> ()\n");
}

// Each caller has a session of its own, or none; some runs are cancelled somewhere in the loop.
TEST(ParallelRuns, LoopsAndBranches) {
  struct Case {
    std::vector<Tensor> inputs;
    std::vector<float> last, stacked;
  };
  for (const bool is_planned : {true, false}) {
    for (const int threads : {1, 2}) {
      absl::StatusOr<Program> program = CompileText(Loop(is_planned), false, nullptr, threads);
      ASSERT_TRUE(program.ok()) << program.status();
      std::vector<Case> cases;
      for (const int64_t rows : {1, 40, 200}) {
        for (const int64_t runs : {1, 5}) {
          Case& one = cases.emplace_back();
          one.inputs = {Ramp({rows, 64}),
                        Ints({runs}, std::vector<int64_t>(static_cast<size_t>(runs), 1))};
          Session session = program->NewSession();
          absl::StatusOr<std::vector<Tensor>> out = session.Run(one.inputs);
          ASSERT_TRUE(out.ok()) << out.status();
          EXPECT_EQ(session.stats().dynamic_runs > 0, !is_planned);
          one.last = ValuesOf<float>((*out)[0]);
          one.stacked = ValuesOf<float>((*out)[1]);
          ASSERT_EQ(one.stacked.size(), one.last.size() * static_cast<size_t>(runs));
        }
      }
      std::atomic<int> wrong = 0;
      std::vector<std::thread> callers;
      for (int c = 0; c < 4; ++c) {
        callers.emplace_back([&, c] {
          Session session = program->NewSession();
          for (int i = 0; i < 24; ++i) {
            const Case& one = cases[static_cast<size_t>(c + i) % cases.size()];
            CancelToken token;
            std::thread canceller;
            if (i % 4 == 3) canceller = std::thread([&] { token.Cancel(); });
            absl::StatusOr<std::vector<Tensor>> out =
                c % 2 == 0 ? session.Run(one.inputs, {.cancel = &token})
                           : program->Run(one.inputs, {.cancel = &token});
            if (canceller.joinable()) canceller.join();
            if (absl::IsCancelled(out.status()) && i % 4 == 3) continue;
            if (!out.ok() || ValuesOf<float>((*out)[0]) != one.last ||
                ValuesOf<float>((*out)[1]) != one.stacked)
              ++wrong;
          }
        });
      }
      for (std::thread& caller : callers) caller.join();
      EXPECT_EQ(wrong, 0) << is_planned << threads;
    }
  }
}

}  // namespace
}  // namespace tenon
