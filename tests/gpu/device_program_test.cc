// Programs on a GPU: transfers, memory, results. The device is emulated; where there is a real one,
// it runs them too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "executor/evaluator.h"
#include "executor/lowering/fallbacks.h"
#include "executor/passes.h"
#include "executor/profile/profiler.h"
#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "ir/dialect/kernel_ops.h"
#include "kernels/gpu/gpu_kernels.h"
#include "pass/pass_manager.h"
#include "tests/executor/run_util.h"
#include "tests/gpu/compile_for_gpu.h"
#include "tests/gpu/emulated_device.h"

namespace tenon {
namespace {

using kernels::gpu::testing::Call;
using kernels::gpu::testing::EmulatedDevice;

// Of the largest: of sums in another order, and of functions that a device rounds in its own way.
constexpr float kEmulated = 2e-5f, kOnADevice = 1e-4f;

void ExpectClose(const Tensor& actual, const Tensor& expected, float tolerance) {
  ASSERT_EQ(actual.type_text(), expected.type_text());
  if (expected.dtype() != DType::kF32) {
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.num_bytes()), 0);
    return;
  }
  float largest = 0;
  for (float v : ValuesOf<float>(expected)) largest = std::max(largest, std::fabs(v));
  for (int64_t i = 0; i < expected.numel(); ++i) {
    ASSERT_NEAR(actual.as<float>()[i], expected.as<float>()[i], tolerance * std::max(1.0f, largest))
        << "element " << i;
  }
}

struct Compiled {
  Model model;
  Program program;
  std::vector<std::string> fallbacks;
};

absl::StatusOr<Compiled> CompileModel(const std::string& name,
                                      std::shared_ptr<kernels::gpu::Device> device) {
  absl::StatusOr<Model> model = Load("tests/models/" + name + "/model.onnx");
  if (!model.ok()) return model.status();
  if (absl::Status status = Optimize(*model); !status.ok()) return status;
  std::vector<std::string> fallbacks;
  CompileOptions options;
  options.threads = 1;
  options.gpu = std::move(device);
  options.on_fallback = [&](std::string_view line) { fallbacks.emplace_back(line); };
  absl::StatusOr<Program> program = Compile(*model, options);
  if (!program.ok()) return program.status();
  return Compiled{*std::move(model), *std::move(program), std::move(fallbacks)};
}

class ModelOnDeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void Run(std::shared_ptr<kernels::gpu::Device> device, float tolerance) {
    absl::StatusOr<Compiled> on_cpu = CompileModel(GetParam(), nullptr);
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
    absl::StatusOr<Compiled> on_gpu = CompileModel(GetParam(), std::move(device));
    ASSERT_TRUE(on_gpu.ok()) << on_gpu.status();
    for (int kind = 0; kind < 2; ++kind) {
      const absl::StatusOr<Sample> sample = SampleInputs(on_cpu->model.main(), kind);
      ASSERT_TRUE(sample.ok()) << sample.status();
      const absl::StatusOr<std::vector<Tensor>> expected = on_cpu->program.Run(sample->inputs);
      const absl::StatusOr<std::vector<Tensor>> actual = on_gpu->program.Run(sample->inputs);
      ASSERT_EQ(actual.ok(), expected.ok()) << actual.status();
      if (!expected.ok()) continue;
      SCOPED_TRACE(sample->text);
      for (size_t i = 0; i < expected->size(); ++i)
        ExpectClose((*actual)[i], (*expected)[i], tolerance);
    }
  }
};

TEST_P(ModelOnDeviceTest, AgreesWithTheCpuWhenEmulated) {
  Run(std::make_shared<EmulatedDevice>(), kEmulated);
}

TEST_P(ModelOnDeviceTest, AgreesWithTheCpuOnADevice) {
  const auto device = OpenCudaDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  Run(*device, kOnADevice);
}

