// Strips of neighbouring pixels times panels of filters, tile by tile.
#ifndef TENON_KERNELS_CPU_CONV_STRIPS_H_
#define TENON_KERNELS_CPU_CONV_STRIPS_H_

#include <cstdint>

#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/tile.h"

namespace tenon::kernels::cpu {

// Equally long strips of pixels: how many elements they lie apart in the input and in the result.
// Pixels of a strip are as far apart as the call says.
struct Strips {
  const float* x;
  float* out;
  const float* residual;  // null: none; addressed as the result is
  int64_t x_step, out_step;
  int64_t count, width;
};

// Filters, and how their sums are made.
struct StripFilters {
  const TileKernels* kernels;
  const TileCall* call = nullptr;
  const FilterPanels* panels;
  int64_t depth;                   // elements of a window
  const float* weights = nullptr;  // of all panels
  const float* bias = nullptr;     // null: none
};

// Computes panels [first, last) of the strips. The result may lie where the residual does.
void RunStrips(const StripFilters& filters, const Strips& strips, int64_t first, int64_t last);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_STRIPS_H_
