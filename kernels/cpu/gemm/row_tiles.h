// The division of the rows of a matrix product into tiles, for packing and multiplying.
#ifndef TENON_KERNELS_CPU_GEMM_ROW_TILES_H_
#define TENON_KERNELS_CPU_GEMM_ROW_TILES_H_

#include <algorithm>
#include <cstdint>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/tile.h"

namespace tenon::kernels::cpu {

// Returns the loops for floats of the active instruction set.
const GemmKernels& ActiveGemmKernels();

// The rows of a product, in tiles of nearly equal height.
struct RowTiles {
  // Tiles have at most `most` rows.
  RowTiles(int64_t rows, int64_t most) : m(rows), count(CeilDiv(rows, most)) {}

  // The first row of a tile.
  int64_t Begin(int64_t tile) const { return m * tile / std::max<int64_t>(1, count); }
  // The rows of the highest tile.
  int64_t highest() const { return count == 0 ? 0 : CeilDiv(m, count); }

  int64_t m,  // rows
      count;  // tiles
};

RowTiles TilesOfPackedA(int64_t m);  // the tiles of PackA
// Returns the tiles of a product. They are lower if the rows of a fall into the same set of the
// first-level cache.
RowTiles TilesOf(const GemmArgs& args);

// True if rows so many floats apart fall into the same set of the first-level cache.
bool RowsCollide(int64_t a_row);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_ROW_TILES_H_
