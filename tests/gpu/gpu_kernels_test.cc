// Every GPU kernel, its device code emulated on the CPU, against the reference kernel of its op on
// random calls.
#include "kernels/gpu/gpu_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "executor/gpu/cuda_plugin.h"
#include "kernels/gpu/launch.h"
#include "kernels/gpu/staging.h"
#include "kernels/op_attrs.h"
#include "tests/gpu/emulated_device.h"
#include "tests/kernels/case_generators.h"

namespace tenon::kernels::testing {
namespace {

constexpr int kCases = 40;
constexpr int kFewestRun = 10;

const KernelRegistry& GpuRegistry() {
  static const KernelRegistry* const registry = [] {
    auto* made = new KernelRegistry;
    RegisterGpuKernels(*made);
    return made;
  }();
  return *registry;
}

std::vector<const Kernel*> GpuKernels() {
  std::vector<const Kernel*> kernels;
  for (const std::string& op : GpuRegistry().ops()) {
    if (op == "kernel.copy") continue;  // below
    for (const Kernel& kernel : GpuRegistry().Find(op)) kernels.push_back(&kernel);
  }
  return kernels;
}

const Kernel* ReferenceOf(std::string_view op) {
  for (const Kernel& candidate : Registry().Find(op)) {
    if (std::strncmp(candidate.name, "ref.", 4) == 0) return &candidate;
  }
  return nullptr;
}

// Do the op's attributes name element types?
bool NamesElementTypes(std::string_view op) { return op == "ten.cast" || op == "fused.group"; }

// A tensor of f32 with elements of another type; others as they are.
Tensor WithElements(const Tensor& t, DType dtype) {
  if (t.dtype != DType::kF32 || dtype == DType::kF32) return t;
  Tensor made(dtype, t.shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const float v = t.data<float>()[i];
    if (dtype == DType::kF16) {
      made.data<Half>()[i] = Half(v);
    } else if (dtype == DType::kBF16) {
      made.data<BFloat16>()[i] = BFloat16(v);
    } else if (dtype == DType::kI32) {
      made.data<int32_t>()[i] = static_cast<int32_t>(4 * v);
    } else {
      made.data<int64_t>()[i] = static_cast<int64_t>(4 * v);
    }
  }
  return made;
}
// The case with elements of another type in place of f32. REQUIRES: !NamesElementTypes.
Case WithElements(const Case& c, DType dtype) {
  Case made = c;
  for (Tensor& t : made.inputs) t = WithElements(t, dtype);
  for (Tensor& t : made.outputs) t = WithElements(t, dtype);
  return made;
}

float FloatAt(const Tensor& t, int64_t i) {
  if (t.dtype == DType::kF16) return t.data<Half>()[i];
  if (t.dtype == DType::kBF16) return t.data<BFloat16>()[i];
  return t.data<float>()[i];
}

::testing::AssertionResult Same(const Tensor& actual, const Tensor& expected) {
  const bool floats = expected.dtype == DType::kF32 || expected.dtype == DType::kF16 ||
                      expected.dtype == DType::kBF16;
  if (!floats) {
    if (expected.bytes == 0 ||
        std::memcmp(actual.data<void>(), expected.data<void>(), expected.bytes) == 0) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "bytes differ";
  }
  // Of f16 and bf16: a few units in the last place, as far as the largest value has them.
  const float step = expected.dtype == DType::kF32   ? 0
                     : expected.dtype == DType::kF16 ? 0x1p-10f
                                                     : 0x1p-7f;
  float largest = 0;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    if (std::isfinite(FloatAt(expected, i))) {
      largest = std::max(largest, std::fabs(FloatAt(expected, i)));
    }
  }
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const float a = FloatAt(actual, i), b = FloatAt(expected, i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (!(std::fabs(a - b) <= (5e-6f + step) * largest + (3e-5f + 2 * step) * std::fabs(b))) {
      return ::testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << b;
    }
  }
  return ::testing::AssertionSuccess();
}

// A case whose tensors are in the device's memory, but for what the kernel reads on the host.
class OnDevice {
 public:
  OnDevice(gpu::Device& device, const Kernel& kernel, const Case& c) : kernel_(kernel), case_(c) {
    Expect(device.NewQueue(&queue_));
    staging_ = std::make_unique<gpu::Staging>(*queue_);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      TensorView view = c.inputs[i].view();
      if (view.present() && ((kernel.host_inputs >> i) & 1) == 0) {
        view.data = Allocate(c.inputs[i]);
        Expect(staging_->ToDevice(view.data, c.inputs[i].data<void>(), c.inputs[i].bytes));
      }
      inputs_.push_back(view);
    }
    for (const Tensor& t : c.outputs) {
      TensorView view = t.view();
      view.data = Allocate(t);
      // Elements that the kernel leaves out show.
      Expect(staging_->ToDevice(view.data, std::string(t.bytes, '\x7f').data(), t.bytes));
      outputs_.push_back(view);
    }
  }
  ~OnDevice() {
    staging_.reset();
    for (void* memory : memory_) queue_->Free(memory);
  }

