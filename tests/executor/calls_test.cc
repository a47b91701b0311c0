// Calls of functions, and functions of several blocks: limits, errors and memory. What they compute
// is in tests/golden/exec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/executor/run_util.h"
#include "tests/sanitizers.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor CallArgument(int64_t value) { return MakeTensor<int64_t>(DType::kI64, {}, {value}); }

// @main(n) calls itself for n - 1 until n is 0, and counts the calls.
std::string Countdown() {
  return Function("%n: tensor<i64>", "(tensor<i64>) -> tensor<i64>", R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %more = ten.greater(%n, %zero) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = ctl.if(%more) ({
    %m = ten.sub(%n, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %c = func.call(%m) <{callee = @main}> : (tensor<i64>) -> tensor<i64>
    %d = ten.add(%c, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ctl.yield(%d) : (tensor<i64>) -> ()
  }, {
    ctl.yield(%zero) : (tensor<i64>) -> ()
  }) : (tensor<i1>) -> tensor<i64>
  func.return(%r) : (tensor<i64>) -> ()
)ir");
}

// Jumps back n times.
std::string BlockLoop() {
  return Function("%n: tensor<i64>", "(tensor<i64>) -> tensor<i64>", R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  cf.br(%zero)[^bb1] : (tensor<i64>) -> ()
^bb1(%i: tensor<i64>):
  %j = ten.add(%i, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %more = ten.less_equal(%j, %n) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  cf.cond_br(%more, %j)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<i1>, tensor<i64>) -> ()
^bb2:
  func.return(%i) : (tensor<i64>) -> ()
)ir");
}

TEST(Calls, RecursionUpToTheLimit) {
  absl::StatusOr<Program> program = CompileText(Countdown());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  // Sanitizers make frames larger, and the limit on the stack is reached before.
  for (const int64_t depth : {0, 1, kUnderSanitizers ? 200 : 1000}) {
    auto out = session.Run(std::vector<Tensor>{CallArgument(depth)});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(depth));
  }
}

TEST(Calls, DeeperRecursionIsALocatedError) {
  absl::StatusOr<Program> program = CompileText(Countdown());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (const int64_t depth : {1001, 10000}) {
    auto out = session.Run(std::vector<Tensor>{CallArgument(depth)});
    EXPECT_EQ(out.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(
        std::string(out.status().message()),
        HasSubstr(kUnderSanitizers
                      ? "func.call: the run is inside of"
                      : "func.call: the run is inside of 1000 calls (expected at most 1000"));
    EXPECT_THAT(std::string(out.status().message()), HasSubstr(":9:")) << "the line of the call";
  }
  // The session stays usable.
  auto out = session.Run(std::vector<Tensor>{CallArgument(3)});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(3));
}

TEST(Calls, BlocksThatJumpBackCountAsIterations) {
  std::shared_ptr<Context> context = NewTestContext();
  absl::StatusOr<OwnedOp> module = ParseModule(*context, BlockLoop());
  ASSERT_TRUE(module.ok()) << module.status();
  absl::StatusOr<Program> program = CompileModule(context, module->get());
  ASSERT_TRUE(program.ok()) << program.status();
  auto out = program->Run(std::vector<Tensor>{CallArgument(5000)});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(5000));
  ProgramOptions options;
  options.context = context;
  options.limits.loop_trips = 10;
  for (Operation& op : (*module)->region().front()) {
    absl::StatusOr<Program> limited = Program::Compile(&op, options);
    ASSERT_TRUE(limited.ok()) << limited.status();
    EXPECT_TRUE(limited->Run(std::vector<Tensor>{CallArgument(10)}).ok());
    const auto failed = limited->Run(std::vector<Tensor>{CallArgument(11)});
    EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(failed.status().message()),
                HasSubstr("cf.cond_br: the loop goes on after 10 times (expected at most 10"));
  }
}

