// Carried pairs of programs on a GPU: which stay in its memory, and that they hold what they would
// hold on the host. The device is emulated.
#include <gtest/gtest.h>

#include "executor/io_binding.h"
#include "frontends/cpp/tenon.h"
#include "tests/executor/run_util.h"
#include "tests/gpu/compile_for_gpu.h"
#include "tests/gpu/emulated_device.h"

namespace tenon {
namespace {

using kernels::gpu::testing::Call;
using kernels::gpu::testing::EmulatedDevice;

// present = past and a new row behind; out = present * present. `op` makes of the past what it is
// joined from, and is the past's only reader.
std::string Step(const std::string& op) {
  const std::string past = R"(tensor<?x4xf32, ["P", ""]>)";
  const std::string present = R"(tensor<?x4xf32, ["P + 1", ""]>)";
  return Function("%past: " + past + ", %new: tensor<1x4xf32>",
                  "(" + past + ", tensor<1x4xf32>) -> (" + present + ", " + present + ")",
                  "  %0 = " + op + " : (" + past + ") -> " + past + "\n" +
                      "  %1 = ten.concat(%0, %new) <{axis = 0 : i64}> : (" + past +
                      ", tensor<1x4xf32>) -> " + present + "\n" + "  %2 = ten.mul(%1, %1) : (" +
                      present + ", " + present + ") -> " + present + "\n" +
                      "  func.return(%1, %2) : (" + present + ", " + present + ") -> ()\n");
}

class DeviceBindingTest : public ::testing::Test {
 protected:
  Program Compiled(const std::string& text) {
    absl::StatusOr<Program> program = CompileForGpu(text, device_);
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }
  int64_t Count(Call::Kind kind) const { return device_->log().Count(kind); }
  // Runs with a new row of `value`s.
  static void Run(Session& session, IoBinding& binding, float value) {
    ASSERT_TRUE(binding.BindInput(1, Floats({1, 4}, std::vector<float>(4, value))).ok());
    const absl::Status status = session.Run(binding);
    ASSERT_TRUE(status.ok()) << status;
  }
  static std::vector<float> FirstColumn(const absl::StatusOr<Tensor>& tensor) {
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    std::vector<float> values;
    for (int64_t i = 0; tensor.ok() && i < tensor->numel(); i += 4)
      values.push_back(tensor->as<float>()[i]);
    return values;
  }

  std::shared_ptr<EmulatedDevice> device_ = std::make_shared<EmulatedDevice>();
};

TEST_F(DeviceBindingTest, ACarriedPairStaysInTheDevicesMemory) {
  const Program program = Compiled(Step("ten.neg(%past)"));
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Floats({2, 4}, {1, 1, 1, 1, 2, 2, 2, 2})).ok());
  ASSERT_TRUE(binding.Carry(0, 0).ok());
  Session session = program.NewSession();
  Run(session, binding, 3);
  EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{-1, -2, 3}));

  for (const float value : {4.0f, 5.0f, 6.0f}) {
    device_->log().calls.clear();
    Run(session, binding, value);
    EXPECT_EQ(Count(Call::Kind::kOnDevice), 2);
    EXPECT_EQ(Count(Call::Kind::kToDevice), 1);  // the new row
    EXPECT_EQ(Count(Call::Kind::kToHost), 2);    // the other result, and what kernels report
  }
  EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{1, 2, -3, 4, -5, 6}));
  EXPECT_EQ(FirstColumn(binding.input(0)), (std::vector<float>{1, 2, -3, 4, -5, 6}));
  EXPECT_EQ(FirstColumn(binding.output(1)), (std::vector<float>{1, 4, 9, 16, 25, 36}));
}

TEST_F(DeviceBindingTest, ASteadyStepAllocatesNothing) {
  const std::string type = "tensor<4xf32>";
  const Program program =
      Compiled(Function("%state: " + type, "(" + type + ") -> " + type,
                        "  %0 = ten.add(%state, %state) : (" + type + ", " + type + ") -> " + type +
                            "\n  func.return(%0) : (" + type + ") -> ()\n"));
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Floats({4}, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(binding.Carry(0, 0).ok());
  Session session = program.NewSession();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.Run(binding).ok());
  device_->log().calls.clear();
  ASSERT_TRUE(session.Run(binding).ok());
  EXPECT_EQ(Count(Call::Kind::kAllocate), 0);
  EXPECT_EQ(Count(Call::Kind::kFree), 0);
  EXPECT_EQ(Count(Call::Kind::kToDevice), 0);
  EXPECT_EQ(Count(Call::Kind::kSynchronize), 1);  // errors of kernels are known when it returns
  EXPECT_EQ(ValuesOf<float>(*binding.output(0)), (std::vector<float>{16, 32, 48, 64}));
}

