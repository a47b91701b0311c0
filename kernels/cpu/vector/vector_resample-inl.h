// Loops of VectorOps that sum weighted rows and resample along an axis. Included once per
// instruction set.
#if defined(TENON_KERNELS_CPU_VECTOR_VECTOR_RESAMPLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_CPU_VECTOR_VECTOR_RESAMPLE_INL_H_
#undef TENON_KERNELS_CPU_VECTOR_VECTOR_RESAMPLE_INL_H_
#else
#define TENON_KERNELS_CPU_VECTOR_VECTOR_RESAMPLE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/vector/vector_elementwise-inl.h"
#include "kernels/cpu/vector/vector_math-inl.h"
#include "kernels/cpu/vector/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::kernels::cpu::HWY_NAMESPACE {

// y = sum(load) for n elements; `load` reads a vector of a row.
template <typename Sum>
HWY_INLINE void SumRows(Sum sum, float* y, int64_t n) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(sum([&](const float* row) { return hn::LoadU(d, row + i); }), d, y + i);
  }
  if (i < n) {
    StorePart(sum([&](const float* row) { return LoadPart(row + i, n - i); }), y + i, n - i);
  }
}

// row(t) is where row t begins.
template <int kCount, typename Row>
HWY_INLINE void SumFew(Row row, const float* weights, float* y, int64_t n) {
  const float* x[kCount];
  V w[kCount];
  for (int t = 0; t < kCount; ++t) x[t] = row(t), w[t] = Const(weights[t]);
  SumRows(
      [&](auto load) {
        V s = hn::Mul(w[0], load(x[0]));
        for (int t = 1; t < kCount; ++t) s = hn::MulAdd(w[t], load(x[t]), s);
        return s;
      },
      y, n);
}

template <typename Row>
HWY_INLINE void SumMany(Row row, const float* weights, int64_t count, float* y, int64_t n) {
  SumRows(
      [&](auto load) {
        V s = hn::Zero(D());
        for (int64_t t = 0; t < count; ++t) s = hn::MulAdd(Const(weights[t]), load(row(t)), s);
        return s;
      },
      y, n);
}

// Interpolation has 2 and 4 taps, 1 at the edges and where it meets an element.
template <typename Row>
HWY_INLINE void SumAny(Row row, const float* weights, int64_t count, float* y, int64_t n) {
  switch (count) {
    case 1:
      return SumFew<1>(row, weights, y, n);
    case 2:
      return SumFew<2>(row, weights, y, n);
    case 4:
      return SumFew<4>(row, weights, y, n);
    default:
      return SumMany(row, weights, count, y, n);
  }
}

inline void WeightedSum(const float* const* x, const float* weights, int64_t count, float* y,
                        int64_t n) {
  SumAny([x](int64_t t) { return x[t]; }, weights, count, y, n);
}

inline void ResampleFloats(const float* x, const WeightedTaps& taps, float* y) {
  for (int64_t o = 0; o < taps.positions; ++o) {
    const int64_t begin = taps.first[o], end = taps.first[o + 1];
    if (end - begin == 2) {
      y[o] = taps.weight[begin] * x[taps.index[begin]] +
             taps.weight[begin + 1] * x[taps.index[begin + 1]];
      continue;
    }
    float sum = 0;
    for (int64_t t = begin; t < end; ++t) sum += taps.weight[t] * x[taps.index[t]];
    y[o] = sum;
  }
}

inline void Resample(const float* x, const WeightedTaps& taps, int64_t inner, float* y) {
  if (inner == 1) return ResampleFloats(x, taps, y);
  for (int64_t o = 0; o < taps.positions; ++o, y += inner) {
    const int64_t begin = taps.first[o];
    const int64_t* index = taps.index + begin;
    SumAny([=](int64_t t) { return x + index[t] * inner; }, taps.weight + begin,
           taps.first[o + 1] - begin, y, inner);
  }
}

}  // namespace tenon::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
