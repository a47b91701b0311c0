// Products with weights in fewer bits, which are widened where they are read: as many bytes come
// from memory as the weights have. Sums in f32.
#include "kernels/gpu/product_tile.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

// x as it is multiplied.
__device__ inline float Operand(const CompressedParams& p, int64_t row, int64_t k) {
  const float v = As<float>(p.x)[row * p.k + k];
  return p.scale == nullptr ? Widen(Narrow<BF16>(v)) : v;
}
__device__ inline float Weight(const CompressedParams& p, int64_t k, int64_t column) {
  const int64_t at = p.transpose_w ? column * p.k + k : k * p.n + column;
  if (p.scale == nullptr) return Widen(As<BF16>(p.w)[at]);
  int64_t group = k;
  DivMod(group, p.group);
  return static_cast<float>(As<int8_t>(p.w)[at]) * p.scale[group * p.n + column];
}
__device__ inline void Store(const CompressedParams& p, int64_t row, int64_t column, float v) {
  const int64_t at = row * p.n + column;
  if (p.bias != nullptr) v += p.bias[column];
  v = Activate(p.activation, p.alpha, p.beta, v);
  if (p.residual != nullptr) v += p.residual[Locate(p.residual_at, at).at[0]];
  p.out[at] = v;
}

constexpr int kSize = ProductTile::kSize, kDepth = ProductTile::kDepth;
static_assert(ProductTile::kThreads == kThreads);

__global__ void __launch_bounds__(kThreads) Tiled(TENON_GRID_CONSTANT CompressedParams p) {
  __shared__ ProductTile tile;
  const int64_t tiles = TilesOf(p.rows, p.n), columns = (p.n + kSize - 1) / kSize;
  for (int64_t task = blockIdx.x; task < tiles; task += gridDim.x) {
    int64_t i0 = task;
    const int64_t j0 = DivMod(i0, columns) * kSize;
    i0 *= kSize;
    ProductTile::Sums sums = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
      __syncthreads();  // the parts before are no longer read
      for (int at = static_cast<int>(threadIdx.x); at < ProductTile::kElements; at += kThreads) {
        const int d = at % kDepth, i = at / kDepth;
        tile.a[d][i] = i0 + i < p.rows && k0 + d < p.k ? Operand(p, i0 + i, k0 + d) : 0.0f;
        const int e = p.transpose_w ? at % kDepth : at / kSize;
        const int j = p.transpose_w ? at / kDepth : at % kSize;
        tile.b[e][j] = j0 + j < p.n && k0 + e < p.k ? Weight(p, k0 + e, j0 + j) : 0.0f;
      }
      __syncthreads();
      tile.AddTo(sums);
    }
    ProductTile::ForEach(sums, p.rows - i0, p.n - j0,
                         [&](int i, int j, float sum) { Store(p, i0 + i, j0 + j, sum); });
  }
}

// A few rows: the weights are read once, four neighbours at a time, and many loads are under way at
// once, for nothing else takes time here.
constexpr int kThinRows = 4;
constexpr int kFour = 4;

__device__ inline float FromBits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof(v));
  return v;
}
struct alignas(8) TwoWords {
  uint32_t low, high;
};
struct alignas(16) FourFloats {
  float at[kFour];
};

// The first `count` of four weights, zeros for the others; all four where kVector.
template <typename W, bool kVector>
__device__ inline void LoadFour(const W* w, int64_t count, float (&to)[kFour]) {
  if constexpr (!kVector) {
#pragma unroll
    for (int i = 0; i < kFour; ++i) to[i] = i < count ? static_cast<float>(w[i]) : 0.0f;
  } else if constexpr (sizeof(W) == 1) {
    const uint32_t word = *As<uint32_t>(w);
#pragma unroll
    for (int i = 0; i < kFour; ++i) {
      to[i] = static_cast<float>(static_cast<int8_t>(static_cast<uint8_t>(word >> (8 * i))));
    }
  } else {
    const TwoWords words = *As<TwoWords>(w);
    to[0] = FromBits(words.low << 16);
    to[1] = FromBits(words.low & 0xffff0000u);
    to[2] = FromBits(words.high << 16);
    to[3] = FromBits(words.high & 0xffff0000u);
  }
}
// As kernels of these weights multiply x.
template <typename W>
__device__ inline float Rounded(float x) {
  return sizeof(W) == 1 ? x : Widen(Narrow<BF16>(x));
}
__device__ inline uint32_t GroupOf(const CompressedParams& p, int64_t k) {
  return static_cast<uint32_t>(k) / static_cast<uint32_t>(p.group);
}

