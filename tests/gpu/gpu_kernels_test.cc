// Every GPU kernel, its device code emulated on the CPU, against the reference kernel of its op on
// random calls.
#include "kernels/gpu/gpu_kernels.h"

#include <gtest/gtest.h>

#include "executor/gpu/cuda_plugin.h"
#include "kernels/gpu/staging.h"
#include "kernels/op_attrs.h"
#include "tests/gpu/emulated_device.h"
#include "tests/gpu/on_device.h"
#include "tests/kernels/case_generators.h"

namespace tenon::kernels::testing {
namespace {

constexpr int kCases = 40;
constexpr int kFewestRun = 10;

std::vector<const Kernel*> GpuKernels() {
  std::vector<const Kernel*> kernels;
  for (const std::string& op : GpuRegistry().ops()) {
    if (op == "kernel.copy") continue;  // below
    for (const Kernel& kernel : GpuRegistry().Find(op)) kernels.push_back(&kernel);
  }
  return kernels;
}

// Do the op's attributes name element types?
bool NamesElementTypes(std::string_view op) {
  return op == "ten.cast" || op == "fused.group" || op == "q.linear";
}

class GpuKernelTest : public ::testing::TestWithParam<const Kernel*> {};

void CompareWithReference(gpu::Device& device, const Kernel& kernel) {
  const Kernel* reference = ReferenceOf(kernel.op);
  ASSERT_NE(reference, nullptr) << kernel.op << " has no reference kernel";
  const auto generator = Generators().find(kernel.op);
  ASSERT_NE(generator, Generators().end())
      << "no cases for " << kernel.op << ": add a generator to a *_cases.cc of tests/kernels";
  int supported = 0;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Random random(seed);
    const Case made = generator->second(random);
    constexpr DType kTypes[] = {DType::kF32,  DType::kF16, DType::kF32,
                                DType::kBF16, DType::kI64, DType::kI32};
    const DType dtype = kTypes[seed % 6];
    Case want = dtype == DType::kF32 ? made : WithElements(made, dtype);
    if (NamesElementTypes(kernel.op)) want = made;
    if (!WhyNot(kernel, want).empty()) continue;
    ++supported;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + Name(dtype));
    KernelStatus status = RunCase(*reference, want);
    ASSERT_TRUE(status.ok()) << status.message();
    // Views begin anywhere, aligned to their elements.
    OnDevice run(device, kernel, want, seed % 4);
    status = run.Run();
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < want.outputs.size(); ++i) {
      ASSERT_TRUE(Same(run.results()[i], want.outputs[i])) << "result " << i;
    }
    for (size_t i = 0; i < want.inputs.size(); ++i) {
      if ((kernel.inplace_mask >> i & 1) == 0 || want.inputs[i].bytes != want.outputs[0].bytes) {
        continue;
      }
      OnDevice in_place(device, kernel, want);
      status = in_place.Run(static_cast<int>(i));
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(Same(in_place.results()[0], want.outputs[0])) << "in place of input " << i;
    }
  }
  EXPECT_GE(supported, kFewestRun) << "the generator rarely makes calls that the kernel supports";
}

TEST_P(GpuKernelTest, AgreesWithTheReferenceWhenEmulated) {
  gpu::testing::EmulatedDevice device;
  CompareWithReference(device, *GetParam());
}