TEST_F(DeviceBindingTest, WhatTheHostReadsIsInItsMemory) {
  const Program program = Compiled(Step("ten.thresholded_relu(%past) <{alpha = 0.5 : f32}>"));
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Floats({1, 4}, {1, 1, 1, 1})).ok());
  ASSERT_TRUE(binding.Carry(0, 0).ok());
  Session session = program.NewSession();
  for (const float value : {0.25f, 2.0f, 3.0f}) Run(session, binding, value);
  EXPECT_EQ(Count(Call::Kind::kOnDevice), 0);
  EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{1, 0, 2, 3}));
}

TEST_F(DeviceBindingTest, SequencesBeginAnewAndCopiesAreTheUsers) {
  const Program program = Compiled(Step("ten.neg(%past)"));
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Floats({0, 4}, {})).ok());
  ASSERT_TRUE(binding.Carry(0, 0).ok());
  Session session = program.NewSession();
  Run(session, binding, 1);
  Run(session, binding, 2);
  const absl::StatusOr<Tensor> held = binding.output(0);
  ASSERT_TRUE(held.ok());
  Run(session, binding, 3);
  EXPECT_EQ(FirstColumn(held), (std::vector<float>{-1, 2}));
  // The sequence goes on from what the user holds, in another session.
  ASSERT_TRUE(binding.BindInput(0, *held).ok());
  Session other = program.NewSession();
  Run(other, binding, 4);
  Run(session, binding, 5);
  EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{-1, 2, -4, 5}));
  EXPECT_EQ(FirstColumn(held), (std::vector<float>{-1, 2}));
}

// Nothing is on the device any more, also where the binding goes last.
TEST_F(DeviceBindingTest, MemoryGoesWithTheBinding) {
  size_t live = 0;
  {
    const Program program = Compiled(Step("ten.neg(%past)"));
    IoBinding binding(program);
    ASSERT_TRUE(binding.BindInput(0, Floats({1, 4}, {1, 1, 1, 1})).ok());
    ASSERT_TRUE(binding.Carry(0, 0).ok());
    Session session = program.NewSession();
    Run(session, binding, 2);
    Run(session, binding, 3);
    live = device_->log().live_bytes;
    IoBinding moved = std::move(binding);
    Run(session, moved, 4);
    EXPECT_EQ(FirstColumn(moved.output(0)), (std::vector<float>{-1, 2, -3, 4}));
  }
  EXPECT_GT(live, 0u);
  EXPECT_EQ(device_->log().live_bytes, 0u);
}

TEST_F(DeviceBindingTest, TensorsOfTheUsersInTheDevicesMemory) {
  const Program program = Compiled(Step("ten.neg(%past)"));
  std::unique_ptr<kernels::gpu::Queue> queue;
  ASSERT_TRUE(device_->NewQueue(&queue).ok());
  void *past = nullptr, *squares = nullptr;
  ASSERT_TRUE(queue->Allocate(4 * sizeof(float), &past).ok());
  ASSERT_TRUE(queue->Allocate(8 * sizeof(float), &squares).ok());
  const std::vector<float> values = {1, 2, 3, 4};
  ASSERT_TRUE(queue->CopyToDevice(past, values.data(), 4 * sizeof(float)).ok());
  {
    IoBinding binding(program);
    ASSERT_TRUE(binding.BindInput(0, DeviceTensor{DType::kF32, {1, 4}, past, nullptr}).ok());
    ASSERT_TRUE(binding.BindOutput(1, DeviceTensor{DType::kF32, {2, 4}, squares, nullptr}).ok());
    Session session = program.NewSession();
    device_->log().calls.clear();
    for (int i = 0; i < 2; ++i) Run(session, binding, 5);
    EXPECT_EQ(Count(Call::Kind::kOnDevice), 4);
    std::vector<float> result(8);
    ASSERT_TRUE(queue->CopyToHost(result.data(), squares, 8 * sizeof(float)).ok());
    EXPECT_EQ(result, (std::vector<float>{1, 4, 9, 16, 25, 25, 25, 25}));
    EXPECT_EQ(ValuesOf<float>(*binding.output(1)), result);
    EXPECT_NE(binding.output(1)->data(), squares);  // a copy: the host cannot read the device's
    EXPECT_NE(binding.input(0)->data(), past);
    EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{-1, 5}));

    // Handed on, it is read and left alone.
    ASSERT_TRUE(binding.BindOutput(1).ok());
    ASSERT_TRUE(binding.Carry(0, 0).ok());
    for (int i = 0; i < 3; ++i) Run(session, binding, 6);
    EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{-1, 6, -6, 6}));
    std::vector<float> given(4);
    ASSERT_TRUE(queue->CopyToHost(given.data(), past, 4 * sizeof(float)).ok());
    EXPECT_EQ(given, values);
  }
  queue->Free(past);
  queue->Free(squares);
}