// Columns of w lie side by side: a block has kColumns of them, a lane four. The warps share the
// depth in stretches, and a quarter of a warp has each fourth row of its own.
constexpr int kColumns = 32;
constexpr int kQuarters = kWarp * kFour / kColumns;
template <int kRows>
constexpr int kThinWarps = kRows == 1 ? 32 : 16;  // what registers are enough for

template <typename W, bool kVector, int kRows>
__global__ void __launch_bounds__(kThinWarps<kRows>* kWarp, 1)
    ThinAcross(TENON_GRID_CONSTANT CompressedParams p) {
  constexpr int kAll = kThinWarps<kRows>;
  __shared__ float parts[kAll][kRows][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int own = lane * kFour % kColumns;
  const int64_t stretch = (p.k + kAll - 1) / kAll;
  const int64_t end = p.k < (warp + 1) * stretch ? p.k : (warp + 1) * stretch;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kColumns; first < p.n;
       first += static_cast<int64_t>(gridDim.x) * kColumns) {
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
          if (kRows > 1 && r >= p.rows) continue;
          const float x = Rounded<W>(As<float>(p.x)[r * p.k + k]);
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
    if (warp < kRows && warp < p.rows && first + lane < p.n) {
      float sum = 0;
      for (int part = 0; part < kAll; ++part) sum += parts[part][warp][lane];
      Store(p, warp, first + lane, sum);
    }
    __syncthreads();
  }
}

// Columns of w lie apart: a warp has one.
template <typename W, bool kVector, int kRows>
__global__ void __launch_bounds__(kThreads) ThinAlong(TENON_GRID_CONSTANT CompressedParams p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t column = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
       column < p.n; column += static_cast<int64_t>(gridDim.x) * kWarps) {
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
        if (kRows > 1 && r >= p.rows) continue;
        const float* x = As<float>(p.x) + r * p.k + k;
        FourFloats values = {};
        if constexpr (kVector) {
          values = *As<FourFloats>(x);
        } else {
#pragma unroll
          for (int i = 0; i < kFour; ++i) {
            if (k + i < p.k) values.at[i] = x[i];
          }
        }
#pragma unroll
        for (int i = 0; i < kFour; ++i) sums[r] += weights[i] * Rounded<W>(values.at[i]);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = WarpSum(sums[r]);
      if (lane == 0 && r < p.rows) Store(p, r, column, sum);
    }
  }
}

template <typename W, bool kVector, int kRows>
void LaunchThin(StreamHandle stream, const CompressedParams& p) {
  if (p.transpose_w) {
    TENON_LAUNCH((ThinAlong<W, kVector, kRows>), BlocksFor(p.n, kWarps), kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH((ThinAcross<W, kVector, kRows>), BlocksFor(p.n, kColumns),
                 kThinWarps<kRows> * kWarp, 0, stream, p);
  }
}

// Can four neighbours be read at once?
template <typename W>
bool InVectors(const CompressedParams& p) {
  const auto aligned = [](const void* at, size_t bytes) {
    return reinterpret_cast<uintptr_t>(at) % bytes == 0;
  };
  if (!aligned(p.w, kFour * sizeof(W))) return false;
  if (!p.transpose_w) return p.n % kFour == 0;
  return p.k % kFour == 0 && aligned(p.x, sizeof(FourFloats)) &&
         (sizeof(W) > 1 || p.group % kFour == 0 || p.group >= p.k);
}

template <typename W>
void LaunchThin(StreamHandle stream, const CompressedParams& p) {
  const bool one = p.rows == 1;
  if (InVectors<W>(p)) {
    one ? LaunchThin<W, true, 1>(stream, p) : LaunchThin<W, true, kThinRows>(stream, p);
  } else {
    one ? LaunchThin<W, false, 1>(stream, p) : LaunchThin<W, false, kThinRows>(stream, p);
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const CompressedParams& p) {
  // Depths are numbers of 32 bits there.
  if (p.rows <= kThinRows && p.k < INT32_MAX && p.group < INT32_MAX) {
    p.scale != nullptr ? LaunchThin<int8_t>(stream, p) : LaunchThin<BF16>(stream, p);
    return;
  }
  TENON_LAUNCH(Tiled, BlocksFor(TilesOf(p.rows, p.n), 1), kThreads, 0, stream, p);
}

}  // namespace tenon::kernels::gpu
