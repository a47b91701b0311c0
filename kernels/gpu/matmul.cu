// Matrix products for which the library has no algorithm: a tile of the result for a block, four by
// four of its elements for a thread, sums in f32.
#include "kernels/gpu/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kEach = 4;
constexpr int kSide = kTile / kEach;  // threads along an edge of the tile
constexpr int kThreads = kSide * kSide;

// A kDepth x kTile part of an operand, zeros beyond its edges. Element (i, d) of the operand, i
// along the result, lies at i * i_step + d * d_step; neighbouring threads read neighbours.
template <typename T>
__device__ inline void LoadTile(const T* x, int64_t i_step, int64_t d_step, int64_t i_count,
                                int64_t d_count, float (&tile)[kDepth][kTile + 1]) {
  for (int at = static_cast<int>(threadIdx.x); at < kDepth * kTile; at += kThreads) {
    const int i = i_step == 1 ? at % kTile : at / kDepth;
    const int d = i_step == 1 ? at / kTile : at % kDepth;
    tile[d][i] = i < i_count && d < d_count ? Widen(x[i * i_step + d * d_step]) : 0.0f;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) MatMul(TENON_GRID_CONSTANT MatMulParams p) {
  __shared__ float a_tile[kDepth][kTile + 1];
  __shared__ float b_tile[kDepth][kTile + 1];
  const int row = static_cast<int>(threadIdx.x) / kSide * kEach;
  const int column = static_cast<int>(threadIdx.x) % kSide * kEach;
  const int64_t m_tiles = (p.m + kTile - 1) / kTile, n_tiles = (p.n + kTile - 1) / kTile;
  for (int64_t task = blockIdx.x; task < p.batch * m_tiles * n_tiles; task += gridDim.x) {
    int64_t batch = task;
    const int64_t j0 = DivMod(batch, n_tiles) * kTile, i0 = DivMod(batch, m_tiles) * kTile;
    const int64_t a_row = p.transpose_a ? 1 : p.k, a_column = p.transpose_a ? p.m : 1;
    const int64_t b_row = p.transpose_b ? 1 : p.n, b_column = p.transpose_b ? p.k : 1;
    const T* a = As<T>(p.a) + batch * p.a_stride + i0 * a_row;
    const T* b = As<T>(p.b) + batch * p.b_stride + j0 * b_column;
    float sums[kEach][kEach] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
      __syncthreads();  // the tiles before are no longer read
      LoadTile(a + k0 * a_column, a_row, a_column, p.m - i0, p.k - k0, a_tile);
      LoadTile(b + k0 * b_row, b_column, b_row, p.n - j0, p.k - k0, b_tile);
      __syncthreads();
#pragma unroll 4
      for (int d = 0; d < kDepth; ++d) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
#pragma unroll
          for (int j = 0; j < kEach; ++j) sums[i][j] += a_tile[d][row + i] * b_tile[d][column + j];
        }
      }
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        if (i0 + row + i >= p.m || j0 + column + j >= p.n) continue;
        const int64_t at = batch * p.out_stride + (i0 + row + i) * p.n + j0 + column + j;
        float v = sums[i][j];
        if (p.bias != nullptr) v += Widen(As<T>(p.bias)[j0 + column + j]);
        if (p.residual != nullptr) v += Widen(As<T>(p.residual)[at]);
        static_cast<T*>(p.out)[at] = Narrow<T>(Activate(p.activation, 0, 0, v));
      }
    }
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const MatMulParams& p) {
  const int64_t tiles = p.batch * ((p.m + kTile - 1) / kTile) * ((p.n + kTile - 1) / kTile);
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(MatMul<T>, BlocksFor(tiles, 1), kThreads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