std::vector<std::string> Models() {
  std::vector<std::string> names;
  // Where the program was built somewhere else it is run in the source folder.
  std::error_code error;
  const bool here = std::filesystem::is_directory("tests/models", error);
  const char* const folder = here ? "tests/models" : TENON_SOURCE_DIR "/tests/models";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_directory() && std::filesystem::exists(entry.path() / "model.onnx")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ModelOnDeviceTest, ::testing::ValuesIn(Models()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// Copies of values to the device that have come from it, as far as the lowered function shows.
std::vector<std::string> RoundTrips(Operation* main) {
  std::vector<std::string> found;
  absl::flat_hash_set<const void*> from_device;
  for (Operation& op : main->region().front()) {
    const auto call = DynCast<kernel::CallOp>(&op);
    bool tainted = call && call.kernel() == kernels::gpu::kToHost;
    if (!call || call.kernel() != kernels::gpu::kToDevice) {
      for (OpOperand& operand : op.operands()) {
        tainted = tainted || from_device.contains(operand.get().impl());
      }
    } else if (from_device.contains(op.operand(0).impl())) {
      const Operation* producer = op.operand(0).defining_op();
      found.push_back(DescribeLocation(op.context(), producer->location()));
    }
    for (unsigned i = 0; tainted && i < op.num_results(); ++i) {
      from_device.insert(op.result(i).impl());
    }
  }
  return found;
}

class PlacementTest : public ::testing::TestWithParam<std::string> {};

// Nothing but what is listed falls back to the CPU, and nothing else that the device has made comes
// back to it from there.
TEST_P(PlacementTest, NothingGoesToTheHostAndBack) {
  absl::StatusOr<Model> model = Load("tests/models/" + GetParam() + "/model.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model).ok());
  PassRegistry registry;
  EXPECT_TRUE(RegisterAllPasses(registry).ok());
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline(LowerPipeline(/*reference=*/false, /*gpu=*/true)).ok());
  PassContext context;
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  context.evaluator = &evaluator;
  ASSERT_TRUE(manager.Run(model->module(), context).ok());
  // Caches with room for more keys are written by an op that the device has no kernel for.
  const bool scatters = GetParam() == "llama.onnxruntime";
  // Both decoders of a merged one are branches.
  const bool merged = GetParam() == "gpt2_merged.optimum";
  for (const auto& [op, reason] : FallbacksIn(model->module())) {
    const auto call = DynCast<kernel::CallOp>(const_cast<Operation*>(op));
    if (scatters && call && call.kernel() == "ref.scatter_nd") continue;
    if (merged && reason == kRegionFallback) continue;
    ADD_FAILURE() << DescribeLocation(op->context(), op->location()) << ": " << reason;
  }
  EXPECT_EQ(RoundTrips(model->main()).empty(), !scatters);
}

INSTANTIATE_TEST_SUITE_P(All, PlacementTest, ::testing::ValuesIn(Models()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(DeviceProgramTest, BertHasNoFallbacksAndCopiesItsInputsAndItsResultOnly) {
  auto device = std::make_shared<EmulatedDevice>();
  const absl::StatusOr<Compiled> bert = CompileModel("bert.eager.ts17", device);
  ASSERT_TRUE(bert.ok()) << bert.status();
  EXPECT_THAT(
      bert->fallbacks,
      testing::ElementsAre("copied in a run: 2 inputs and 0 values that the host computes to "
                           "the device, 1 results and 0 values that the host reads back"));
  const absl::StatusOr<Sample> sample = SampleInputs(bert->model.main(), 0);
  ASSERT_TRUE(sample.ok()) << sample.status();
  Session session = bert->program.NewSession();
  ASSERT_TRUE(session.Run(sample->inputs).ok());

  // Now everything is prepared and uploaded.
  device->log().calls.clear();
  const size_t live = device->log().live_bytes;
  ASSERT_TRUE(session.Run(sample->inputs).ok());
  EXPECT_EQ(device->log().Count(Call::Kind::kAllocate), 0);
  EXPECT_EQ(device->log().Count(Call::Kind::kAllocatePinned), 0);
  EXPECT_EQ(device->log().Count(Call::Kind::kFree), 0);
  EXPECT_EQ(device->log().live_bytes, live);
  EXPECT_EQ(device->log().Count(Call::Kind::kToDevice), 2);  // ids and mask
  EXPECT_EQ(device->log().Count(Call::Kind::kToHost), 2);    // the result, and what kernels report
  EXPECT_EQ(device->log().Count(Call::Kind::kSynchronize), 1);
  // Copies in, then kernels, then the copy out.
  const std::vector<std::string> kernels = device->log().Kernels();
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "Attention"), 2);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "MatMul"), 8);
  EXPECT_EQ(device->log().calls.front().kind, Call::Kind::kToDevice);
  EXPECT_EQ(device->log().calls.back().kind, Call::Kind::kSynchronize);
}

