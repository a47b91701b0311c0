// Matrix products against the peak of the processor and against oneDNN, on one thread.
//
//   gemm_bench [--rounds N] [--only SUBSTRING] [--type fp32|bf16|int8]
//
// oneDNN computes in the same type, but for int8 (weights only) in fp32.
// Everything is measured in turns in one run; each figure is the median over the rounds of the
// fastest of some calls, and the ratios are medians of the ratios of a round. Products are those of
// BERT, ViT, Swin, GPT-2 and ResNet-50 with constant weights, packed beforehand on both sides, and
// with what follows the sums there: a bias, and GELU or a residual.
#include <immintrin.h>
#include <omp.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dnnl.hpp"
#include "kernels/cpu/gemm/bf16.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/int8.h"
#include "kernels/cpu/isa.h"
#include "kernels/half.h"
#include "kernels/threads/thread_pool.h"

namespace {

namespace kernels = tenon::kernels;
namespace cpu = tenon::kernels::cpu;

// What follows the sum of products, beside the bias.
enum class Then : uint8_t { kNothing, kGelu, kResidual };

struct Shape {
  const char* name;
  int64_t m, n, k;
  Then then = Then::kNothing;
};

constexpr Shape kShapes[] = {
    {"bert.qkv", 128, 2304, 768},
    {"bert.proj", 128, 768, 768, Then::kResidual},
    {"bert.ffn1", 128, 3072, 768, Then::kGelu},
    {"bert.ffn2", 128, 768, 3072, Then::kResidual},
    {"bert384.proj", 384, 768, 768, Then::kResidual},
    {"bert384.ffn1", 384, 3072, 768, Then::kGelu},
    {"bert384.ffn2", 384, 768, 3072, Then::kResidual},
    {"vit.qkv", 197, 2304, 768},
    {"vit.proj", 197, 768, 768, Then::kResidual},
    {"vit.ffn1", 197, 3072, 768, Then::kGelu},
    {"vit.ffn2", 197, 768, 3072, Then::kResidual},
    {"swin1.qkv", 3136, 288, 96},
    {"swin1.proj", 3136, 96, 96},
    {"swin1.ffn1", 3136, 384, 96, Then::kGelu},
    {"swin1.ffn2", 3136, 96, 384, Then::kResidual},
    {"swin2.qkv", 784, 576, 192},
    {"swin2.ffn1", 784, 768, 192, Then::kGelu},
    {"swin2.ffn2", 784, 192, 768, Then::kResidual},
    {"swin3.qkv", 196, 1152, 384},
    {"swin3.proj", 196, 384, 384},
    {"swin3.ffn1", 196, 1536, 384, Then::kGelu},
    {"swin3.ffn2", 196, 384, 1536, Then::kResidual},
    {"swin4.qkv", 49, 2304, 768},
    {"swin4.ffn1", 49, 3072, 768, Then::kGelu},
    {"swin4.ffn2", 49, 768, 3072, Then::kResidual},
    {"rn50.1x1a", 3136, 256, 64},
    {"rn50.1x1b", 784, 512, 128},
    {"rn50.1x1c", 196, 1024, 256},
    {"rn50.1x1d", 49, 2048, 512},
    {"rn50.1x1e", 49, 512, 2048},
    {"small.m2", 2, 3072, 768},
    {"small.m4", 4, 3072, 768},
    {"small.m6", 6, 3072, 768},
    {"small.m8", 8, 3072, 768},
    {"small.m12", 12, 3072, 768},
    {"small.m16", 16, 3072, 768},
    {"square", 1024, 1024, 1024},
    {"gpt2.mlp.m1", 1, 3072, 768},
    {"gpt2.head.m1", 1, 50257, 768},
};

// Weights are packed so many times that they come from memory in each product, as those of a model
// do.
constexpr double kMemoryOfWeights = 80e6;

double ThreadSeconds() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Processor time of the fastest of some calls: others that run meanwhile disturb the rest.
double Seconds(const std::function<void()>& f, int repeats) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double start = ThreadSeconds();
    f();
    best = std::min(best, ThreadSeconds() - start);
  }
  return best;
}

