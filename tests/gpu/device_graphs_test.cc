// What is recorded of programs on a GPU, and that it computes what the single kernels do. The
// device is emulated.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/profile/profiler.h"
#include "frontends/cpp/tenon.h"
#include "tests/executor/run_util.h"
#include "tests/gpu/compile_for_gpu.h"
#include "tests/gpu/emulated_device.h"

namespace tenon {
namespace {

using kernels::gpu::testing::Call;
using kernels::gpu::testing::EmulatedDevice;

// As many softmaxes of each other; thresholded_relu, which no kernel of a GPU computes, in place of
// number `on_host`.
std::string Chain(int ops, int on_host = -1) {
  const std::string type = R"(tensor<?xf32, ["N"]>)";
  std::string body;
  for (int i = 0; i < ops; ++i) {
    const std::string from = i == 0 ? "%x" : "%" + std::to_string(i - 1);
    body += "  %" + std::to_string(i) + " = " +
            (i == on_host ? "ten.thresholded_relu(" + from + ") <{alpha = 0.2 : f32}>"
                          : "nn.softmax(" + from + ") <{axis = 0 : i64}>") +
            " : (" + type + ") -> " + type + "\n";
  }
  return Function(
      "%x: " + type, "(" + type + ") -> " + type,
      body + "  func.return(%" + std::to_string(ops - 1) + ") : (" + type + ") -> ()\n");
}

class DeviceGraphsTest : public ::testing::Test {
 protected:
  void Compile(const std::string& text) {
    absl::StatusOr<Program> on_cpu = CompileForGpu(text, nullptr);
    absl::StatusOr<Program> on_gpu = CompileForGpu(text, device_);
    ASSERT_TRUE(on_cpu.ok() && on_gpu.ok()) << on_cpu.status() << on_gpu.status();
    on_cpu_ = std::make_unique<Program>(*std::move(on_cpu));
    session_ = std::make_unique<Session>(on_gpu->NewSession());
  }
  // Expects what the CPU computes.
  void Run(int64_t n, int seed, Profiler* profiler = nullptr) {
    device_->log().calls.clear();
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(std::sin(static_cast<float>(i + 7 * int64_t{seed})));
    const std::vector<Tensor> inputs = {Floats({n}, std::move(values))};
    const absl::StatusOr<std::vector<Tensor>> expected = on_cpu_->Run(inputs);
    const absl::StatusOr<std::vector<Tensor>> outputs =
        session_->Run(inputs, {.cancel = nullptr, .profiler = profiler});
    ASSERT_TRUE(expected.ok() && outputs.ok()) << expected.status() << outputs.status();
    for (int64_t i = 0; i < n; ++i)
      ASSERT_NEAR((*outputs)[0].as<float>()[i], (*expected)[0].as<float>()[i], 1e-6f) << i;
  }
  int64_t Recorded() const { return device_->log().Count(Call::Kind::kEndCapture); }
  int64_t Replayed() const { return device_->log().Count(Call::Kind::kReplay); }
  int64_t Launched() const { return device_->log().Count(Call::Kind::kLaunch); }

  std::shared_ptr<EmulatedDevice> device_ = std::make_shared<EmulatedDevice>();
  std::unique_ptr<Program> on_cpu_;
  std::unique_ptr<Session> session_;
};

TEST_F(DeviceGraphsTest, TheSecondRunRecordsAndLaterOnesRepeat) {
  Compile(Chain(5));
  Run(3, 0);
  EXPECT_EQ(Recorded(), 0);
  EXPECT_EQ(Launched(), 5);
  Run(3, 1);
  EXPECT_EQ(Recorded(), 1);
  EXPECT_EQ(Replayed(), 1);
  for (const int seed : {2, 3}) {
    Run(3, seed);
    EXPECT_EQ(Recorded(), 0);
    EXPECT_EQ(Replayed(), 1);
    EXPECT_EQ(Launched(), 0);
  }
}

TEST_F(DeviceGraphsTest, AMovedArenaIsRecordedAnew) {
  Compile(Chain(4));
  for (int seed = 0; seed < 3; ++seed) Run(2, seed);
  EXPECT_EQ(Launched(), 0);
  Run(5000, 3);
  Run(2, 4);
  EXPECT_EQ(Recorded(), 1);
  Run(2, 5);
  EXPECT_EQ(Launched(), 0);
}

TEST_F(DeviceGraphsTest, WhatRunsOnTheHostLiesBetweenStretches) {
  Compile(Chain(9, 4));
  for (int seed = 0; seed < 3; ++seed) Run(3, seed);
  EXPECT_EQ(Replayed(), 2);
  EXPECT_EQ(Launched(), 0);
}

TEST_F(DeviceGraphsTest, FewKernelsAreLaunchedOneByOne) {
  Compile(Chain(3));
  for (int seed = 0; seed < 3; ++seed) Run(3, seed);
  EXPECT_EQ(Replayed(), 0);
  EXPECT_EQ(Launched(), 3);
}

TEST_F(DeviceGraphsTest, ProfiledRunsTimeEachKernel) {
  Compile(Chain(4));
  for (int seed = 0; seed < 3; ++seed) Run(3, seed);
  Profiler profiler;
  Run(3, 3, &profiler);
  EXPECT_EQ(Replayed(), 0);
  EXPECT_EQ(profiler.events().size(), 6u);  // with the copies
}

// It need not have come to where algorithms are chosen and memory is taken.
TEST_F(DeviceGraphsTest, NothingIsRecordedAfterARunThatFailed) {
  const std::string rows = "tensor<2x3xf32>", type = "(" + rows + ") -> " + rows;
  std::string body = "  %0 = ten.gather(%x, %i) <{axis = 0 : i64}> : (" + rows +
                     ", tensor<2xi64>) -> " + rows + "\n";
  for (int i = 1; i < 5; ++i) {
    body += "  %" + std::to_string(i) + " = nn.softmax(%" + std::to_string(i - 1) +
            ") <{axis = 0 : i64}> : " + type + "\n";
  }
  body += "  func.return(%4) : (" + rows + ") -> ()\n";
  Compile(Function("%x: " + rows + ", %i: tensor<2xi64>",
                   "(" + rows + ", tensor<2xi64>) -> " + rows, body));
  const auto run = [&](int64_t row) {
    device_->log().calls.clear();
    const std::vector<Tensor> inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Ints({2}, {0, row})};
    return session_->Run(inputs).status();
  };
  EXPECT_FALSE(run(2).ok());
  for (int good = 0; good < 3; ++good) {
    EXPECT_TRUE(run(1).ok());
    EXPECT_EQ(Recorded(), good == 1 ? 1 : 0) << good;
  }
}

TEST_F(DeviceGraphsTest, ADeviceThatRecordsNothingRunsAllTheSame) {
  device_->log().refuses_capture = true;
  Compile(Chain(4));
  for (int seed = 0; seed < 3; ++seed) Run(3, seed);
  EXPECT_EQ(Replayed(), 0);
  EXPECT_EQ(Launched(), 4);
}

}  // namespace
}  // namespace tenon
