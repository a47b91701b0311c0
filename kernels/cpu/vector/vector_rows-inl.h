// Loops of VectorOps over the elements of a row: sums and extremes, softmax, norms. Included once
// per instruction set.
#if defined(TENON_KERNELS_CPU_VECTOR_VECTOR_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_CPU_VECTOR_VECTOR_ROWS_INL_H_
#undef TENON_KERNELS_CPU_VECTOR_VECTOR_ROWS_INL_H_
#else
#define TENON_KERNELS_CPU_VECTOR_VECTOR_ROWS_INL_H_
#endif

#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/vector/vector_elementwise-inl.h"
#include "kernels/cpu/vector/vector_math-inl.h"
#include "kernels/cpu/vector/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::kernels::cpu::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Folds f(accumulator, element vector) with four independent accumulators.
template <typename Step, typename Join>
HWY_INLINE V Fold(const float* x, int64_t n, float start, Step step, Join join) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V a0 = Const(start), a1 = a0, a2 = a0, a3 = a0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = step(a0, hn::LoadU(d, x + i));
    a1 = step(a1, hn::LoadU(d, x + i + lanes));
    a2 = step(a2, hn::LoadU(d, x + i + 2 * lanes));
    a3 = step(a3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = step(a0, hn::LoadU(d, x + i));
  if (i < n) a1 = step(a1, LoadPart(x + i, n - i, start));
  return join(join(a0, a1), join(a2, a3));
}

struct AddStep {
  V operator()(V acc, V x) const { return hn::Add(acc, x); }
};
struct SquareStep {
  V operator()(V acc, V x) const { return hn::MulAdd(x, x, acc); }
};
struct MaxStep {
  V operator()(V acc, V x) const { return CombineTwo<BinaryOp::kMax>(acc, x); }
};
struct MinStep {
  V operator()(V acc, V x) const { return CombineTwo<BinaryOp::kMin>(acc, x); }
};

HWY_INLINE float Sum(const float* x, int64_t n) {
  return hn::GetLane(hn::SumOfLanes(D(), Fold(x, n, 0, AddStep(), AddStep())));
}

HWY_INLINE float SumOfSquares(const float* x, int64_t n) {
  return hn::GetLane(hn::SumOfLanes(D(), Fold(x, n, 0, SquareStep(), AddStep())));
}

// Do floats hold the squares that this is a sum or a mean of? Smaller ones lose bits below it.
inline bool HoldsSquares(float squares) {
  constexpr float kLeast = 0x1p-100F;
  return squares >= kLeast && squares <= std::numeric_limits<float>::max();  // NaN neither
}

// The root of the sum of squares, which may be a float where the sum is none.
inline float Length(const float* x, int64_t n) {
  const float squares = SumOfSquares(x, n);
  if (HoldsSquares(squares)) return std::sqrt(squares);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return static_cast<float>(std::sqrt(sum));
}

template <typename Step>
inline float Extreme(const float* x, int64_t n, float start) {
  HWY_ALIGN float lane[kMaxLanes];
  hn::Store(Fold(x, n, start, Step(), Step()), D(), lane);
  float result = lane[0];
  for (size_t i = 1; i < hn::Lanes(D()); ++i) {
    if (std::isnan(result)) break;
    const bool better = start < 0 ? lane[i] > result : lane[i] < result;
    if (better || std::isnan(lane[i])) result = lane[i];
  }
  return result;
}

inline float Max(const float* x, int64_t n) { return Extreme<MaxStep>(x, n, -kInfinity); }
inline float Min(const float* x, int64_t n) { return Extreme<MinStep>(x, n, kInfinity); }

// ---- rows ---------------------------------------------------------------------------------------

// The largest element, or any value at all if there is a NaN.
inline float MaxWithoutNan(const float* x, int64_t n) {
  const auto larger = [](V acc, V v) { return hn::Max(acc, v); };
  return hn::GetLane(hn::MaxOfLanes(D(), Fold(x, n, -kInfinity, larger, larger)));
}