TEST(DeviceProgramTest, ResultsAreWaitedForOnce) {
  auto device = std::make_shared<EmulatedDevice>();
  const absl::StatusOr<Compiled> llama = CompileModel("llama_past.sdpa.ts17", device);
  ASSERT_TRUE(llama.ok()) << llama.status();
  ASSERT_GT(llama->program.outputs().size(), 2u);
  const absl::StatusOr<Sample> sample = SampleInputs(llama->model.main(), 0);
  ASSERT_TRUE(sample.ok()) << sample.status();
  Session session = llama->program.NewSession();
  ASSERT_TRUE(session.Run(sample->inputs).ok());
  device->log().calls.clear();
  ASSERT_TRUE(session.Run(sample->inputs).ok());
  EXPECT_GT(device->log().Count(Call::Kind::kToHost), 3);
  EXPECT_EQ(device->log().Count(Call::Kind::kSynchronize), 1);
}

// The rows of what each window sees, of which there are more than can be counted.
TEST(DeviceProgramTest, ScratchThatCannotBeCountedIsAnError) {
  const std::string conv = Function(
      "%x: tensor<?x1x?x?xf32, [\"B\", \"\", \"H\", \"W\"]>, "
      "%w: tensor<1x1x?x?xf32, [\"\", \"\", \"K\", \"L\"]>",
      "(tensor<?x1x?x?xf32, [\"B\", \"\", \"H\", \"W\"]>, "
      "tensor<1x1x?x?xf32, [\"\", \"\", \"K\", \"L\"]>) -> "
      "(tensor<?x1x?x?xf32, [\"B\", \"\", \"H - K + 1\", \"W - L + 1\"]>)",
      R"ir(
  %0 = nn.conv(%x, %w) <{strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}> : (tensor<?x1x?x?xf32, ["B", "", "H", "W"]>, tensor<1x1x?x?xf32, ["", "", "K", "L"]>) -> tensor<?x1x?x?xf32, ["B", "", "H - K + 1", "W - L + 1"]>
  func.return(%0) : (tensor<?x1x?x?xf32, ["B", "", "H - K + 1", "W - L + 1"]>) -> ()
)ir");
  const absl::StatusOr<Program> program = CompileForGpu(conv, std::make_shared<EmulatedDevice>());
  ASSERT_TRUE(program.ok()) << program.status();
  constexpr int64_t kSide = int64_t{1} << 22, kWindow = kSide / 2;
  const std::vector<int64_t> x = {1, 1, kSide, kSide}, w = {1, 1, kWindow, kWindow};
  Session session = program->NewSession();
  // Nothing is read before it is prepared.
  const kernels::TensorView views[] = {{nullptr, DType::kF32, x}, {nullptr, DType::kF32, w}};
  const absl::Status status = session.OutputShapes(views).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find("cuda.conv needs more than"), std::string_view::npos) << status;
}