// FLOP per call of the loops below.
constexpr int64_t kPeakSteps = 20000;
constexpr int kPeakChains = 24;

__attribute__((target("avx512f"))) float Peak512() {
  __m512 acc[kPeakChains];
#pragma GCC unroll 24
  for (int i = 0; i < kPeakChains; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.999f);
  for (int64_t s = 0; s < kPeakSteps; ++s) {
#pragma GCC unroll 24
    for (int i = 0; i < kPeakChains; ++i) acc[i] = _mm512_fmadd_ps(acc[i], x, x);
  }
  __m512 sum = acc[0];
#pragma GCC unroll 24
  for (int i = 1; i < kPeakChains; ++i) sum = _mm512_add_ps(sum, acc[i]);
  return _mm512_cvtss_f32(sum);
}

__attribute__((target("avx2,fma"))) float Peak256() {
  __m256 acc[12];
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) acc[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 x = _mm256_set1_ps(0.999f);
  for (int64_t s = 0; s < kPeakSteps; ++s) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) acc[i] = _mm256_fmadd_ps(acc[i], x, x);
  }
  __m256 sum = acc[0];
#pragma GCC unroll 12
  for (int i = 1; i < 12; ++i) sum = _mm256_add_ps(sum, acc[i]);
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f,avx512bf16"))) float PeakOfBf16() {
  __m512 acc[kPeakChains];
#pragma GCC unroll 24
  for (int i = 0; i < kPeakChains; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512bh x = reinterpret_cast<__m512bh>(_mm512_set1_ps(1.0f));
  for (int64_t s = 0; s < kPeakSteps; ++s) {
#pragma GCC unroll 24
    for (int i = 0; i < kPeakChains; ++i) acc[i] = _mm512_dpbf16_ps(acc[i], x, x);
  }
  __m512 sum = acc[0];
#pragma GCC unroll 24
  for (int i = 1; i < kPeakChains; ++i) sum = _mm512_add_ps(sum, acc[i]);
  return _mm512_cvtss_f32(sum);
}

volatile float sink;

double PeakGflops(bool bf16) {
  if (bf16) {
    const double flops = 2.0 * kPeakSteps * kPeakChains * 32;
    return flops / Seconds([&] { sink = PeakOfBf16(); }, 1) * 1e-9;
  }
  const bool wide = cpu::ActiveIsa() >= cpu::Isa::kAvx512;
  const double flops = 2.0 * kPeakSteps * (wide ? kPeakChains * 16 : 12 * 8);
  return flops / Seconds([&] { sink = wide ? Peak512() : Peak256(); }, 1) * 1e-9;
}

// Bytes a second that one thread reads from memory.
__attribute__((target("avx2"))) double ReadGbytes(const std::vector<float>& memory) {
  const auto read = [&]() __attribute__((target("avx2"))) {
    __m256 acc[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) acc[i] = _mm256_setzero_ps();
    for (size_t i = 0; i + 64 <= memory.size(); i += 64) {
#pragma GCC unroll 8
      for (size_t j = 0; j < 8; ++j) {
        acc[j] = _mm256_or_ps(acc[j], _mm256_loadu_ps(memory.data() + i + 8 * j));
      }
    }
#pragma GCC unroll 8
    for (int i = 1; i < 8; ++i) acc[0] = _mm256_or_ps(acc[0], acc[i]);
    sink = _mm256_cvtss_f32(acc[0]);
  };
  return static_cast<double>(memory.size()) * 4 / Seconds(read, 1) * 1e-9;
}

// In huge pages where there are some, as the executor has weights and what kernels compute.
struct Aligned {
  static constexpr size_t kHugePage = size_t{2} << 20;