// y (unless null) = exp(x - max); returns the sum.
template <bool kStore>
inline float ExpMinus(const float* x, float* y, int64_t n, float max) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V vmax = Const(max);
  V sum0 = hn::Zero(d), sum1 = sum0;
  const auto step = [&](int64_t i) {
    const V e = Exp(hn::Sub(hn::LoadU(d, x + i), vmax));
    if constexpr (kStore) hn::StoreU(e, d, y + i);
    return e;
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::Add(sum0, step(i));
    sum1 = hn::Add(sum1, step(i + lanes));
  }
  for (; i + lanes <= n; i += lanes) sum0 = hn::Add(sum0, step(i));
  if (i < n) {
    // Filled with -inf, whose weight is 0.
    const V e = Exp(hn::Sub(LoadPart(x + i, n - i, -kInfinity), vmax));
    if constexpr (kStore) StorePart(e, y + i, n - i);
    sum1 = hn::Add(sum1, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

// A NaN among the scores, or +inf or nothing but -inf, makes the sum NaN, and so every weight.
inline void Softmax(const float* x, float* y, int64_t n) {
  const float sum = ExpMinus<true>(x, y, n, MaxWithoutNan(x, n));
  Unary<UnaryOp::kAffine>(y, y, n, 1 / sum, 0, 0);
}

inline void LogSoftmax(const float* x, float* y, int64_t n) {
  const float max = MaxWithoutNan(x, n);
  const float log_sum = std::log(ExpMinus<false>(x, nullptr, n, max));
  const D d;
  const V vmax = Const(max), vlog = Const(log_sum);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), vmax), vlog), d, y + i);
  }
  if (i < n) {
    StorePart(hn::Sub(hn::Sub(LoadPart(x + i, n - i), vmax), vlog), y + i, n - i);
  }
}