// Calls that double at each step: a depth of 40 would never end.
TEST(Calls, CallsCountAsIterations) {
  std::shared_ptr<Context> context = NewTestContext();
  absl::StatusOr<OwnedOp> module =
      ParseModule(*context, Function("%n: tensor<i64>", "(tensor<i64>) -> tensor<i64>", R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %more = ten.greater(%n, %zero) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = ctl.if(%more) ({
    %m = ten.sub(%n, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %a = func.call(%m) <{callee = @main}> : (tensor<i64>) -> tensor<i64>
    %b = func.call(%m) <{callee = @main}> : (tensor<i64>) -> tensor<i64>
    %c = ten.add(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ctl.yield(%c) : (tensor<i64>) -> ()
  }, {
    ctl.yield(%one) : (tensor<i64>) -> ()
  }) : (tensor<i1>) -> tensor<i64>
  func.return(%r) : (tensor<i64>) -> ()
)ir"));
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(CompileModule(context, module->get()).ok());
  ProgramOptions options;
  options.context = context;
  options.limits.loop_trips = 1000;
  for (Operation& op : (*module)->region().front()) {
    absl::StatusOr<Program> limited = Program::Compile(&op, options);
    ASSERT_TRUE(limited.ok()) << limited.status();
    EXPECT_TRUE(limited->Run(std::vector<Tensor>{CallArgument(8)}).ok());
    const auto failed = limited->Run(std::vector<Tensor>{CallArgument(40)});
    EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(failed.status().message()),
                HasSubstr("func.call: the run has made 1000 calls and iterations of loops"));
  }
}

// Regions between calls take stack too.
TEST(Calls, RecursionInsideOfRegionsIsALocatedError) {
  std::string body =
      "  %c = func.call(%n) <{callee = @main}> : (tensor<i64>) -> tensor<i64>\n"
      "  ctl.yield(%c) : (tensor<i64>) -> ()\n";
  for (int i = 0; i < 100; ++i) {
    body = "  %r = ctl.if(%t) ({\n" + body +
           "  }, {\n  ctl.yield(%n) : (tensor<i64>) -> ()\n  }) : (tensor<i1>) -> tensor<i64>\n" +
           (i < 99 ? "  ctl.yield(%r) : (tensor<i64>) -> ()\n"
                   : "  func.return(%r) : (tensor<i64>) -> ()\n");
  }
  absl::StatusOr<Program> program = CompileText(
      Function("%n: tensor<i64>", "(tensor<i64>) -> tensor<i64>",
               "  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>\n"
               "  %t = ten.less(%zero, %n) : (tensor<i64>, tensor<i64>) -> tensor<i1>\n" +
                   body));
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  auto out = session.Run(std::vector<Tensor>{CallArgument(1)});
  EXPECT_EQ(out.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(out.status().message()), HasSubstr("bytes of stack"));
}

TEST(Calls, ProgramsThatAreNotReadyAreRefused) {
  constexpr char kDeclaration[] = R"ir(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "elsewhere"}> ({
}) : () -> ()
)ir";
  const std::string call = Function("%x: tensor<2xf32>", "(tensor<2xf32>) -> tensor<2xf32>", R"ir(
  %0 = func.call(%x) <{callee = @elsewhere}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
)ir");
  absl::StatusOr<Program> program = CompileText(call + kDeclaration);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(program.status().message()), HasSubstr("the callee has no body"));
}

// Extents that do not fit are errors of the call, not of an input.
TEST(Calls, ExtentsThatDoNotFitNameTheCall) {
  const std::string callee = R"ir(
func.func() <{function_type = (tensor<?xf32, ["A"]>, tensor<?xf32, ["A"]>) -> tensor<?xf32, ["A"]>, sym_name = "sum", sym_visibility = "private"}> ({
^bb0(%x: tensor<?xf32, ["A"]>, %y: tensor<?xf32, ["A"]>):
  %0 = ten.add(%x, %y) : (tensor<?xf32, ["A"]>, tensor<?xf32, ["A"]>) -> tensor<?xf32, ["A"]>
  func.return(%0) : (tensor<?xf32, ["A"]>) -> ()
}) : () -> ()
)ir";
  absl::StatusOr<Program> program = CompileText(
      Function("%x: tensor<?xf32>, %y: tensor<?xf32>",
               "(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>",
               "  %0 = func.call(%x, %y) <{callee = @sum}> : (tensor<?xf32>, tensor<?xf32>) -> "
               "tensor<?xf32>\n  func.return(%0) : (tensor<?xf32>) -> ()\n") +
      callee);
  ASSERT_TRUE(program.ok()) << program.status();
  auto out = program->Run(std::vector<Tensor>{MakeTensor<float>(DType::kF32, {2}, {1, 2}),
                                              MakeTensor<float>(DType::kF32, {3}, {1, 2, 3})});
  EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(out.status().message()),
              HasSubstr(":3:8: argument 1 of @sum has extent 3 at dimension 0 (expected A = 2 from "
                        "the other extents)"));
}

TEST(Calls, SeveralThreadsRunOneProgram) {
  absl::StatusOr<Program> program = CompileText(Countdown());
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&program, t] {
      auto out = program->Run(std::vector<Tensor>{CallArgument(10 + t)});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ElementsAre(10 + t));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon
