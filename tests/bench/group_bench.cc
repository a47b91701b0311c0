// cpu.group by machine code and by interpretation, and its ops one by one, against loops written by
// hand with AVX-512. See README.md.
#include <cmath>
#include <cstring>

#include "kernels/cpu/pointwise/pointwise_program.h"
#include "kernels/op_attrs.h"
#include "tests/bench/row_bench.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace bench {
namespace {

using tenon::DType;
using tenon::PointwiseBody;
using tenon::kernels::RunArgs;
using tenon::kernels::TensorView;
using tenon::kernels::cpu::ActiveIsa;
using tenon::kernels::cpu::Isa;
using tenon::kernels::cpu::PointwiseProgram;

#define AVX512 [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl"), gnu::always_inline]] inline

AVX512 __m512 C(float x) { return _mm512_set1_ps(x); }
AVX512 __m512 Erf(__m512 x) {
  const __m512 z = _mm512_min_ps(_mm512_max_ps(x, C(-4)), C(4)), s = _mm512_mul_ps(z, z);
  __m512 p = C(-2.72614225801306e-10f);
  p = _mm512_fmadd_ps(p, s, C(2.77068142495902e-08f));
  p = _mm512_fmadd_ps(p, s, C(-2.10102402082508e-06f));
  p = _mm512_fmadd_ps(p, s, C(-5.69250639462346e-05f));
  p = _mm512_fmadd_ps(p, s, C(-7.34990630326855e-04f));
  p = _mm512_fmadd_ps(p, s, C(-2.95459980854025e-03f));
  p = _mm512_fmadd_ps(p, s, C(-1.60960333262415e-02f));
  __m512 q = C(-1.45660718464996e-05f);
  q = _mm512_fmadd_ps(q, s, C(-2.13374055278905e-04f));
  q = _mm512_fmadd_ps(q, s, C(-1.68282697438203e-03f));
  q = _mm512_fmadd_ps(q, s, C(-7.37332916720468e-03f));
  q = _mm512_fmadd_ps(q, s, C(-1.42647390514189e-02f));
  return _mm512_div_ps(_mm512_mul_ps(z, p), q);
}

AVX512 __m512 Exp(__m512 x) {
  x = _mm512_min_ps(_mm512_max_ps(x, C(-104)), C(89.5f));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, C(1.44269504f)), 0);
  __m512 r = _mm512_fnmadd_ps(n, C(0.693145751953125f), x);
  r = _mm512_fnmadd_ps(n, C(1.428606820309417e-6f), r);
  __m512 p = C(1.9875691500e-4f);
  p = _mm512_fmadd_ps(p, r, C(1.3981999507e-3f));
  p = _mm512_fmadd_ps(p, r, C(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, C(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, C(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, C(5.0000001201e-1f));
  p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), C(1));
  return _mm512_scalef_ps(p, n);
}

// Loops over rows of a multiple of 16 elements; b is one row.
using Loop = void (*)(const float* x, const float* b, const float* r, float* y, int64_t rows,
                      int64_t n);

[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] void GeluLoop(const float* x, const float* b,
                                                                    const float* r, float* y,
                                                                    int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, r += n, y += n) {
    for (int64_t i = 0; i < n; i += 16) {
      const __m512 v = _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(b + i));
      const __m512 half = _mm512_mul_ps(v, C(0.5f));
      const __m512 g = _mm512_fmadd_ps(half, Erf(_mm512_mul_ps(v, C(0.70710678f))), half);
      _mm512_storeu_ps(y + i, _mm512_fmadd_ps(g, C(0.5f), _mm512_loadu_ps(r + i)));
    }
  }
}

[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] void CheapLoop(const float* x, const float* b,
                                                                     const float* r, float* y,
                                                                     int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, r += n, y += n) {
    for (int64_t i = 0; i < n; i += 16) {
      __m512 v = _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(b + i));
      v = _mm512_fmsub_ps(v, C(1.5f), _mm512_loadu_ps(r + i));
      v = _mm512_max_ps(v, C(-2));
      v = _mm512_min_ps(v, C(2));
      v = _mm512_fmadd_ps(v, v, C(0.25f));
      _mm512_storeu_ps(y + i, _mm512_mul_ps(v, C(0.125f)));
    }
  }
}

