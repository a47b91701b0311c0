// Products of few rows. They take as long as their weights take from memory: nothing else is read
// more than once, and weights in fewer bits are widened where they are read. Sums in f32.
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

template <typename T>
__device__ inline void Store(const ThinProductParams& p, int64_t row, int64_t column, float v) {
  const int64_t at = row * p.n + column;
  if (p.bias != nullptr) v += Widen(As<T>(p.bias)[column]);
  v = Activate(p.activation, p.alpha, p.beta, v);
  if (p.residual != nullptr) v += Widen(As<T>(p.residual)[Locate(p.residual_at, at).at[0]]);
  static_cast<T*>(p.out)[at] = Narrow<T>(v);
}

// Weights are read four neighbors at a time, and many loads are under way at once, for nothing
// else takes time here. A task has the weights of some columns, and kThinRows rows; the tasks of
// the same columns lie side by side, so that what one reads is still near for the others.
constexpr int kThinRows = 4;
constexpr int kFour = 4;

__device__ inline float Wide(int8_t w) { return static_cast<float>(w); }
template <typename W>
__device__ inline float Wide(W w) {
  return Widen(w);
}
// The first `count` of four weights, zeros for the others; all four where kVector.
template <typename W, bool kVector>
__device__ inline void LoadFour(const W* w, int64_t count, float (&to)[kFour]) {
  if constexpr (kVector) {
    const Pack<W, kFour> four = *As<Pack<W, kFour>>(w);
#pragma unroll
    for (int i = 0; i < kFour; ++i) to[i] = Wide(four.at[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kFour; ++i) to[i] = i < count ? Wide(w[i]) : 0.0f;
  }
}
// As kernels of these weights multiply x.
template <typename W>
__device__ inline float Rounded(float x) {
  return std::is_same_v<W, BF16> ? Widen(Narrow<BF16>(x)) : x;
}
__device__ inline uint32_t GroupOf(const ThinProductParams& p, int64_t k) {
  return static_cast<uint32_t>(k) / static_cast<uint32_t>(p.group);
}

// Columns of w lie side by side: a block has kColumns of them, a lane four. The warps share the
// depth in stretches, and a quarter of a warp has each fourth row of its own.
constexpr int kColumns = 32;
constexpr int kQuarters = kWarp * kFour / kColumns;
template <int kRows>
constexpr int kThinWarps = kRows == 1 ? 32 : 16;  // what registers are enough for

template <typename T, typename W, bool kVector, int kRows>
__global__ void __launch_bounds__(kThinWarps<kRows>* kWarp, 1)
    ThinAcross(TENON_GRID_CONSTANT ThinProductParams p) {
  constexpr int kAll = kThinWarps<kRows>;
  __shared__ float parts[kAll][kRows][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int own = lane * kFour % kColumns;
  const int64_t stretch = (p.k + kAll - 1) / kAll;
  const int64_t end = p.k < (warp + 1) * stretch ? p.k : (warp + 1) * stretch;
  const int64_t row_groups = (p.rows + kRows - 1) / kRows;
  const int64_t tasks = (p.n + kColumns - 1) / kColumns * row_groups;
  for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    int64_t first = task;
    const int64_t first_row = DivMod(first, row_groups) * kRows, rows = p.rows - first_row;
    first *= kColumns;
    const T* const x_rows = As<T>(p.x) + first_row * p.k;
    const int64_t column = first + own, count = p.n - column;
    const W* w = As<W>(p.w) + column;
    float sums[kRows][kFour] = {};
    int64_t k = count > 0 ? warp * stretch + lane * kFour / kColumns : end;
    while (k < end) {  // the part of it with one factor a column
      const uint32_t group = GroupOf(p, k);
      const int64_t behind = (group + int64_t{1}) * p.group, stop = behind < end ? behind : end;
      float part[kRows][kFour] = {};
      [[maybe_unused]] constexpr int kAtOnce = kRows == 1 ? 8 : 4;
#pragma unroll kAtOnce
      for (; k < stop; k += kQuarters) {
        float weights[kFour];
        LoadFour<W, kVector>(w + k * p.n, count, weights);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (kRows > 1 && r >= rows) continue;
          const float x = Rounded<W>(Widen(x_rows[r * p.k + k]));
#pragma unroll
          for (int c = 0; c < kFour; ++c) part[r][c] += weights[c] * x;
        }
      }
#pragma unroll
      for (int c = 0; c < kFour; ++c) {
        float scale = 1;
        if (sizeof(W) == 1 && c < count) scale = p.scale[group * p.n + column + c];
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r][c] += part[r][c] * scale;
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kFour; ++c) {
        float sum = sums[r][c];
        for (int d = kWarp / 2; d >= kColumns / kFour; d /= 2) {
          sum += __shfl_xor_sync(kAllLanes, sum, d);
        }
        if (lane < kColumns / kFour) parts[warp][r][own + c] = sum;
      }
    }
    __syncthreads();
    if (warp < kRows && warp < rows && first + lane < p.n) {
      float sum = 0;
      for (int part = 0; part < kAll; ++part) sum += parts[part][warp][lane];
      Store<T>(p, first_row + warp, first + lane, sum);
    }
    __syncthreads();
  }
}