  // `share`: the input whose memory the first result takes, or -1. Afterwards the results are in
  // results().
  KernelStatus Run(int share = -1) {
    ThreadPool pool(1);
    DeviceContext context = {.parallel = &pool, .gpu = queue_.get(), .staging = staging_.get()};
    std::vector<TensorView> outputs = outputs_;
    if (share >= 0) outputs[0].data = inputs_[static_cast<size_t>(share)].data;
    std::shared_ptr<KernelState> state;
    size_t scratch_bytes = 0;
    if (kernel_.prepare != nullptr) {
      PrepareArgs prepare;
      prepare.inputs = inputs_;
      prepare.outputs = outputs;
      prepare.attrs = case_.attrs.get();
      prepare.device = &context;
      Expect(kernel_.prepare(prepare, state));
      scratch_bytes = prepare.scratch_bytes;
    }
    RunArgs args;
    if (scratch_bytes > 0) args.scratch = Allocate(scratch_bytes);
    args.state = state.get();
    args.inputs = inputs_;
    args.outputs = outputs;
    args.attrs = case_.attrs.get();
    args.device = &context;
    KernelStatus status = kernel_.run(args);
    for (size_t i = 0; i < outputs.size() && status.ok(); ++i) {
      status =
          staging_->ToHost(case_.outputs[i].data<void>(), outputs[i].data, case_.outputs[i].bytes);
    }
    return status.ok() ? staging_->Finish() : std::move(status);
  }
  const std::vector<Tensor>& results() const { return case_.outputs; }

 private:
  static void Expect(const KernelStatus& status) { EXPECT_TRUE(status.ok()) << status.message(); }
  void* Allocate(const Tensor& t) { return Allocate(t.bytes); }
  void* Allocate(size_t bytes) {
    void* memory = nullptr;
    Expect(queue_->Allocate(bytes, &memory));
    memory_.push_back(memory);
    return memory;
  }

  const Kernel& kernel_;
  Case case_;
  std::unique_ptr<gpu::Queue> queue_;
  std::unique_ptr<gpu::Staging> staging_;
  std::vector<void*> memory_;
  std::vector<TensorView> inputs_, outputs_;
};

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
    OnDevice run(device, kernel, want);
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
  EXPECT_EQ(status.message(), "ten.gather: index -3 is out of range for 2 rows");
  // The report is read once.
  c.inputs[1] = Tensor::Of<int64_t>({3}, {1, -2, 0});
  OnDevice right(device, GpuRegistry().Find("ten.gather")[0], c);
  ASSERT_TRUE(right.Run().ok());
  EXPECT_EQ(right.results()[0].values<float>(), (std::vector<float>{4, 5, 6, 1, 2, 3, 1, 2, 3}));
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

// Few rows times many weights: whole vectors of them, ends that are none, factors that change
// within a vector.
TEST(GpuKernelTest, CompressedWeightsOfFewRowsMayBeDeep) {
  struct Size {
    int64_t rows, k, n, group;
  };
  for (const Size& s : {Size{1, 700, 36, 32}, {1, 701, 33, 7}, {3, 260, 40, 0}, {4, 517, 70, 50}}) {
    for (const bool transpose : {false, true}) {
      for (const bool int8 : {true, false}) {
        SCOPED_TRACE(std::to_string(s.k) + (transpose ? " transposed" : "") + (int8 ? " i8" : ""));
        Random random(11);
        const Shape shape = transpose ? Shape{s.n, s.k} : Shape{s.k, s.n};
        const Tensor values = random.Floats(shape, -1, 1);
        Tensor w(int8 ? DType::kI8 : DType::kBF16, shape), scale;
        for (int64_t i = 0; i < w.numel(); ++i) {
          if (int8) {
            w.data<int8_t>()[i] = static_cast<int8_t>(127 * values.data<float>()[i]);
          } else {
            w.data<BFloat16>()[i] = BFloat16(values.data<float>()[i]);
          }
        }
        fused::CompressedLinearAttrs attrs;
        attrs.transpose_w = transpose;
        if (int8) {
          attrs.group = s.group;
          scale = random.Floats({s.group == 0 ? 1 : (s.k + s.group - 1) / s.group, s.n}, 0.5f, 1);
        }
        Case c;
        c.inputs = {random.Floats({s.rows, s.k}, -1, 1), w, random.Floats({s.n}), Tensor(), scale};
        c.outputs = {Tensor(DType::kF32, {s.rows, s.n})};
        c.attrs = MakeAttrs(attrs);
        ASSERT_TRUE(RunCase(*ReferenceOf("fused.compressed_linear"), c).ok());
        gpu::testing::EmulatedDevice device;
        OnDevice run(device, GpuRegistry().Find("fused.compressed_linear")[0], c);
        ASSERT_TRUE(run.Run().ok());
        EXPECT_TRUE(Same(run.results()[0], c.outputs[0]));
      }
    }
  }
}