[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] void SwishLoop(const float* x, const float* b,
                                                                     const float* r, float* y,
                                                                     int64_t rows, int64_t n) {
  for (int64_t row = 0; row < rows; ++row, x += n, r += n, y += n) {
    for (int64_t i = 0; i < n; i += 16) {
      const __m512 v = _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(b + i));
      const __m512 e = Exp(_mm512_sub_ps(_mm512_setzero_ps(), v));
      const __m512 s = _mm512_div_ps(v, _mm512_add_ps(e, C(1)));
      _mm512_storeu_ps(y + i, _mm512_mul_ps(s, _mm512_loadu_ps(r + i)));
    }
  }
}

struct Chain {
  const char* name;
  const char* body;  // %0: x, %1: a row, %2: like x
  Loop by_hand;
};

constexpr Chain kChains[] = {
    {"gelu(x + b) * 0.5 + r",
     "%3 = ten.add %0, %1; %4 = nn.gelu %3 {approximate = none}; %5 = ten.mul %4, 0.5; "
     "%6 = ten.add %5, %2; yield %6",
     GeluLoop},
    {"8 cheap ops",
     "%3 = ten.add %0, %1; %4 = ten.mul %3, 1.5; %5 = ten.sub %4, %2; %6 = ten.max %5, -2.0; "
     "%7 = ten.min %6, 2.0; %8 = ten.mul %7, %7; %9 = ten.add %8, 0.25; %10 = ten.mul %9, 0.125; "
     "yield %10",
     CheapLoop},
    {"silu(x + b) * r", "%3 = ten.add %0, %1; %4 = nn.silu %3; %5 = ten.mul %4, %2; yield %5",
     SwishLoop},
};

// Each step a program of its own, results in memory.
class OneByOne {
 public:
  OneByOne(const PointwiseBody& body, std::vector<TensorView> inputs, TensorView out)
      : values_(std::move(inputs)) {
    for (const tenon::PointwiseConstant& constant : body.constants) {
      buffers_.push_back(std::make_unique<Buffer>(std::vector<int64_t>{1}));
      buffers_.back()->floats()[0] = static_cast<float>(constant.real);
      values_.push_back(buffers_.back()->view());
    }
    for (const tenon::PointwiseStep& step : body.steps) {
      PointwiseBody one;
      one.steps = {step};
      std::vector<TensorView> operands;
      for (size_t i = 0; i < step.used().size(); ++i) {
        operands.push_back(values_[step.operands[i]]);
        one.inputs.push_back(DType::kF32);
        one.steps[0].operands[i] = static_cast<int>(i);
      }
      one.results = {one.first_step()};
      const bool last = &step == &body.steps.back();
      if (!last) {
        buffers_.push_back(
            std::make_unique<Buffer>(std::vector<int64_t>(out.shape.begin(), out.shape.end())));
      }
      values_.push_back(last ? out : buffers_.back()->view());
      programs_.emplace_back(one, operands, out.shape);
      operands_.push_back(std::move(operands));
    }
    first_ = values_.size() - programs_.size();
  }

  void Run(tenon::kernels::DeviceContext& device) const {
    for (size_t i = 0; i < programs_.size(); ++i) {
      programs_[i].Run({.inputs = operands_[i],
                        .outputs = std::span(&values_[first_ + i], 1),
                        .device = &device});
    }
  }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<TensorView> values_;
  std::vector<std::vector<TensorView>> operands_;
  std::vector<PointwiseProgram> programs_;
  size_t first_ = 0;
};

