// The common part of Tenon's own products. A block computes a tile of the result from parts of both
// operands in shared memory. Each thread computes four by four elements. Sums are f32.
#ifndef TENON_KERNELS_GPU_DEVICE_PRODUCT_TILE_H_
#define TENON_KERNELS_GPU_DEVICE_PRODUCT_TILE_H_

#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {

// The parts of both operands in shared memory, and the work of a thread on them.
struct ProductTile {
  static constexpr int kSize = 64;                  // rows and columns of the tile
  static constexpr int kDepth = 16;                 // of the parts of both operands
  static constexpr int kEach = 4;                   // rows and columns of a thread
  static constexpr int kSide = kSize / kEach;       // threads along an edge
  static constexpr int kThreads = kSide * kSide;    // threads of a block
  static constexpr int kElements = kDepth * kSize;  // elements of each operand's part

  using Sums = float[kEach][kEach];  // the elements of a thread

  // Element d of the depth of row (column) i; zeros beyond the operand. Rows are one element
  // longer, so that threads that store along the depth use different banks.
  float a[kDepth][kSize + 1];
  float b[kDepth][kSize + 1];

  // The first row of this thread; column() is its first column.
  __device__ static int row() { return static_cast<int>(threadIdx.x) / kSide * kEach; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kSide * kEach; }

  // Adds the products of the parts. Requires that all threads have stored and synchronized.
  __device__ void AddTo(Sums& sums) const {
    const int i0 = row(), j0 = column();
#pragma unroll 4
    for (int d = 0; d < kDepth; ++d) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sums[i][j] += a[d][i0 + i] * b[d][j0 + j];
      }
    }
  }

  // Calls f(i, j, sum) for elements of this thread within the first `rows` and `columns`.
  template <typename F>
  __device__ static void ForEach(const Sums& sums, int64_t rows, int64_t columns, F&& f) {
    const int i0 = row(), j0 = column();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        if (i0 + i < rows && j0 + j < columns) f(i0 + i, j0 + j, sums[i][j]);
      }
    }
  }
};

// The number of tiles of a result.
__host__ __device__ inline int64_t TilesOf(int64_t rows, int64_t columns) {
  constexpr int64_t kSize = ProductTile::kSize;
  return ((rows + kSize - 1) / kSize) * ((columns + kSize - 1) / kSize);
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_PRODUCT_TILE_H_