  explicit Aligned(size_t floats) {
    const size_t unit = 4 * floats < kHugePage ? 64 : kHugePage;
    const size_t bytes = (4 * floats + 64 + unit - 1) / unit * unit;
    data = static_cast<float*>(std::aligned_alloc(unit, bytes));
    if (unit == kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
  }
  ~Aligned() { std::free(data); }
  Aligned(Aligned&& other) noexcept : data(std::exchange(other.data, nullptr)) {}
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  Aligned& operator=(Aligned&&) = delete;

  float* data;
};

void Fill(float* data, int64_t n) {
  uint32_t state = 1;
  for (int64_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
}

int64_t CopiesOfWeights(double bytes) {
  return std::clamp<int64_t>(static_cast<int64_t>(kMemoryOfWeights / bytes), 1, 400);
}

// The operands in plain rows; a and b hold numbers of f32 or of bf16.
struct Operands {
  void* a = nullptr;
  void* b = nullptr;
  float* bias = nullptr;
  float* residual = nullptr;
  float* c = nullptr;
};

class Onednn {
 public:
  Onednn(const Shape& s, bool bf16, const Operands& x) {
    using Memory = dnnl::memory;
    const auto type = bf16 ? Memory::data_type::bf16 : Memory::data_type::f32;
    const auto rows = Memory::format_tag::ab;
    const Memory::desc a_desc({s.m, s.k}, type, rows), b_desc({s.k, s.n}, type, rows);
    const Memory::desc c_desc({s.m, s.n}, Memory::data_type::f32, rows);
    const Memory::desc bias_desc({1, s.n}, Memory::data_type::f32, rows);
    const Memory::desc any({s.k, s.n}, type, Memory::format_tag::any);
    dnnl::post_ops then;
    if (s.then == Then::kGelu) then.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    if (s.then == Then::kResidual) then.append_binary(dnnl::algorithm::binary_add, c_desc);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(then);
    const dnnl::matmul::primitive_desc made(dnnl::matmul::desc(a_desc, any, bias_desc, c_desc),
                                            attributes, engine_);
    Memory plain(b_desc, engine_, x.b);
    const auto bytes = static_cast<double>(made.weights_desc().get_size());
    for (int64_t i = CopiesOfWeights(bytes); i > 0; --i) {
      space_.emplace_back(made.weights_desc().get_size() / sizeof(float) + 1);
      packed_.emplace_back(made.weights_desc(), engine_, space_.back().data);
      dnnl::reorder(plain, packed_.back()).execute(stream_, plain, packed_.back());
    }
    stream_.wait();
    matmul_ = dnnl::matmul(made);
    arguments_ = {{DNNL_ARG_SRC, Memory(a_desc, engine_, x.a)},
                  {DNNL_ARG_BIAS, Memory(bias_desc, engine_, x.bias)},
                  {DNNL_ARG_DST, Memory(c_desc, engine_, x.c)}};
    if (s.then == Then::kResidual) {
      arguments_[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
          Memory(c_desc, engine_, x.residual);
    }
  }
  void Run() {
    arguments_[DNNL_ARG_WEIGHTS] = packed_[++calls_ % packed_.size()];
    matmul_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Aligned> space_;
  std::vector<dnnl::memory> packed_;
  size_t calls_ = 0;
  dnnl::matmul matmul_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

double Median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<int64_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

size_t Count(int64_t n) { return static_cast<size_t>(n); }

enum class Type : uint8_t { kF32, kBf16, kInt8 };

// Ours, on one thread, with packed weights.
class Ours {
 public:
  // a and b hold floats.
  Ours(const Shape& s, Type type, const Operands& x) : s_(s), type_(type) {
    args_ = {.m = s.m, .n = s.n, .k = s.k, .a = static_cast<float*>(x.a), .a_row = s.k};
    args_.c = x.c, args_.c_row = s.n;
    args_.epilogue.bias = x.bias;
    if (s.then == Then::kGelu) args_.epilogue.activation.kind = kernels::ActivationKind::kGelu;
    if (s.then == Then::kResidual) {
      args_.epilogue.residual = x.residual, args_.epilogue.residual_row = s.n;
    }
    const auto* b = static_cast<float*>(x.b);
    for (int64_t i = CopiesOfWeights(bytes_read()); i > 0; --i) {
      copies_.emplace_back(static_cast<size_t>(bytes_read() / 4) + 16);
    }
    if (type == Type::kInt8) {
      // Any numbers do for the speed.
      std::vector<int8_t> values(Count(s.k * s.n));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(255 * b[i]);
      const std::vector<float> scale(Count(shape().groups() * s.n), 1.0f / 255);
      for (Aligned& copy : copies_) {
        cpu::PackInt8B(shape(), values.data(), s.n, 1, scale.data(), Bytes(copy.data), one_);
      }
      plan_ = cpu::PlanInt8Gemm(s.m, shape(), 1);
      space_.resize(plan_.scratch_bytes / 4 + 16);
    } else if (type == Type::kBf16) {
      std::vector<uint16_t> values(Count(s.k * s.n));
      for (size_t i = 0; i < values.size(); ++i) values[i] = kernels::BFloat16(b[i]).bits;
      for (Aligned& copy : copies_) {
        cpu::PackBf16B({values.data(), s.n, 1}, s.k, s.n, copy.data, one_);
      }
      space_.resize(Count(s.m * cpu::Bf16RowOfA(s.k)) + 16);
    } else {
      for (Aligned& copy : copies_) cpu::PackB({b, s.n, 1}, s.k, s.n, copy.data, one_);
      args_.a_packed = cpu::PackingAPays(s.m, s.n, s.k);
      if (args_.a_packed) space_.resize(Count(s.m * s.k) + 16);
    }
  }

  void Run() {
    cpu::GemmArgs g = args_;
    float* packed = copies_[++calls_ % copies_.size()].data;
    if (type_ == Type::kInt8) {
      cpu::Int8Gemm(g, shape(), Bytes(packed), plan_, Start(space_), one_);
      return;
    }
    g.b = packed;
    if (type_ == Type::kBf16) {
      cpu::ConvertToBf16(g.a, g.m, g.k, Start(space_), one_);
      g.a = Start(space_), g.a_row = cpu::Bf16RowOfA(g.k);
      g.k = cpu::Bf16Pairs(g.k), g.element = cpu::GemmElement::kBf16Pair;
    } else if (g.a_packed) {
      cpu::PackA({g.a, g.a_row, 1}, g.m, g.k, Start(space_), one_);
      g.a = Start(space_);
    }
    cpu::Gemm(g, one_);
  }

  // Bytes of weights that one product reads.
  double bytes_read() const {
    if (type_ == Type::kInt8) return static_cast<double>(cpu::PackedBytesOfInt8B(shape()));
    const int64_t k = type_ == Type::kBf16 ? cpu::Bf16Pairs(s_.k) : s_.k;
    return static_cast<double>(cpu::PackedBytesOfB(k, s_.n));
  }

 private:
  cpu::Int8Shape shape() const { return {.k = s_.k, .n = s_.n, .group = 32}; }
  static std::byte* Bytes(float* data) { return reinterpret_cast<std::byte*>(data); }
  static float* Start(std::vector<float>& v) {
    const size_t past = reinterpret_cast<uintptr_t>(v.data()) % 64;
    return v.data() + (past == 0 ? 0 : (64 - past) / sizeof(float));
  }

  Shape s_;
  Type type_;
  cpu::GemmArgs args_;
  std::vector<Aligned> copies_;
  size_t calls_ = 0;
  std::vector<float> space_;
  cpu::Int8Plan plan_;
  kernels::ThreadPool one_{1};
};

void Measure(const Shape& s, Type type, int rounds, const std::vector<float>& memory) {
  Aligned a(Count(s.m * s.k)), b(Count(s.k * s.n)), c(Count(s.m * s.n)), expected(Count(s.m * s.n));
  Aligned bias(Count(s.n)), residual(Count(s.m * s.n));
  Fill(a.data, s.m * s.k);
  Fill(b.data, s.k * s.n);
  Fill(bias.data, s.n);
  Fill(residual.data, s.m * s.n);
  Operands operands = {a.data, b.data, bias.data, residual.data, c.data};
  Ours ours(s, type, operands);
  const bool bf16 = type == Type::kBf16;
  std::vector<kernels::BFloat16> a16, b16;
  operands.c = expected.data;
  if (bf16) {
    for (int64_t i = 0; i < s.m * s.k; ++i) a16.emplace_back(a.data[i]);
    for (int64_t i = 0; i < s.k * s.n; ++i) b16.emplace_back(b.data[i]);
    operands.a = a16.data(), operands.b = b16.data();
  }
  Onednn onednn(s, bf16, operands);
  ours.Run();
  onednn.Run();
  float error = 0;
  for (int64_t i = 0; i < s.m * s.n; ++i) {
    error = std::max(error, std::abs(c.data[i] - expected.data[i]));
  }
  const double flops = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  const int repeats = std::max(3, static_cast<int>(1e9 / flops));
  std::vector<double> gflops, peak, other, to_peak, to_other, read, to_read;
  for (int r = 0; r < rounds; ++r) {
    peak.push_back(PeakGflops(bf16));
    gflops.push_back(flops / Seconds([&] { ours.Run(); }, repeats) * 1e-9);
    other.push_back(flops / Seconds([&] { onednn.Run(); }, repeats) * 1e-9);
    to_peak.push_back(gflops.back() / peak.back());
    to_other.push_back(gflops.back() / other.back());
    if (s.m > 1) continue;
    read.push_back(ReadGbytes(memory));
    to_read.push_back(gflops.back() * ours.bytes_read() / flops / read.back());
  }
  constexpr const char* kTypes[] = {"fp32", "bf16", "int8"};
  constexpr const char* kThen[] = {"", "+gelu", "+add"};
  std::printf("%-14s %s %5ld x %5ld x %5ld %-5s %8.1f %8.1f %6.2f %8.1f %6.2f  %.1e", s.name,
              kTypes[static_cast<int>(type)], static_cast<long>(s.m), static_cast<long>(s.n),
              static_cast<long>(s.k), kThen[static_cast<int>(s.then)], Median(gflops), Median(peak),
              Median(to_peak), Median(other), Median(to_other), static_cast<double>(error));
  if (s.m == 1) {
    std::printf("  weights %.1f GB/s, memory %.1f GB/s: %.2f",
                Median(gflops) * ours.bytes_read() / flops, Median(read), Median(to_read));
  }
  std::printf("\n");
  std::fflush(stdout);
}

void MeasureAll(int argc, char** argv) {
  int rounds = 15;
  std::string_view only, wanted;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--type") == 0) wanted = argv[i + 1];
  }
  omp_set_num_threads(1);
  std::printf("instructions: %s\n", cpu::Name(cpu::ActiveIsa()).data());
  std::printf("%-14s %32s %8s %8s %6s %8s %6s  %s\n", "product", "m x n x k", "GFLOP/s", "peak",
              "/peak", "oneDNN", "/oneDNN", "max |difference|");
  const std::vector<float> memory(size_t{64} << 20, 1.0f);
  const auto all = [&](Type type, std::string_view name) {
    if (!wanted.empty() && wanted != name) return;
    for (const Shape& s : kShapes) {
      if (std::string_view(s.name).find(only) != std::string_view::npos)
        Measure(s, type, rounds, memory);
    }
  };
  all(Type::kF32, "fp32");
  if (cpu::HasBf16()) all(Type::kBf16, "bf16");
  all(Type::kInt8, "int8");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    MeasureAll(argc, argv);
  } catch (const dnnl::error& error) {
    std::fprintf(stderr, "oneDNN: %s\n", error.what());
    return 1;
  }
  return 0;
}