// A whole model, with inputs to run it on.
class BertOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Compiled> bert = CompileModel("bert.eager.ts17", device_);
    ASSERT_TRUE(bert.ok()) << bert.status();
    absl::StatusOr<Sample> sample = SampleInputs(bert->model.main(), 0);
    ASSERT_TRUE(sample.ok()) << sample.status();
    bert_.emplace(*std::move(bert));
    sample_ = *std::move(sample);
  }

  std::shared_ptr<EmulatedDevice> device_ = std::make_shared<EmulatedDevice>();
  std::optional<Compiled> bert_;
  Sample sample_;
};

TEST_F(BertOnDevice, ProfilesHoldTheDevicesTimes) {
  Session session = bert_->program.NewSession();
  ASSERT_TRUE(session.Run(sample_.inputs).ok());
  for (int run = 0; run < 2; ++run) {
    Profiler profiler;
    device_->log().calls.clear();
    ASSERT_TRUE(session.Run(sample_.inputs, {.cancel = nullptr, .profiler = &profiler}).ok());
    // An event before and one behind each kernel, copies too.
    const auto events = static_cast<int64_t>(profiler.events().size());
    EXPECT_GE(events, device_->log().Launches("Attention") + 3);
    EXPECT_EQ(device_->log().Count(Call::Kind::kRecord), 2 * events);
    int64_t end = 0;
    for (const Profiler::Event& event : profiler.events()) {
      EXPECT_GE(event.begin_ns, end);
      EXPECT_GE(event.end_ns, event.begin_ns);
      end = event.end_ns;
    }
  }
}

TEST_F(BertOnDevice, IntermediatesShareOneArena) {
  Session session = bert_->program.NewSession();
  ASSERT_TRUE(session.Run(sample_.inputs).ok());
  const size_t arena = session.stats().device_arena_bytes;
  EXPECT_GT(arena, 0u);
  int64_t allocations = 0;
  for (const Call& call : device_->log().calls) {
    allocations += call.kind == Call::Kind::kAllocate && call.bytes == arena ? 1 : 0;
  }
  EXPECT_EQ(allocations, 1);
}

TEST_F(BertOnDevice, ConstantsAreUploadedOnceForAllSessions) {
  Session first = bert_->program.NewSession();
  ASSERT_TRUE(first.Run(sample_.inputs).ok());
  device_->log().calls.clear();
  Session second = bert_->program.NewSession();
  ASSERT_TRUE(second.Run(sample_.inputs).ok());
  // The inputs, and what follows from their shapes.
  EXPECT_LE(device_->log().Count(Call::Kind::kToDevice), 4);
}

