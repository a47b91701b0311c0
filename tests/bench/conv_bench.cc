// Convolution kernels on the shapes of ResNet-50, MobileNetV3-L and EfficientNet-B0, against oneDNN
// in the layouts it likes best: one thread, turn by turn. Prints for each shape the rate of both in
// GFLOP/s, the share of the peak that this run has measured, and the median of the ratios of the
// rounds, oneDNN's time to ours.
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/onednn.h"
#include "kernels/op_attrs.h"
#include "kernels/registry.h"

namespace {

using tenon::DType;
using namespace tenon::kernels;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

struct Shape {
  const char* name;
  int64_t size, channels, filters, kernel, stride;
  bool depthwise = false;
  bool residual = false;
};

constexpr Shape kShapes[] = {
    {"resnet stem", 224, 3, 64, 7, 2},
    {"resnet 3x3", 56, 64, 64, 3, 1},
    {"resnet 1x1", 56, 64, 256, 1, 1},
    {"resnet 1x1", 56, 256, 64, 1, 1},
    {"resnet 3x3/2", 56, 128, 128, 3, 2},
    {"resnet 3x3", 28, 128, 128, 3, 1},
    {"resnet 1x1", 28, 512, 128, 1, 1},
    {"resnet 1x1/2", 56, 256, 512, 1, 2},
    {"resnet 3x3", 14, 256, 256, 3, 1},
    {"resnet 1x1", 14, 256, 1024, 1, 1},
    {"resnet 1x1", 14, 1024, 256, 1, 1},
    {"resnet 3x3", 7, 512, 512, 3, 1},
    {"resnet 1x1", 7, 512, 2048, 1, 1},
    {"resnet 1x1", 7, 2048, 512, 1, 1},
    {"resnet 1x1 sum", 56, 64, 256, 1, 1, false, true},
    {"resnet 1x1 sum", 28, 128, 512, 1, 1, false, true},
    {"resnet 1x1 sum", 14, 256, 1024, 1, 1, false, true},
    {"resnet 3x3/2", 14, 512, 512, 3, 2},
    {"resnet 1x1/2", 14, 1024, 2048, 1, 2},
    {"mobilenet stem", 224, 3, 16, 3, 2},
    {"mobilenet 1x1", 112, 16, 64, 1, 1},
    {"mobilenet 1x1", 56, 24, 72, 1, 1},
    {"mobilenet 1x1", 28, 40, 120, 1, 1},
    {"mobilenet 1x1", 14, 480, 112, 1, 1},
    {"mobilenet 1x1", 7, 160, 960, 1, 1},
    {"squeeze 1x1", 1, 960, 240, 1, 1},
    {"odd width", 20, 96, 96, 3, 1},
    {"depthwise 3x3", 112, 96, 96, 3, 1, true},
    {"depthwise 3x3/2", 112, 64, 64, 3, 2, true},
    {"depthwise 5x5", 28, 120, 120, 5, 1, true},
    {"depthwise 5x5", 14, 672, 672, 5, 1, true},
    {"depthwise 3x3", 14, 480, 480, 3, 1, true},
    {"depthwise 5x5", 7, 960, 960, 5, 1, true},
    {"depthwise 7x7", 14, 384, 384, 7, 1, true},
};

// 64-byte aligned, like the executor's memory.
struct Buffer {
  explicit Buffer(size_t floats)
      : data(static_cast<float*>(std::aligned_alloc(64, (floats * 4 + 127) / 64 * 64))) {
    for (size_t i = 0; i < floats; ++i) data[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1;
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* data;
};

class Serial : public ParallelFor {
 public:
  int num_threads() const override { return 1; }
  void Run(int64_t n, int64_t, void (*f)(void*, int64_t, int64_t), void* arg) override {
    f(arg, 0, n);
  }
};

int64_t OutSize(const Shape& s) { return (s.size + 2 * (s.kernel / 2) - s.kernel) / s.stride + 1; }

double Flops(const Shape& s) {
  const int64_t per_output = (s.depthwise ? 1 : s.channels) * s.kernel * s.kernel;
  return 2.0 * static_cast<double>(OutSize(s) * OutSize(s) * s.filters * per_output);
}

// The kernel that the registry chooses for fused.conv with ReLU and channels last.
class Ours {
 public:
  Ours(const KernelRegistry& registry, const Shape& s)
      : x_({1, s.size, s.size, s.channels}),
        w_({s.filters, s.depthwise ? 1 : s.channels, s.kernel, s.kernel}),
        bias_({s.filters}),
        out_({1, OutSize(s), OutSize(s), s.filters}),
        buffers_{Buffer(Size(x_)), Buffer(Size(w_)), Buffer(Size(bias_)), Buffer(Size(out_)),
                 Buffer(Size(out_))} {
    const int64_t pad = s.kernel / 2;
    attrs_.strides = {s.stride, s.stride};
    attrs_.pads = {pad, pad, pad, pad};
    attrs_.dilations = {1, 1};
    attrs_.group = s.depthwise ? s.channels : 1;
    attrs_.activation = decltype(attrs_.activation)::kRelu;
    attrs_.layout = decltype(attrs_.layout)::kNhwc;
    inputs_ = {View(0, x_), View(1, w_), View(2, bias_)};
    if (s.residual) inputs_.push_back(View(4, out_));
    outputs_ = {View(3, out_)};
    const bool constant[] = {false, true, true, false};
    const CallSignature call = {inputs_, outputs_, constant, &attrs_};
    for (const Kernel& kernel : registry.Find("fused.conv")) {
      if (kernel.backend != Backend::kCpu || (kernel.supports && !kernel.supports(call).empty())) {
        continue;
      }
      if (kernel_ == nullptr || kernel.priority > kernel_->priority) kernel_ = &kernel;
    }
    device_.parallel = &serial_;
    PrepareArgs prepare;
    prepare.inputs = inputs_;
    prepare.outputs = outputs_;
    prepare.attrs = &attrs_;
    prepare.device = &device_;
    if (kernel_->prepare && !kernel_->prepare(prepare, state_).ok()) std::abort();
    scratch_ = std::make_unique<Buffer>(prepare.scratch_bytes / 4 + 16);
  }

  void operator()() {
    RunArgs run;
    run.inputs = inputs_;
    run.outputs = outputs_;
    run.attrs = &attrs_;
    run.device = &device_;
    run.state = state_.get();
    run.scratch = scratch_->data;
    if (!kernel_->run(run).ok()) std::abort();
  }
  const char* name() const { return kernel_->name; }

 private:
  static size_t Size(const std::vector<int64_t>& dims) {
    size_t n = 1;
    for (int64_t d : dims) n *= static_cast<size_t>(d);
    return n;
  }
  TensorView View(size_t i, const std::vector<int64_t>& dims) {
    return {buffers_[i].data, DType::kF32, dims};
  }

  std::vector<int64_t> x_, w_, bias_, out_;
  Buffer buffers_[5];
  tenon::fused::ConvAttrs attrs_;
  std::vector<TensorView> inputs_, outputs_;
  const Kernel* kernel_ = nullptr;
  Serial serial_;
  DeviceContext device_;
  std::shared_ptr<KernelState> state_;
  std::unique_ptr<Buffer> scratch_;
};

class Onednn {
 public:
  Onednn(const Shape& s, dnnl::algorithm algorithm) {
    using Desc = dnnl::memory::desc;
    const auto any = [](const dnnl::memory::dims& dims) {
      return Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
    };
    const int64_t pad = s.kernel / 2, out = OutSize(s);
    const dnnl::memory::dims w =
        s.depthwise ? dnnl::memory::dims{s.channels, 1, 1, s.kernel, s.kernel}
                    : dnnl::memory::dims{s.filters, s.channels, s.kernel, s.kernel};
    dnnl::post_ops relu;
    if (s.residual) relu.append_sum(1);
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attr;
    attr.set_post_ops(relu);
    const dnnl::convolution_forward::primitive_desc made(
        {dnnl::prop_kind::forward_inference,
         algorithm,
         any({1, s.channels, s.size, s.size}),
         any(w),
         Desc({s.filters}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a),
         any({1, s.filters, out, out}),
         {s.stride, s.stride},
         {pad, pad},
         {pad, pad}},
        attr, engine_);
    conv_ = dnnl::convolution_forward(made);
    for (const auto& [argument, desc] : {std::pair{DNNL_ARG_SRC, made.src_desc()},
                                         {DNNL_ARG_WEIGHTS, made.weights_desc()},
                                         {DNNL_ARG_BIAS, made.bias_desc()},
                                         {DNNL_ARG_DST, made.dst_desc()}}) {
      dnnl::memory memory(desc, engine_);
      auto* data = static_cast<float*>(memory.get_data_handle());
      for (size_t i = 0; i < desc.get_size() / 4; ++i) {
        data[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1;
      }
      arguments_.insert({argument, memory});
    }
  }

  void operator()() {
    conv_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::convolution_forward conv_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// Multiply-adds on registers alone, in GFLOP/s.
__attribute__((target("avx512f"), noinline)) double Peak512() {
  __m512 sum[24];
  for (auto& s : sum) s = _mm512_set1_ps(0);
  __m512 a = _mm512_set1_ps(0.5f);
  const auto start = Clock::now();
  constexpr int kRounds = 100000;
  for (int i = 0; i < kRounds; ++i) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 24
    for (auto& s : sum) s = _mm512_fmadd_ps(a, a, s);
  }
  const double seconds = Seconds(start);
  for (auto& s : sum) asm volatile("" ::"v"(s));
  return 2.0 * 16 * 24 * kRounds / seconds / 1e9;
}

__attribute__((target("avx2,fma"), noinline)) double Peak256() {
  __m256 sum[12];
  for (auto& s : sum) s = _mm256_set1_ps(0);
  __m256 a = _mm256_set1_ps(0.5f);
  const auto start = Clock::now();
  constexpr int kRounds = 200000;
  for (int i = 0; i < kRounds; ++i) {
    asm volatile("" : "+x"(a));
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm256_fmadd_ps(a, a, s);
  }
  const double seconds = Seconds(start);
  for (auto& s : sum) asm volatile("" ::"x"(s));
  return 2.0 * 8 * 12 * kRounds / seconds / 1e9;
}

double Peak() {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    best = std::max(best, cpu::ActiveIsa() >= cpu::Isa::kAvx512 ? Peak512() : Peak256());
  }
  return best;
}

// Null where oneDNN does not offer it.
std::unique_ptr<Onednn> OnednnWinograd(const Shape& s) {
  if (s.depthwise || s.kernel != 3 || s.stride != 1) return nullptr;
  try {
    return std::make_unique<Onednn>(s, dnnl::algorithm::convolution_winograd);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

template <typename F>
double SecondsPerCall(F& f, int64_t calls) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) f();
  return Seconds(start) / static_cast<double>(calls);
}

double Median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<int64_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

// Arguments: a part of the lines to measure, as "3x3 56 64"; the number of rounds.
int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const cpu::OnednnThreads one_thread(1);
  KernelRegistry registry;
  RegisterCpuKernels(registry);
  const double peak = Peak();
  std::printf("peak %.0f GFLOP/s (%s)\n", peak, std::string(cpu::Name(cpu::ActiveIsa())).c_str());
  std::printf("%-17s %22s %8s %6s %8s %7s\n", "", "size channels filters", "ours", "share",
              "onednn", "ratio");
  double log_ratio = 0;
  int count = 0;
  for (const Shape& s : kShapes) {
    char dims[64];
    std::snprintf(dims, sizeof(dims), "%ld %ld %ld", s.size, s.channels, s.filters);
    if ((std::string(s.name) + " " + dims).find(only) == std::string::npos) continue;
    Ours ours(registry, s);
    Onednn onednn(s, dnnl::algorithm::convolution_direct);
    const std::unique_ptr<Onednn> winograd = OnednnWinograd(s);
    ours(), onednn();
    if (winograd != nullptr) (*winograd)();
    const double flops = Flops(s);
    const auto calls = std::max<int64_t>(1, static_cast<int64_t>(2e8 / flops));
    std::vector<double> a, b, ratio;
    for (int i = 0; i < rounds; ++i) {
      a.push_back(SecondsPerCall(ours, calls));
      b.push_back(SecondsPerCall(onednn, calls));
      if (winograd != nullptr) b.back() = std::min(b.back(), SecondsPerCall(*winograd, calls));
      ratio.push_back(b.back() / a.back());
    }
    const double mine = flops / *std::min_element(a.begin(), a.end()) / 1e9;
    const double other = flops / *std::min_element(b.begin(), b.end()) / 1e9;
    std::printf("%-17s %22s %8.0f %5.0f%% %8.0f %7.2f  %s\n", s.name, dims, mine, 100 * mine / peak,
                other, Median(ratio), ours.name());
    log_ratio += std::log(Median(ratio));
    ++count;
  }
  if (count > 0) std::printf("geometric mean of the ratios: %.3f\n", std::exp(log_ratio / count));
  return 0;
}
