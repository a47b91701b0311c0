// Along an axis: running sums, and where the largest or smallest element is.
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;

// Calls f.template operator()<T, C>() for a numeric element type and the type it is computed in.
template <typename F>
void DispatchNumbers(DType dtype, F&& f) {
  const bool floats =
      DispatchFloats(dtype, [&]<typename T>() { f.template operator()<T, float>(); });
  if (floats) return;
  if (dtype == DType::kI64) {
    f.template operator()<int64_t, int64_t>();
  } else {
    f.template operator()<int32_t, int64_t>();
  }
}

template <typename T, typename C>
__device__ inline T Rounded(C v) {
  if constexpr (sizeof(C) == sizeof(float)) {
    return Narrow<T>(v);
  } else {
    return static_cast<T>(v);
  }
}

// One thread a row: sums are added in order, whatever the shape is.
template <typename T, typename C>
__global__ void __launch_bounds__(kThreads) CumSum(TENON_GRID_CONSTANT CumSumParams p) {
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       row < p.outer * p.inner; row += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t outer = row;
    const int64_t column = DivMod(outer, p.inner), first = outer * p.n * p.inner + column;
    C total = 0;
    for (int64_t step = 0; step < p.n; ++step) {
      const int64_t at = first + (p.reverse ? p.n - 1 - step : step) * p.inner;
      const C next = total + static_cast<C>(Widen(As<T>(p.in)[at]));
      static_cast<T*>(p.out)[at] = Rounded<T>(p.exclusive ? total : next);
      total = next;
    }
  }
}

template <typename C>
struct Candidate {
  C value;
  int64_t at;  // -1: none
};

// The winner of two; a NaN wins over numbers, of equal ones the first or the last.
template <typename C>
__device__ inline Candidate<C> Winner(const ArgReduceParams& p, Candidate<C> a, Candidate<C> b) {
  if (a.at < 0) return b;
  if (b.at < 0) return a;
  if (b.at < a.at) {
    const Candidate<C> swapped = a;
    a = b;
    b = swapped;
  }
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan || b_nan) return b_nan && (!a_nan || p.last) ? b : a;
  if (a.value == b.value) return p.last ? b : a;
  return (p.max ? b.value > a.value : b.value < a.value) ? b : a;
}

// One warp a row.
template <typename T, typename C>
__global__ void __launch_bounds__(kThreads) ArgReduce(TENON_GRID_CONSTANT ArgReduceParams p) {
  constexpr int kRows = kThreads / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t rows = p.outer * p.inner;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kRows; first < rows;
       first += static_cast<int64_t>(gridDim.x) * kRows) {
    const int64_t row = first + threadIdx.x / kWarp;
    Candidate<C> best = {C(0), -1};
    if (row < rows) {
      int64_t outer = row;
      const int64_t column = DivMod(outer, p.inner), begin = outer * p.n * p.inner + column;
      for (int64_t j = lane; j < p.n; j += kWarp) {
        best = Winner(p, best, {static_cast<C>(Widen(As<T>(p.in)[begin + j * p.inner])), j});
      }
    }
    for (int d = kWarp / 2; d > 0; d /= 2) {
      const C value = __shfl_xor_sync(kAllLanes, best.value, d);
      const int64_t at = __shfl_xor_sync(kAllLanes, best.at, d);
      best = Winner(p, best, {value, at});
    }
    if (lane == 0 && row < rows) p.out[row] = best.at;
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const CumSumParams& p) {
  DispatchNumbers(p.dtype, [&]<typename T, typename C>() {
    TENON_LAUNCH((CumSum<T, C>), BlocksFor(p.outer * p.inner, kThreads), kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const ArgReduceParams& p) {
  DispatchNumbers(p.dtype, [&]<typename T, typename C>() {
    TENON_LAUNCH((ArgReduce<T, C>), BlocksFor(p.outer * p.inner, kThreads / kWarp), kThreads, 0,
                 stream, p);
  });
}

}  // namespace tenon::kernels::gpu
