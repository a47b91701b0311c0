// Runs that are cancelled from another thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

// A loop that ends when its input says so, or never.
std::string Loop() {
  return Function("%go: tensor<i1>, %x: tensor<4xf32>",
                  "(tensor<i1>, tensor<4xf32>) -> tensor<4xf32>", R"ir(
  %r = ctl.while(%x) ({
  ^bb0(%0: tensor<4xf32>):
    ctl.condition(%go, %0) : (tensor<i1>, tensor<4xf32>) -> ()
  }, {
  ^bb0(%1: tensor<4xf32>):
    %2 = ten.neg(%1) : (tensor<4xf32>) -> tensor<4xf32>
    ctl.yield(%2) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return(%r) : (tensor<4xf32>) -> ()
)ir");
}

Tensor Flag(bool value) { return Tensor::Copy(DType::kBool, std::span<const int64_t>(), &value); }

class Cancel : public ::testing::TestWithParam<int> {};

TEST_P(Cancel, EndlessLoop) {
  absl::StatusOr<Program> program = CompileText(Loop(), false, nullptr, GetParam());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const Tensor x = Floats({4}, {1, 2, 3, 4});
  CancelToken token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    token.Cancel();
  });
  const absl::Status status = session.Run(std::vector{Flag(true), x}, {.cancel = &token}).status();
  canceller.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;

  // The session is as good as before, with and without the token.
  absl::StatusOr<std::vector<Tensor>> out = session.Run(std::vector{Flag(false), x});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(ValuesOf<float>((*out)[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_TRUE(
      absl::IsCancelled(session.Run(std::vector{Flag(false), x}, {.cancel = &token}).status()));
  token.Reset();
  EXPECT_TRUE(session.Run(std::vector{Flag(false), x}, {.cancel = &token}).ok());
}

// One that is cancelled before it begins prepares nothing wrong.
TEST_P(Cancel, BeforeTheFirstRun) {
  absl::StatusOr<Program> program = CompileText(AddMul(), false, nullptr, GetParam());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const std::vector<Tensor> in = {Ramp({2, 2}), Ramp({2, 2})};
  CancelToken token;
  token.Cancel();
  EXPECT_TRUE(absl::IsCancelled(session.Run(in, {.cancel = &token}).status()));
  EXPECT_TRUE(absl::IsCancelled(program->Run(in, {.cancel = &token}).status()));
  absl::StatusOr<std::vector<Tensor>> out = session.Run(in), expected = program->Run(in);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(ValuesOf<float>((*out)[1]), ValuesOf<float>((*expected)[1]));
}

// A chain of instructions is left in the middle, again and again.
TEST_P(Cancel, ManyTimes) {
  const std::string type = "tensor<65536xf32>";
  std::string body;
  for (int i = 0; i < 200; ++i) {
    body += "  %v" + std::to_string(i + 1) + " = ten.exp(%v" + std::to_string(i) + ") : (" + type +
            ") -> " + type + "\n";
  }
  body += "  func.return(%v200) : (" + type + ") -> ()\n";
  absl::StatusOr<Program> program = CompileText(
      Function("%v0: " + type, "(" + type + ") -> " + type, body), false, nullptr, GetParam());
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const std::vector<Tensor> in = {Ramp({65536})};
  const absl::StatusOr<std::vector<Tensor>> expected = session.Run(in);
  ASSERT_TRUE(expected.ok());
  int cancelled = 0;
  for (int i = 0; i < 10; ++i) {
    CancelToken token;
    std::future<absl::Status> run = std::async(
        std::launch::async, [&] { return session.Run(in, {.cancel = &token}).status(); });
    std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
    token.Cancel();
    const absl::Status status = run.get();
    EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
    cancelled += status.ok() ? 0 : 1;
  }
  EXPECT_GT(cancelled, 0);
  const absl::StatusOr<std::vector<Tensor>> again = session.Run(in);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(ValuesOf<float>((*again)[0]), ValuesOf<float>((*expected)[0]));
}

INSTANTIATE_TEST_SUITE_P(Threads, Cancel, ::testing::Values(1, 2));

}  // namespace
}  // namespace tenon
