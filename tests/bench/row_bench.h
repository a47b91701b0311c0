// What attention_bench, recurrence_bench and row_kernels_bench share: kernel calls on owned
// buffers, the limits of this machine, and rounds in which all candidates take turns.
#ifndef TENON_TESTS_BENCH_ROW_BENCH_H_
#define TENON_TESTS_BENCH_ROW_BENCH_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dnnl.hpp"
#include "kernels/cpu/isa.h"
#include "kernels/kernel.h"
#include "kernels/registry.h"
#include "kernels/threads/thread_pool.h"

namespace bench {

// Floats on a cache line's boundary, filled with a fixed sequence between -1 and 1.
class Buffer {
 public:
  explicit Buffer(std::vector<int64_t> shape) : shape_(std::move(shape)) {
    int64_t n = 1;
    for (int64_t d : shape_) n *= d;
    data_.reset(static_cast<float*>(
        std::aligned_alloc(64, (static_cast<size_t>(n) * sizeof(float) + 127) / 64 * 64)));
    uint32_t state = 1;
    for (int64_t i = 0; i < n; ++i) {
      state = state * 1664525u + 1013904223u;
      floats()[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    }
  }
  tenon::kernels::TensorView view() const { return {data_.get(), tenon::DType::kF32, shape_}; }
  float* floats() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::vector<int64_t> shape_;
  std::unique_ptr<float, Free> data_;
};

// A prepared kernel. The buffers must outlive it; the inputs of these numbers are constant.
class Call {
 public:
  Call(const char* kernel, std::vector<tenon::kernels::TensorView> inputs,
       std::vector<tenon::kernels::TensorView> outputs, const void* attrs,
       tenon::kernels::ThreadPool& pool, std::vector<size_t> constant = {})
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), device_{&pool} {
    static const auto* const registry = [] {
      auto* made = new tenon::kernels::KernelRegistry;
      tenon::kernels::RegisterCpuKernels(*made);
      return made;
    }();
    kernel_ = registry->FindByName(kernel);
    if (kernel_ == nullptr) std::fprintf(stderr, "no kernel %s\n", kernel), std::exit(1);
    args_ = {.inputs = inputs_, .outputs = outputs_, .attrs = attrs, .device = &device_};
    if (kernel_->prepare != nullptr) {
      std::vector<tenon::kernels::TensorView> shapes = inputs_;
      for (size_t i = 0; i < shapes.size(); ++i) {
        if (std::find(constant.begin(), constant.end(), i) == constant.end()) {
          shapes[i].data = nullptr;
        }
      }
      tenon::kernels::PrepareArgs prepare{
          .inputs = shapes, .outputs = outputs_, .attrs = attrs, .device = &device_};
      Check(kernel_->prepare(prepare, state_));
      scratch_bytes_ = prepare.scratch_bytes;
      scratch_ = std::make_unique<Buffer>(
          std::vector<int64_t>{static_cast<int64_t>(scratch_bytes_ / 4 + 16)});
      args_.scratch = scratch_->floats();
      args_.state = state_.get();
    }
  }
  void Run() const { Check(kernel_->run(args_)); }
  size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  static void Check(const tenon::kernels::KernelStatus& status) {
    if (!status.ok())
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str()), std::exit(1);
  }
  const tenon::kernels::Kernel* kernel_;
  std::vector<tenon::kernels::TensorView> inputs_, outputs_;
  tenon::kernels::DeviceContext device_;
  std::shared_ptr<tenon::kernels::KernelState> state_;
  size_t scratch_bytes_ = 0;
  std::unique_ptr<Buffer> scratch_;
  tenon::kernels::RunArgs args_;
};

using Clock = std::chrono::steady_clock;

inline double SecondsOf(const std::function<void()>& f, int64_t times) {
  const auto begin = Clock::now();
  for (int64_t i = 0; i < times; ++i) f();
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(times);
}

// Median seconds of each candidate over rounds in which all take turns.
inline std::vector<double> Interleave(const std::vector<std::function<void()>>& candidates,
                                      int rounds = 25, double slice = 2e-3) {
  std::vector<int64_t> times;
  std::vector<std::vector<double>> seconds(candidates.size());
  for (const auto& f : candidates) {
    f();
    times.push_back(std::max<int64_t>(1, static_cast<int64_t>(slice / SecondsOf(f, 1))));
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      seconds[i].push_back(SecondsOf(candidates[i], times[i]));
    }
  }
  std::vector<double> medians;
  for (auto& s : seconds) {
    std::sort(s.begin(), s.end());
    medians.push_back(s[s.size() / 2]);
  }
  return medians;
}

// Independent multiply-adds in registers; how many operations that were.
template <typename Vec>
[[gnu::always_inline]] inline double MultiplyAdds(int64_t rounds) {
  Vec a[12];
  const Vec x = Vec{} + 0.999f, y = Vec{} + 1e-6f;
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) a[i] = Vec{} + static_cast<float>(i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) a[i] = a[i] * x + y;
  }
#pragma GCC unroll 12
  for (int i = 1; i < 12; ++i) a[0] += a[i];
  volatile float keep = a[0][0];
  (void)keep;
  return 12.0 * 2 * static_cast<double>(sizeof(Vec) / sizeof(float)) * static_cast<double>(rounds);
}

#if defined(__x86_64__)
[[gnu::target("avx512f"), gnu::noinline]] inline double MultiplyAddsAvx512(int64_t rounds) {
  typedef float Vec __attribute__((vector_size(64)));
  return MultiplyAdds<Vec>(rounds);
}
[[gnu::target("avx2,fma"), gnu::noinline]] inline double MultiplyAddsAvx2(int64_t rounds) {
  typedef float Vec __attribute__((vector_size(32)));
  return MultiplyAdds<Vec>(rounds);
}
#endif

// The same with the instructions that the kernels use.
inline double MultiplyAdd(int64_t rounds) {
  using tenon::kernels::cpu::ActiveIsa;
  using tenon::kernels::cpu::Isa;
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return MultiplyAddsAvx512(rounds);
  if (ActiveIsa() >= Isa::kAvx2) return MultiplyAddsAvx2(rounds);
#endif
  typedef float Vec __attribute__((vector_size(16)));
  return MultiplyAdds<Vec>(rounds);
}

// oneDNN's side: one engine, one stream, primitives with their arguments.
struct Onednn {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory Memory(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides, float* p) {
    return dnnl::memory({dims, dnnl::memory::data_type::f32, strides}, engine, p);
  }
};

}  // namespace bench

#endif  // TENON_TESTS_BENCH_ROW_BENCH_H_