constexpr char kFallback[] = R"ir(
  %0 = ten.add(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.thresholded_relu(%0) <{alpha = 5.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ten.mul(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return(%2) : (tensor<4xf32>) -> ()
)ir";

// Every operation that runs on the host is told of, by itself or with its region, and every copy.
TEST(DeviceProgramTest, FallbacksAreToldOnceForEachKind) {
  constexpr char kBody[] = R"ir(
  %0 = ten.add(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ten.thresholded_relu(%0) <{alpha = 5.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ten.thresholded_relu(%1) <{alpha = 6.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %3 = ctl.if(%c) ({
    %4 = ten.mul(%2, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = ten.matmul(%d, %d) : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
    %6 = ten.reduce_sum(%5) <{axes = array<i64: 0, 1>, keepdims = false}> : (tensor<8x8xf64>) -> tensor<f64>
    %7 = ten.cast(%6) <{to = f32}> : (tensor<f64>) -> tensor<f32>
    %8 = ten.mul(%4, %7) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ctl.yield(%8) : (tensor<4xf32>) -> ()
  }, {
    ctl.yield(%0) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return(%3) : (tensor<4xf32>) -> ()
)ir";
  absl::StatusOr<Model> model = LoadFromBytes(
      Function("%a: tensor<4xf32>, %c: tensor<i1>, %d: tensor<8x8xf64>",
               "(tensor<4xf32>, tensor<i1>, tensor<8x8xf64>) -> tensor<4xf32>", kBody),
      "m.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> notes;
  CompileOptions options;
  options.gpu = std::make_shared<EmulatedDevice>();
  options.on_fallback = [&](std::string_view line) { notes.emplace_back(line); };
  ASSERT_TRUE(Compile(*model, options).ok());
  using testing::HasSubstr;
  EXPECT_THAT(
      notes,
      testing::UnorderedElementsAre(
          testing::AllOf(HasSubstr("ten.thresholded_relu runs on the CPU: no kernel"),
                         HasSubstr("(2 operations)")),
          HasSubstr("ctl.if runs on the CPU, with 5 operations: regions of control flow"),
          HasSubstr("ten.matmul runs on the CPU: regions of control flow run on the host; on the "
                    "CPU: cpu.matmul: needs f32"),
          testing::_, testing::_,  // a sum and a cast of f64
          "copied in a run: 1 inputs and 0 values that the host computes to the device, 0 results "
          "and 1 values that the host reads back"));
}

TEST(DeviceProgramTest, ConstantsThatAreCopiedOnceAreNoWorkOfARun) {
  std::vector<std::string> notes;
  absl::StatusOr<Model> model = LoadFromBytes(
      Function("%a: tensor<1x64xf32>", "(tensor<1x64xf32>) -> tensor<1x512xf32>", R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<64x512xf32>}> : () -> tensor<64x512xf32>
  %0 = ten.matmul(%a, %w) : (tensor<1x64xf32>, tensor<64x512xf32>) -> tensor<1x512xf32>
  func.return(%0) : (tensor<1x512xf32>) -> ()
)ir"),
      "m.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  CompileOptions options;
  options.gpu = std::make_shared<EmulatedDevice>();
  options.on_fallback = [&](std::string_view line) { notes.emplace_back(line); };
  ASSERT_TRUE(Compile(*model, options).ok());
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("copied in a run: 1 inputs")));
}

TEST(DeviceProgramTest, WhatNoKernelServesRunsOnTheCpu) {
  auto device = std::make_shared<EmulatedDevice>();
  const absl::StatusOr<Program> program = CompileForGpu(
      Function("%a: tensor<4xf32>", "(tensor<4xf32>) -> tensor<4xf32>", kFallback), device);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<Tensor> inputs = {Floats({4}, {1, 2, 3, 4})};
  const absl::StatusOr<std::vector<Tensor>> outputs = program->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ValuesOf<float>((*outputs)[0]), (std::vector<float>{0, 0, 36, 64}));
  EXPECT_EQ(device->log().Count(Call::Kind::kToDevice), 2);
}

// Bytes, and their zero point, which the device computes.
constexpr char kBytes[] = R"ir(
  %w = core.constant() <{value = dense<[[1, -2, 3], [-4, 5, 127], [6, -128, 8]]> : tensor<3x3xi8>}> : () -> tensor<3x3xi8>
  %w_zero = core.constant() <{value = dense<[1, 0, -2]> : tensor<3xi8>}> : () -> tensor<3xi8>
  %x = ten.cast(%a) <{to = ui8}> : (tensor<2x3xf32>) -> tensor<2x3xui8>
  %least = ten.reduce_min(%a) <{axes = array<i64: 0, 1>, keepdims = false}> : (tensor<2x3xf32>) -> tensor<f32>
  %x_zero = ten.cast(%least) <{to = ui8}> : (tensor<f32>) -> tensor<ui8>
  %0 = q.linear(%x, %w, %x_zero, %w_zero) <{to = f32}> : (tensor<2x3xui8>, tensor<3x3xi8>, tensor<ui8>, tensor<3xi8>) -> tensor<2x3xf32>
  func.return(%0) : (tensor<2x3xf32>) -> ()
)ir";

TEST(DeviceProgramTest, ProductsOfBytesStayOnTheDevice) {
  auto device = std::make_shared<EmulatedDevice>();
  const absl::StatusOr<Program> program = CompileForGpu(
      Function("%a: tensor<2x3xf32>", "(tensor<2x3xf32>) -> tensor<2x3xf32>", kBytes), device);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const std::vector<Tensor> inputs = {Floats({2, 3}, {3, 9, 5, 255, 4, 128})};
  ASSERT_TRUE(session.Run(inputs).ok());
  device->log().calls.clear();
  const absl::StatusOr<std::vector<Tensor>> outputs = session.Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ValuesOf<float>((*outputs)[0]),
            (std::vector<float>{-20, -226, 794, 620, -16499, 2639}));
  EXPECT_EQ(device->log().Launches("QLinear"), 1);
  EXPECT_EQ(device->log().Count(Call::Kind::kToDevice), 1);
}

TEST(DeviceProgramTest, AnIndexOutOfRangeIsAnError) {
  auto device = std::make_shared<EmulatedDevice>();
  const absl::StatusOr<Program> program = CompileForGpu(
      Function(
          "%x: tensor<3x2xf32>, %i: tensor<4x4xi64>",
          "(tensor<3x2xf32>, tensor<4x4xi64>) -> tensor<4x4x2xf32>",
          "  %0 = ten.gather(%x, %i) <{axis = 0 : i64}> : (tensor<3x2xf32>, tensor<4x4xi64>) -> "
          "tensor<4x4x2xf32>\n  func.return(%0) : (tensor<4x4x2xf32>) -> ()\n"),
      device);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<int64_t> indices(16, 1);
  indices[7] = 3;
  const absl::Status status =
      program->Run(std::vector<Tensor>{Ramp({3, 2}), Ints({4, 4}, indices)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(status.message().find("index 3 is out of range for 3 rows"), absl::string_view::npos)
      << status;
}

TEST(DeviceProgramTest, AShapeThatDependsOnValues) {
  auto device = std::make_shared<EmulatedDevice>();
  const std::string text = Function(
      "%x: tensor<6xf32>, %n: tensor<1xi64>",
      "(tensor<6xf32>, tensor<1xi64>) -> tensor<?xf32, [\"\"]>",
      "  %z = core.constant() <{value = dense<0> : tensor<1xi64>}> : () -> tensor<1xi64>\n"
      "  %0 = ten.add(%x, %x) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>\n"
      "  %1 = ten.dynamic_slice(%0, %z, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : "
      "(tensor<6xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32, [\"\"]>\n"
      "  func.return(%1) : (tensor<?xf32, [\"\"]>) -> ()\n");
  const absl::StatusOr<Program> program = CompileForGpu(text, device);
  ASSERT_TRUE(program.ok()) << program.status();
  for (int64_t n : {2, 5, 0}) {
    const absl::StatusOr<std::vector<Tensor>> outputs =
        program->Run(std::vector<Tensor>{Floats({6}, {1, 2, 3, 4, 5, 6}), Ints({1}, {n})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_EQ((*outputs)[0].numel(), n);
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ((*outputs)[0].as<float>()[i], static_cast<float>(2 * (i + 1)));
    }
  }
}

TEST(DeviceProgramTest, NeedsADevice) {
  absl::StatusOr<Model> model = LoadFromBytes(AddMul(), "test");
  ASSERT_TRUE(model.ok());
  PassRegistry registry;
  EXPECT_TRUE(RegisterExecutorPasses(registry).ok());
  PassManager manager(registry);
  ASSERT_TRUE(manager.AddPipeline("lower-to-kernels{gpu=true},place-transfers,plan-memory").ok());
  PassContext context;
  ASSERT_TRUE(manager.Run(model->module(), context).ok());
  const absl::Status status = Program::Compile(model->main(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST(CudaPluginTest, SaysWhatIsMissing) {
  const auto device = OpenCudaDevice();
  if (device.ok()) GTEST_SKIP() << "there is a device: " << (*device)->name();
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(device.status().message().empty());
}

}  // namespace
}  // namespace tenon