TEST_P(GpuKernelTest, AgreesWithTheReferenceOnADevice) {
  const auto device = OpenCudaDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  CompareWithReference(**device, *GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, GpuKernelTest, ::testing::ValuesIn(GpuKernels()),
                         [](const ::testing::TestParamInfo<const Kernel*>& info) {
                           std::string name = info.param->name;
                           for (char& c : name) {
                             if (c == '.') c = '_';
                           }
                           return name;
                         });

TEST(GpuKernelTest, AnIndexOutOfRangeIsReportedAndNotRead) {
  Case c;
  c.inputs = {Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::Of<int64_t>({3}, {1, -3, 0})};
  c.outputs = {Tensor(DType::kF32, {3, 3})};
  c.attrs = MakeAttrs(ten::GatherAttrs{});
  gpu::testing::EmulatedDevice device;
  OnDevice run(device, GpuRegistry().Find("ten.gather")[0], c);
  const KernelStatus status = run.Run();
  EXPECT_EQ(status.code(), KernelStatus::Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "ten.gather: index -3 is out of range for 2 rows (expected -2 to 1)");
  // The report is read once.
  c.inputs[1] = Tensor::Of<int64_t>({3}, {1, -2, 0});
  OnDevice right(device, GpuRegistry().Find("ten.gather")[0], c);
  ASSERT_TRUE(right.Run().ok());
  EXPECT_EQ(right.results()[0].values<float>(), (std::vector<float>{4, 5, 6, 1, 2, 3, 1, 2, 3}));
}

TEST(GpuKernelTest, AValueOutOfItsRangeIsReported) {
  Case c;
  c.inputs = {Tensor::Of<int64_t>({3}, {1, 7, 0}), Tensor::Of<int64_t>({}, {0}),
              Tensor::Of<int64_t>({3}, {1, 6, 5})};
  c.outputs = {Tensor(DType::kI64, {3})};
  c.attrs = MakeAttrs(ten::CheckRangeAttrs{.what = "a size of Split"});
  gpu::testing::EmulatedDevice device;
  OnDevice run(device, GpuRegistry().Find("ten.check_range")[0], c);
  const KernelStatus status = run.Run();
  EXPECT_EQ(status.code(), KernelStatus::Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "ten.check_range: a size of Split is 7 (expected 0 to 6)");
}

TEST(GpuKernelTest, FewReductionsOfMuchAreABlocksEach) {
  for (const char* op : {"ten.reduce_sum", "ten.reduce_max"}) {
    for (DType dtype : {DType::kF32, DType::kF16, DType::kI64}) {
      SCOPED_TRACE(std::string(op) + " " + Name(dtype));
      Random random(7);
      Case c;
      c.inputs = {random.Floats({2, 1500, 3})};
      c.outputs = {Tensor(DType::kF32, {2, 1, 3})};
      c.attrs = std::string_view(op) == "ten.reduce_sum"
                    ? MakeAttrs(ten::ReduceSumAttrs{.axes = {1}, .keepdims = true})
                    : MakeAttrs(ten::ReduceMaxAttrs{.axes = {1}, .keepdims = true});
      c = WithElements(c, dtype);
      ASSERT_TRUE(RunCase(*ReferenceOf(op), c).ok());
      gpu::testing::EmulatedDevice device;
      OnDevice run(device, GpuRegistry().Find(op)[0], c);
      ASSERT_TRUE(run.Run().ok());
      EXPECT_TRUE(Same(run.results()[0], c.outputs[0]));
    }
  }
}

TEST(StagingTest, CopiesKeepTheirOrderAndBytes) {
  gpu::testing::EmulatedDevice device;
  std::unique_ptr<gpu::Queue> queue;
  ASSERT_TRUE(device.NewQueue(&queue).ok());
  gpu::Staging staging(*queue);
  // More than both halves hold, and one copy beyond a half.
  constexpr size_t kPiece = gpu::Staging::kHalfBytes / 3 + 5, kPieces = 11;
  const size_t total = kPiece * kPieces + 2 * gpu::Staging::kHalfBytes;
  std::string bytes(total, 0);
  for (size_t i = 0; i < total; ++i) bytes[i] = static_cast<char>(i * 31 + i / 977);
  void* memory = nullptr;
  ASSERT_TRUE(queue->Allocate(total, &memory).ok());
  auto* at = static_cast<char*>(memory);
  for (size_t i = 0; i < kPieces; ++i) {
    ASSERT_TRUE(staging.ToDevice(at + i * kPiece, bytes.data() + i * kPiece, kPiece).ok());
  }
  const size_t done = kPiece * kPieces;
  ASSERT_TRUE(staging.ToDevice(at + done, bytes.data() + done, total - done).ok());
  EXPECT_GT(device.log().Count(gpu::testing::Call::Kind::kWait), 0);
  std::string back(total, 0);
  ASSERT_TRUE(staging.ToHost(back.data(), at, total).ok());
  EXPECT_EQ(back, bytes);
  // Small ones are there together, after one wait.
  const int64_t waits = device.log().Count(gpu::testing::Call::Kind::kSynchronize);
  std::vector<std::string> parts(4, std::string(kPiece, 0));
  for (size_t i = 0; i < parts.size(); ++i) {
    ASSERT_TRUE(staging.ToHost(parts[i].data(), at + i * kPiece, kPiece).ok());
  }
  ASSERT_TRUE(staging.Finish().ok());
  ASSERT_TRUE(staging.Finish().ok());
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i], bytes.substr(i * kPiece, kPiece)) << i;
  }
  EXPECT_EQ(device.log().Count(gpu::testing::Call::Kind::kSynchronize), waits + 1);
  // What is abandoned does not arrive, nor what kernels have said before.
  std::string never(kPiece, 'x');
  ASSERT_TRUE(staging.ToHost(never.data(), at, kPiece).ok());
  queue->error_slot()->kind = gpu::DeviceError::kGatherIndex;
  staging.Abandon();
  ASSERT_TRUE(staging.ToHost(parts[0].data(), at, kPiece).ok());
  ASSERT_TRUE(staging.Finish().ok());
  EXPECT_EQ(never, std::string(kPiece, 'x'));
  queue->Free(memory);
}

}  // namespace
}  // namespace tenon::kernels::testing