// Blocks of few and of many rows, heads of each width, whole and partly visible tiles of keys.
TEST(GpuKernelTest, AttentionOfManyRowsIsComputedInTiles) {
  struct Size {
    int64_t batch, heads, q_len, k_len, dim, v_dim, window;
  };
  for (const Size& s : {Size{11, 12, 70, 70, 9, 12, 0}, Size{11, 12, 66, 20, 33, 40, 0},
                        Size{1, 2, 150, 300, 8, 20, 90}, Size{2, 3, 40, 140, 60, 20, 33},
                        Size{1, 2, 34, 70, 70, 128, 0}}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::to_string(s.dim) + (causal ? " causal" : ""));
      Random random(5);
      fused::AttentionAttrs attrs;
      attrs.num_heads = attrs.kv_num_heads = s.heads;
      attrs.scale = 0.4f;
      attrs.causal = causal;
      attrs.window = s.window;
      attrs.q_layout = fused::AttentionQLayout::kBhsd;
      attrs.k_layout = fused::AttentionKLayout::kBhsd;
      attrs.v_layout = fused::AttentionVLayout::kBhsd;
      attrs.out_layout = fused::AttentionOutLayout::kBshd;
      Case c;
      c.inputs = {random.Floats({s.batch, s.heads, s.q_len, s.dim}, -1, 1),
                  random.Floats({s.batch, s.heads, s.k_len, s.dim}, -1, 1),
                  random.Floats({s.batch, s.heads, s.k_len, s.v_dim})};
      c.inputs.resize(6);
      c.outputs = {Tensor(DType::kF32, {s.batch, s.q_len, s.heads, s.v_dim})};
      c.attrs = MakeAttrs(attrs);
      ASSERT_TRUE(RunCase(*ReferenceOf("fused.attention"), c).ok());
      gpu::testing::EmulatedDevice device;
      OnDevice run(device, GpuRegistry().Find("fused.attention")[0], c);
      ASSERT_TRUE(run.Run().ok());
      EXPECT_TRUE(Same(run.results()[0], c.outputs[0]));
    }
  }
}

// The kernel for products that the library does not do, against the loops of the emulated device.
TEST(MatMulTest, AgreesWithLoops) {
  gpu::testing::EmulatedDevice device;
  std::unique_ptr<gpu::Queue> queue;
  ASSERT_TRUE(device.NewQueue(&queue).ok());
  gpu::Staging staging(*queue);
  for (uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    gpu::MatMulParams p = {};
    p.dtype = seed % 3 == 0 ? DType::kF32 : seed % 3 == 1 ? DType::kF16 : DType::kBF16;
    p.transpose_a = random.Chance(50);
    p.transpose_b = random.Chance(50);
    p.m = random.Int(1, 130);
    p.n = random.Int(1, 130);
    p.k = random.Int(1, 40);
    p.batch = random.Int(1, 3);
    p.a_stride = random.Chance(50) ? p.m * p.k : 0;
    p.b_stride = random.Chance(50) ? p.k * p.n : 0;
    p.out_stride = p.m * p.n;
    p.activation = random.Chance(50) ? ActivationKind::kRelu : ActivationKind::kNone;
    std::vector<void*> memory;
    const auto make = [&](int64_t n) {
      const Tensor t = WithElements(random.Floats({n}), p.dtype);
      memory.push_back(nullptr);
      EXPECT_TRUE(queue->Allocate(t.bytes, &memory.back()).ok());
      EXPECT_TRUE(staging.ToDevice(memory.back(), t.data<void>(), t.bytes).ok());
      return memory.back();
    };
    p.a = make(p.batch * p.m * p.k);
    p.b = make(p.batch * p.k * p.n);
    p.out = make(p.batch * p.m * p.n);
    if (random.Chance(50)) p.bias = make(p.n);
    if (random.Chance(50)) p.residual = make(p.batch * p.m * p.n);
    ASSERT_TRUE(queue->Launch(p).ok());
    Tensor expected(p.dtype, {p.batch, p.m, p.n}), actual(p.dtype, {p.batch, p.m, p.n});
    ASSERT_TRUE(staging.ToHost(expected.data<void>(), p.out, expected.bytes).ok());
    ASSERT_TRUE(staging.Finish().ok());
    p.out = make(p.batch * p.m * p.n);
    gpu::LaunchOn(nullptr, p);
    ASSERT_TRUE(staging.ToHost(actual.data<void>(), p.out, actual.bytes).ok());
    ASSERT_TRUE(staging.Finish().ok());
    EXPECT_TRUE(Same(actual, expected));
    for (void* at : memory) queue->Free(at);
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
