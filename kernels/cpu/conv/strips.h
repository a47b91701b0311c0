// Products of strips of neighboring pixels and panels of filters, tile by tile.
#ifndef TENON_KERNELS_CPU_CONV_STRIPS_H_
#define TENON_KERNELS_CPU_CONV_STRIPS_H_

#include <cstdint>

#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/tile.h"

namespace tenon::kernels::cpu {

// Strips of equal length. The TileCall gives the distance of the pixels of a strip.
struct Strips {
  const float* x;            // the first pixel of the input
  float* out;                // the first pixel of the result
  const float* residual;     // null: none; addressed like the result
  int64_t x_step, out_step;  // from a strip to the next, in elements
  int64_t count, width;      // strips, and pixels of a strip
};

// The filters, and the loops that multiply them.
struct StripFilters {
  const TileKernels* kernels;      // the loops
  const TileCall* call = nullptr;  // the window
  const FilterPanels* panels;      // the layout of the weights
  int64_t depth;                   // elements of a window
  const float* weights = nullptr;  // of all panels
  const float* bias = nullptr;     // null: none
};

// Computes panels [first, last) of the strips. The result may be the residual.
void RunStrips(const StripFilters& filters, const Strips& strips, int64_t first, int64_t last);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_STRIPS_H_
