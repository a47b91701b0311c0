// The inner loops of convolution with channels last: a few pixels of the result times a panel of
// filters, summed over the whole window.
#ifndef TENON_KERNELS_CPU_CONV_TILE_H_
#define TENON_KERNELS_CPU_CONV_TILE_H_

#include <cstdint>

#include "kernels/cpu/conv/loop_activation.h"

namespace tenon::kernels::cpu {

// What all tiles of a convolution have in common. The window of a pixel is read as `num_runs` runs
// of `run_size` neighbouring elements, which start `runs[i]` elements behind the pixel.
struct TileCall {
  const int64_t* runs;
  int64_t num_runs, run_size;
  // Where the weights of each run begin, in rows of the panel. Null: the panel has those of all
  // runs, one behind the other.
  const int64_t* weight_rows = nullptr;
  int64_t pixel_step;  // elements of the input from a pixel to the next
  int64_t out_step;    // elements of the result from a pixel to the next
  LoopActivation activation;
};

// Two groups of neighbouring pixels (or one), and one panel of filters.
struct ConvTile {
  // Two groups that follow each other may go on for so many tiles, each where the last has ended.
  int64_t repeat;
  const float* x[2];
  const float* weights;  // [elements of the window][columns of the panel]
  const float* bias;     // null: none
  int64_t columns;       // of the result; the panel may have more
  float* out[2];
  const float* residual[2];  // null: none; added before the activation
  // Each step of the sum asks for as many lines from `next` on as a row of weights has (where a
  // tile is all that uses a panel, it asks for a row), and moves on by so many bytes.
  const char* next;
  int64_t next_step;
};

using TileFn = void (*)(const TileCall& call, const ConvTile& tile);

// The loops of one instruction set.
struct TileKernels {
  int lanes;                 // panels have 2 * lanes columns, or lanes
  int min_group, max_group;  // pixels in a group
  // [group - min_group][whether there are two][columns of the panel / lanes - 1]
  TileFn tiles[4][2][2];
  // One pixel, and a panel of `lanes` columns, one of twice as many, or four of these behind each
  // other. They take no weight_rows.
  TileFn narrow_row, wide_row, four_wide_rows;
};

// For the active instruction set.
const TileKernels& Tiles();

// The group with which a strip of `width` pixels takes the least time. The last one is moved back
// to the strip's end, so that some pixels are computed twice; small groups load weights more often.
// REQUIRES: width >= min_group.
int64_t BestGroup(const TileKernels& kernels, int64_t width);

const TileKernels& TilesAvx2();
const TileKernels& TilesAvx512();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_TILE_H_