// Columns of w lie apart: a warp has one.
template <typename T, typename W, bool kVector, int kRows>
__global__ void __launch_bounds__(kThreads, 4) ThinAlong(TENON_GRID_CONSTANT ThinProductParams p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row_groups = (p.rows + kRows - 1) / kRows;
  for (int64_t task = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
       task < p.n * row_groups; task += static_cast<int64_t>(gridDim.x) * kWarps) {
    int64_t column = task;
    const int64_t first_row = DivMod(column, row_groups) * kRows, rows = p.rows - first_row;
    const T* const x_rows = As<T>(p.x) + first_row * p.k;
    const W* w = As<W>(p.w) + column * p.k;
    float sums[kRows] = {};
    [[maybe_unused]] constexpr int kAtOnce = !kVector ? 1 : kRows == 1 ? 4 : 2;
#pragma unroll kAtOnce
    for (int64_t k = lane * kFour; k < p.k; k += kWarp * kFour) {
      float weights[kFour];
      LoadFour<W, kVector>(w + k, p.k - k, weights);
      if constexpr (sizeof(W) == 1) {
        const float scale = p.scale[GroupOf(p, k) * p.n + column];
#pragma unroll
        for (int i = 0; i < kFour; ++i) {
          // A vector's weights have one factor.
          const bool same = kVector || k + i >= p.k;
          weights[i] *= same ? scale : p.scale[GroupOf(p, k + i) * p.n + column];
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (kRows > 1 && r >= rows) continue;
        float values[kFour];
        LoadFour<T, kVector>(x_rows + r * p.k + k, p.k - k, values);
#pragma unroll
        for (int i = 0; i < kFour; ++i) sums[r] += weights[i] * Rounded<W>(values[i]);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = WarpSum(sums[r]);
      if (lane == 0 && r < rows) Store<T>(p, first_row + r, column, sum);
    }
  }
}

template <typename T, typename W, bool kVector, int kRows>
void LaunchThin(StreamHandle stream, const ThinProductParams& p) {
  const int64_t row_groups = (p.rows + kRows - 1) / kRows;
  if (p.transpose_w) {
    TENON_LAUNCH((ThinAlong<T, W, kVector, kRows>), BlocksFor(p.n * row_groups, kWarps), kThreads,
                 0, stream, p);
  } else {
    TENON_LAUNCH((ThinAcross<T, W, kVector, kRows>),
                 BlocksFor((p.n + kColumns - 1) / kColumns * row_groups, 1),
                 kThinWarps<kRows> * kWarp, 0, stream, p);
  }
}

// Can four neighbors be read at once?
template <typename T, typename W>
bool InVectors(const ThinProductParams& p) {
  if (!IsAligned(p.w, sizeof(Pack<W, kFour>))) return false;
  if (!p.transpose_w) return p.n % kFour == 0;
  return p.k % kFour == 0 && IsAligned(p.x, sizeof(Pack<T, kFour>)) &&
         (sizeof(W) > 1 || p.group % kFour == 0 || p.group >= p.k);
}

template <typename T, typename W>
void LaunchThin(StreamHandle stream, const ThinProductParams& p) {
  const bool one = p.rows == 1;
  if (InVectors<T, W>(p)) {
    one ? LaunchThin<T, W, true, 1>(stream, p) : LaunchThin<T, W, true, kThinRows>(stream, p);
  } else {
    one ? LaunchThin<T, W, false, 1>(stream, p) : LaunchThin<T, W, false, kThinRows>(stream, p);
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const ThinProductParams& p) {
  if (p.weights == DType::kI8) {
    LaunchThin<float, int8_t>(stream, p);
  } else if (p.weights != p.dtype) {
    LaunchThin<float, BF16>(stream, p);
  } else {
    DispatchFloats(p.dtype, [&]<typename T>() { LaunchThin<T, T>(stream, p); });
  }
}

}  // namespace tenon::kernels::gpu