// sum = x + skip, or x + offset + skip; returns the total.
template <bool kOffset>
HWY_INLINE float AddRows(const float* x, const float* skip, const float* offset, float* sum,
                         int64_t n) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0;
  const auto step = [&](int64_t i) {
    V first = hn::LoadU(d, x + i);
    if constexpr (kOffset) first = hn::Add(first, hn::LoadU(d, offset + i));
    const V s = hn::Add(first, hn::LoadU(d, skip + i));
    hn::StoreU(s, d, sum + i);
    return s;
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    s0 = hn::Add(s0, step(i));
    s1 = hn::Add(s1, step(i + lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, step(i));
  if (i < n) {
    V first = LoadPart(x + i, n - i);
    if constexpr (kOffset) first = hn::Add(first, LoadPart(offset + i, n - i));
    const V s = hn::Add(first, LoadPart(skip + i, n - i));
    StorePart(s, sum + i, n - i);
    s1 = hn::Add(s1, s);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

// The sum of (x - mean)^2.
HWY_INLINE float SquaredDistance(const float* x, int64_t n, float mean) {
  const V vmean = Const(mean);
  const auto square = [&](V acc, V v) {
    const V distance = hn::Sub(v, vmean);
    return hn::MulAdd(distance, distance, acc);
  };
  // The accumulators start at 0, the lanes that are missing at the end count as the mean.
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = square(s0, hn::LoadU(d, x + i));
    s1 = square(s1, hn::LoadU(d, x + i + lanes));
    s2 = square(s2, hn::LoadU(d, x + i + 2 * lanes));
    s3 = square(s3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = square(s0, hn::LoadU(d, x + i));
  if (i < n) s1 = square(s1, LoadPart(x + i, n - i, mean));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// out = (x - mean) * inverse [* scale] [+ bias].
template <bool kScale, bool kBias>
HWY_INLINE void ApplyNorm(const float* x, float* out, int64_t n, const float* scale,
                          const float* bias, float mean, float inverse) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V vmean = Const(mean), vinverse = Const(inverse);
  const auto one = [&](V v, auto load, int64_t i) {
    v = hn::Mul(hn::Sub(v, vmean), vinverse);
    if constexpr (kScale && kBias) return hn::MulAdd(v, load(scale + i), load(bias + i));
    if constexpr (kScale) v = hn::Mul(v, load(scale + i));
    if constexpr (kBias) v = hn::Add(v, load(bias + i));
    return v;
  };
  const auto load = [&](const float* p) { return hn::LoadU(d, p); };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(one(load(x + i), load, i), d, out + i);
  if (i < n) {
    const auto load_part = [&](const float* p) { return LoadPart(p, n - i); };
    StorePart(one(load_part(x + i), load_part, i), out + i, n - i);
  }
}

// The norm of a row whose sum or squares leave the range of floats, in doubles: its result may be
// finite. `out` may be x.
inline void NormInDoubles(const float* x, float* out, const NormRows& rows) {
  const auto n = static_cast<double>(rows.n);
  double total = 0, squares = 0;
  if (rows.subtract_mean) {
    for (int64_t i = 0; i < rows.n; ++i) total += static_cast<double>(x[i]);
  }
  const double mean = total / n;
  for (int64_t i = 0; i < rows.n; ++i) {
    const double distance = static_cast<double>(x[i]) - mean;
    squares += distance * distance;
  }
  const double inverse = 1 / std::sqrt(squares / n + static_cast<double>(rows.epsilon));
  for (int64_t i = 0; i < rows.n; ++i) {
    double v = (static_cast<double>(x[i]) - mean) * inverse;
    if (rows.scale != nullptr) v *= static_cast<double>(rows.scale[i]);
    if (rows.bias != nullptr) v += static_cast<double>(rows.bias[i]);
    out[i] = static_cast<float>(v);
  }
}

HWY_INLINE void Fetch(const float* x, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(x + i);
}

template <bool kMean, bool kScale, bool kBias>
inline void NormEach(const NormRows& rows) {
  const int64_t n = rows.n;
  const float *scale = rows.scale, *bias = rows.bias;
  const float over_n = 1 / static_cast<float>(n), epsilon = rows.epsilon;
  // A residual comes from far away: fetch its next row while this one's second and third pass leave
  // memory idle. Of shorter rows several are under way anyway, of longer ones the processor fetches
  // enough by itself.
  const bool fetch = rows.skip != nullptr && n >= 128 && n <= 2048;
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float* x = rows.x + r * rows.x_step;
    float* out = rows.out + r * n;
    float total = 0;
    if (rows.skip != nullptr) {
      float* sum = rows.sum != nullptr ? rows.sum + r * n : out;
      const float* skip = rows.skip + r * rows.skip_step;
      total = rows.offset != nullptr ? AddRows<true>(x, skip, rows.offset, sum, n)
                                     : AddRows<false>(x, skip, nullptr, sum, n);
      x = sum;
    } else if (kMean) {
      total = Sum(x, n);
    }
    if (fetch && r + 1 < rows.rows) {
      Fetch(rows.x + (r + 1) * rows.x_step, n);
      Fetch(rows.skip + (r + 1) * rows.skip_step, n);
    }
    const float mean = kMean ? total * over_n : 0;
    const float squares = kMean ? SquaredDistance(x, n, mean) : SumOfSquares(x, n);
    const float mean_of_squares = squares * over_n + epsilon;
    if (!HoldsSquares(mean_of_squares)) {
      NormInDoubles(x, out, rows);
      continue;
    }
    const V root = hn::Sqrt(Const(mean_of_squares));
    const float inverse = hn::GetLane(hn::Div(Const(1), root));
    ApplyNorm<kScale, kBias>(x, out, n, scale, bias, mean, inverse);
  }
}

inline void Norm(const NormRows& rows) {
  constexpr decltype(&Norm) kForms[2][2][2] = {
      {{NormEach<false, false, false>, NormEach<false, false, true>},
       {NormEach<false, true, false>, NormEach<false, true, true>}},
      {{NormEach<true, false, false>, NormEach<true, false, true>},
       {NormEach<true, true, false>, NormEach<true, true, true>}}};
  kForms[rows.subtract_mean][rows.scale != nullptr][rows.bias != nullptr](rows);
}

}  // namespace tenon::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
