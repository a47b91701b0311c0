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

// A few rows: the weights are read once. Where the columns of w lie side by side, a block has kWarp
// of them, and its warps share the depth; otherwise a warp has a column.
constexpr int kThinRows = 4;

__global__ void __launch_bounds__(kThreads) Thin(TENON_GRID_CONSTANT CompressedParams p) {
  __shared__ float parts[kWarps][kThinRows][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t columns = p.transpose_w ? kWarps : kWarp;  // of a block
  const int64_t tiles = (p.n + columns - 1) / columns;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t column = tile * columns + (p.transpose_w ? warp : lane);
    const int64_t first = p.transpose_w ? lane : warp, step = p.transpose_w ? kWarp : kWarps;
    float sums[kThinRows] = {};
#pragma unroll 2
    for (int64_t k = first; column < p.n && k < p.k; k += step) {
      const float w = Weight(p, k, column);
#pragma unroll
      for (int r = 0; r < kThinRows; ++r) {
        if (r < p.rows) sums[r] += w * Operand(p, r, k);
      }
    }
    if (p.transpose_w) {
#pragma unroll
      for (int r = 0; r < kThinRows; ++r) {
        const float sum = WarpSum(sums[r]);
        if (lane == 0 && r < p.rows && column < p.n) Store(p, r, column, sum);
      }
      continue;
    }
#pragma unroll
    for (int r = 0; r < kThinRows; ++r) parts[warp][r][lane] = sums[r];
    __syncthreads();
    if (warp < kThinRows && warp < p.rows && column < p.n) {
      float sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += parts[w][warp][lane];
      Store(p, warp, column, sum);
    }
    __syncthreads();
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const CompressedParams& p) {
  if (p.rows <= kThinRows) {
    TENON_LAUNCH(Thin, BlocksFor(p.n, p.transpose_w ? kWarps : kWarp), kThreads, 0, stream, p);
    return;
  }
  TENON_LAUNCH(Tiled, BlocksFor(TilesOf(p.rows, p.n), 1), kThreads, 0, stream, p);
}

}  // namespace tenon::kernels::gpu