void Measure(const Chain& chain, int64_t rows, int64_t n, tenon::kernels::ThreadPool& pool) {
  Buffer x({rows, n}), b({n}), r({rows, n}), hand({rows, n}), made({rows, n});
  tenon::kernels::DeviceContext device = {&pool};
  const std::vector<TensorView> inputs = {x.view(), b.view(), r.view()};
  const TensorView out = made.view();
  PointwiseBody body;
  std::string error;
  const DType dtypes[] = {DType::kF32, DType::kF32, DType::kF32};
  if (!tenon::ParsePointwise(chain.body, dtypes, body, error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  const PointwiseProgram compiled(body, inputs, out.shape);
  const PointwiseProgram interpreted(body, inputs, out.shape, Isa::kPortable);
  const OneByOne one_by_one(body, inputs, out);
  const RunArgs args = {.inputs = inputs, .outputs = std::span(&out, 1), .device = &device};
  chain.by_hand(x.floats(), b.floats(), r.floats(), hand.floats(), rows, n);
  compiled.Run(args);
  for (int64_t i = 0; i < rows * n; ++i) {
    if (std::fabs(hand.floats()[i] - made.floats()[i]) > 1e-5f) {
      std::fprintf(stderr, "%s: element %ld is %g, by hand %g\n", chain.name, static_cast<long>(i),
                   made.floats()[i], hand.floats()[i]);
      std::exit(1);
    }
  }
  const std::vector<double> seconds = Interleave(
      {[&] { chain.by_hand(x.floats(), b.floats(), r.floats(), hand.floats(), rows, n); },
       [&] { compiled.Run(args); }, [&] { interpreted.Run(args); },
       [&] { one_by_one.Run(device); }});
  std::printf("%-24s %5ld x %-5ld %9.1f us   %s %5.2f   tiles %5.2f   op by op %5.2f\n", chain.name,
              static_cast<long>(rows), static_cast<long>(n), seconds[0] * 1e6,
              compiled.compiled() ? "machine code" : "(interpreted)", seconds[1] / seconds[0],
              seconds[2] / seconds[0], seconds[3] / seconds[0]);
}

double MicrosecondsToCompile(const Chain& chain) {
  PointwiseBody body;
  std::string error;
  const DType dtypes[] = {DType::kF32, DType::kF32, DType::kF32};
  tenon::ParsePointwise(chain.body, dtypes, body, error);
  const bool scalar[] = {false, false, false};
  std::vector<double> times;
  for (int i = 0; i < 25; ++i) {
    times.push_back(
        SecondsOf([&] { tenon::kernels::cpu::PointwiseJit::Make(body, scalar, ActiveIsa()); }, 1));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e6;
}

// What a kernel of one op costs on few elements.
void MeasureSmall(tenon::kernels::ThreadPool& pool) {
  const Buffer x({16}), row({16}), y({16});
  const Call neg("cpu.neg", {x.view()}, {y.view()}, nullptr, pool);
  const Call add("cpu.add", {x.view(), row.view()}, {y.view()}, nullptr, pool);
  const Call tanh("cpu.tanh", {x.view()}, {y.view()}, nullptr, pool);
  const std::vector<double> seconds =
      Interleave({[&] { neg.Run(); }, [&] { add.Run(); }, [&] { tanh.Run(); }});
  std::printf("16 floats: neg %.1f ns, add %.1f ns, tanh %.1f ns\n", seconds[0] * 1e9,
              seconds[1] * 1e9, seconds[2] * 1e9);
}

int Main() {
  if (tenon::kernels::cpu::DetectedIsa() < Isa::kAvx512) {
    std::printf("the loops to compare with need AVX-512\n");
    return 0;
  }
  tenon::kernels::ThreadPool pool(1);
  MeasureSmall(pool);
  std::printf("time by hand; the others relative to it\n");
  for (const Chain& chain : kChains) {
    for (const auto& [rows, n] : {std::pair<int64_t, int64_t>{8, 512}, {128, 3072}, {4096, 4096}}) {
      Measure(chain, rows, n, pool);
    }
    std::printf("%-24s compiled in %.0f us\n", chain.name, MicrosecondsToCompile(chain));
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main() { return bench::Main(); }

#else

int main() { return 0; }

#endif