TEST_F(DeviceBindingTest, AnInputThatNothingReads) {
  const std::string type = "tensor<1x4xf32>";
  const Program program = Compiled(Function("%x: " + type + ", %unused: " + type,
                                            "(" + type + ", " + type + ") -> " + type,
                                            "  %0 = ten.neg(%x) : (" + type + ") -> " + type +
                                                "\n  func.return(%0) : (" + type + ") -> ()\n"));
  float data[4] = {};
  IoBinding binding(program);
  ASSERT_TRUE(binding.BindInput(0, Floats({1, 4}, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(binding.BindInput(1, DeviceTensor{DType::kF32, {1, 4}, data, nullptr}).ok());
  Session session = program.NewSession();
  const absl::Status status = session.Run(binding);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(FirstColumn(binding.output(0)), (std::vector<float>{-1}));
}

TEST_F(DeviceBindingTest, DeviceTensorsThatCannotBeBound) {
  float data[8] = {};
  const DeviceTensor tensor = {DType::kF32, {1, 4}, data, nullptr};
  const Program on_host = Compiled(Step("ten.thresholded_relu(%past) <{alpha = 0.5 : f32}>"));
  IoBinding reads(on_host);
  ASSERT_TRUE(reads.BindInput(0, tensor).ok());
  ASSERT_TRUE(reads.BindInput(1, Floats({1, 4}, {1, 1, 1, 1})).ok());
  Session session = on_host.NewSession();
  absl::Status status = session.Run(reads);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "input 'arg0' is read on the host (expected a tensor in host memory)");

  const std::string type = "tensor<1x4xf32>";
  const Program made_on_host =
      Compiled(Function("%x: " + type, "(" + type + ") -> " + type,
                        "  %0 = ten.thresholded_relu(%x) <{alpha = 0.5 : f32}> : (" + type +
                            ") -> " + type + "\n  func.return(%0) : (" + type + ") -> ()\n"));
  IoBinding makes(made_on_host);
  ASSERT_TRUE(makes.BindInput(0, Floats({1, 4}, {1, 1, 1, 1})).ok());
  ASSERT_TRUE(makes.BindOutput(0, tensor).ok());
  Session other = made_on_host.NewSession();
  status = other.Run(makes);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;

  DeviceTensor ints = tensor;
  ints.dtype = DType::kI32;
  EXPECT_EQ(reads.BindInput(0, ints).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reads.BindInput("pasta", tensor).code(), absl::StatusCode::kNotFound);
  device_ = nullptr;
  const Program on_cpu = Compiled(Step("ten.neg(%past)"));
  EXPECT_EQ(IoBinding(on_cpu).BindInput(0, tensor).code(), absl::StatusCode::kFailedPrecondition);
}

// Of the sizes that a step computes, those that are the same as in the last step stay where they
// are.
TEST_F(DeviceBindingTest, AStepOfOtherShapesKeepsWhatStaysTheSame) {
  const std::string x = R"(tensor<?xf32, ["P"]>)", y = R"(tensor<?xi64, ["Q"]>)";
  const Program program = Compiled(Function(
      "%x: " + x + ", %y: " + y, "(" + x + ", " + y + ") -> (" + x + ", " + y + ")",
      "  %0 = ten.exp(%x) : (" + x + ") -> " + x + "\n" +
          "  %1 = ten.shape(%y) <{end = 1 : i64, start = 0 : i64}> : (" + y +
          ") -> tensor<1xi64>\n" + "  %2 = ten.add(%y, %1) : (" + y + ", tensor<1xi64>) -> " + y +
          "\n" + "  func.return(%0, %2) : (" + x + ", " + y + ") -> ()\n"));
  IoBinding binding(program);
  Session session = program.NewSession();
  const auto uploads = [&](int64_t p, int64_t q) {
    EXPECT_TRUE(binding.BindInput(0, Floats({p}, std::vector<float>(p, 0))).ok());
    EXPECT_TRUE(binding.BindInput(1, Ints({q}, std::vector<int64_t>(q, 5))).ok());
    device_->log().calls.clear();
    EXPECT_TRUE(session.Run(binding).ok());
    EXPECT_EQ(ValuesOf<int64_t>(*binding.output(1)), std::vector<int64_t>(q, 5 + q));
    return Count(Call::Kind::kToDevice);
  };
  EXPECT_EQ(uploads(70, 80), 3);
  EXPECT_EQ(uploads(71, 80), 2);
  EXPECT_EQ(uploads(71, 81), 3);
  EXPECT_EQ(uploads(72, 81), 2);
}

TEST_F(DeviceBindingTest, ADecodersStepsAgreeWithTheCpus) {
  absl::StatusOr<Model> model = Load("tests/models/llama_past.sdpa.ts17/model.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model).ok());
  CompileOptions options;
  options.threads = 1;
  const absl::StatusOr<Program> on_cpu = Compile(*model, options);
  options.gpu = device_;
  const absl::StatusOr<Program> on_gpu = Compile(*model, options);
  ASSERT_TRUE(on_cpu.ok() && on_gpu.ok()) << on_cpu.status() << on_gpu.status();

  IoBinding cpu(*on_cpu), gpu(*on_gpu);
  Session cpu_session = on_cpu->NewSession(), gpu_session = on_gpu->NewSession();
  constexpr int64_t kPrompt = 3;
  int64_t pairs = 0;
  for (size_t i = 0; i < on_cpu->inputs().size(); ++i) {
    const TensorSpec& spec = on_cpu->inputs()[i];
    if (spec.dtype != DType::kF32) continue;
    Tensor empty = Tensor::Make(DType::kF32, std::vector<int64_t>{1, std::stoll(spec.dims[1]), 0,
                                                                  std::stoll(spec.dims[3])});
    const size_t present = 1 + static_cast<size_t>(pairs++);
    for (IoBinding* binding : {&cpu, &gpu}) {
      ASSERT_TRUE(binding->BindInput(i, empty).ok());
      ASSERT_TRUE(binding->Carry(present, i).ok());
    }
  }
  ASSERT_GT(pairs, 1);
  for (int64_t step = 0; step < 4; ++step) {
    const int64_t rows = step == 0 ? kPrompt : 1, all = kPrompt + step;
    for (size_t i = 0; i < on_cpu->inputs().size(); ++i) {
      const TensorSpec& spec = on_cpu->inputs()[i];
      if (spec.dtype == DType::kF32) continue;
      const int64_t extent = spec.name == "attention_mask" ? all : rows;
      std::vector<int64_t> values(static_cast<size_t>(extent), 1);
      for (size_t j = 0; spec.name == "input_ids" && j < values.size(); ++j)
        values[j] = 2 + step + static_cast<int64_t>(j);
      for (IoBinding* binding : {&cpu, &gpu})
        ASSERT_TRUE(binding->BindInput(i, Ints({1, extent}, values)).ok());
    }
    device_->log().calls.clear();
    ASSERT_TRUE(cpu_session.Run(cpu).ok());
    const absl::Status status = gpu_session.Run(gpu);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Count(Call::Kind::kOnDevice), (step == 0 ? 1 : 2) * pairs);
    for (size_t o = 0; o < on_cpu->outputs().size(); ++o) {
      const absl::StatusOr<Tensor> expected = cpu.output(o), actual = gpu.output(o);
      ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status();
      ASSERT_EQ(actual->type_text(), expected->type_text());
      for (int64_t i = 0; i < expected->numel(); ++i)
        ASSERT_NEAR(actual->as<float>()[i], expected->as<float>()[i], 1e-4f) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace tenon
