// The inner loops of convolution with channels last: a few pixels of the result times a panel of
// filters, summed over the whole window.
#ifndef TENON_KERNELS_CPU_CONV_TILE_H_
#define TENON_KERNELS_CPU_CONV_TILE_H_

#include <cstdint>

#include "kernels/cpu/conv/loop_activation.h"

namespace tenon::kernels::cpu {

// The data that all tiles of a convolution share. The window of a pixel is read as `num_runs` runs
// of `run_size` adjacent elements. Run i starts `runs[i]` elements after the pixel.
struct TileCall {
  const int64_t* runs;
  int64_t num_runs, run_size;
  // The first row of the weights of each run, in the panel. Null: the panel has the weights of all
  // runs, one after the other.
  const int64_t* weight_rows = nullptr;
  int64_t pixel_step;         // elements of the input from a pixel to the next
  int64_t out_step;           // elements of the result from a pixel to the next
  LoopActivation activation;  // applied to the sums
};

// Two groups of neighboring pixels (or one), and one panel of filters.
struct ConvTile {
  // The number of tiles. With two groups that follow each other, each further tile begins where the
  // last one ended.
  int64_t repeat;
  const float* x[2];         // the first pixel of each group
  const float* weights;      // [elements of the window][columns of the panel]
  const float* bias;         // null: none
  int64_t columns;           // of the result; the panel may have more
  float* out[2];             // the results of each group
  const float* residual[2];  // null: none; added before the activation
  // Memory to prefetch. Each step of the sum prefetches as many lines as a row of weights has, then
  // moves on by next_step bytes. A tile that is alone in using its panel prefetches a row.
  const char* next;
  int64_t next_step;
};

using TileFn = void (*)(const TileCall& call, const ConvTile& tile);  // computes a tile

// The loops of one instruction set.
struct TileKernels {
  int lanes;                 // panels have 2 * lanes columns, or lanes
  int min_group, max_group;  // pixels in a group
  // [group - min_group][whether there are two][columns of the panel / lanes - 1]
  TileFn tiles[4][2][2];
  // For one pixel and a panel of `lanes` columns, a panel of 2 * lanes columns, or four of the
  // latter one after the other. They do not take weight_rows.
  TileFn narrow_row, wide_row, four_wide_rows;
};

// Returns the loops for the active instruction set.
const TileKernels& Tiles();

// Returns the size of groups with which a strip of `width` pixels takes the least time. Small
// groups load weights more often. The last group ends with the strip, so that large ones may
// compute more pixels twice. Requires width >= min_group.
int64_t BestGroup(const TileKernels& kernels, int64_t width);

// The loops of each instruction set.
const TileKernels& TilesAvx2();
const TileKernels& TilesAvx512();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_TILE_H_
