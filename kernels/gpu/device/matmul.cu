// Matrix products for which the library has no algorithm.
#include "kernels/gpu/device/product_tile.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kSize = ProductTile::kSize, kDepth = ProductTile::kDepth;

// A part of an operand, zeros beyond its edges. Element (i, d) of the operand, i along the result,
// lies at i * i_step + d * d_step; neighbouring threads read neighbours.
template <typename T>
__device__ inline void LoadPart(const T* x, int64_t i_step, int64_t d_step, int64_t i_count,
                                int64_t d_count, float (&part)[kDepth][kSize + 1]) {
  for (int at = static_cast<int>(threadIdx.x); at < ProductTile::kElements;
       at += ProductTile::kThreads) {
    const int i = i_step == 1 ? at % kSize : at / kDepth;
    const int d = i_step == 1 ? at / kSize : at % kDepth;
    part[d][i] = i < i_count && d < d_count ? Widen(x[i * i_step + d * d_step]) : 0.0f;
  }
}

// T: of the operands. U: of the result, bias and residual.
template <typename T, typename U>
__global__ void __launch_bounds__(ProductTile::kThreads)
    MatMul(TENON_GRID_CONSTANT MatMulParams p) {
  __shared__ ProductTile tile;
  const int64_t m_tiles = (p.m + kSize - 1) / kSize, n_tiles = (p.n + kSize - 1) / kSize;
  for (int64_t task = blockIdx.x; task < p.batch * m_tiles * n_tiles; task += gridDim.x) {
    int64_t batch = task;
    const int64_t j0 = DivMod(batch, n_tiles) * kSize, i0 = DivMod(batch, m_tiles) * kSize;
    const int64_t a_row = p.transpose_a ? 1 : p.k, a_column = p.transpose_a ? p.m : 1;
    const int64_t b_row = p.transpose_b ? 1 : p.n, b_column = p.transpose_b ? p.k : 1;
    const T* a = As<T>(p.a) + batch * p.a_stride + i0 * a_row;
    const T* b = As<T>(p.b) + batch * p.b_stride + j0 * b_column;
    ProductTile::Sums sums = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
      __syncthreads();  // the parts before are no longer read
      LoadPart(a + k0 * a_column, a_row, a_column, p.m - i0, p.k - k0, tile.a);
      LoadPart(b + k0 * b_row, b_column, b_row, p.n - j0, p.k - k0, tile.b);
      __syncthreads();
      tile.AddTo(sums);
    }
    const int64_t first = batch * p.out_stride + i0 * p.pitch() + j0;
    ProductTile::ForEach(sums, p.m - i0, p.n - j0, [&](int i, int j, float v) {
      const int64_t at = first + i * p.pitch() + j;
      if (p.bias != nullptr) v += Widen(As<U>(p.bias)[j0 + j]);
      if (p.residual != nullptr) v += Widen(As<U>(p.residual)[at]);
      static_cast<U*>(p.out)[at] = Narrow<U>(Activate(p.activation, 0, 0, v));
    });
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const MatMulParams& p) {
  const int64_t blocks = BlocksFor(p.batch * TilesOf(p.m, p.n), 1);
  if (p.dtype == DType::kBF16 && p.out_dtype == DType::kF32) {
    TENON_LAUNCH((MatMul<BF16, float>), blocks, ProductTile::kThreads, 0, stream, p);
    return;
  }
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH((MatMul<T, T>), blocks, ProductTile::kThreads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
