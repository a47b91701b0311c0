// Tiles of Winograd's method whose image holds infinities or NaN. The transforms add and subtract
// all pixels of a tile, which would make its whole result NaN.
#ifndef TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_NONFINITE_H_
#define TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_NONFINITE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/conv/winograd/winograd_transform.h"

namespace tenon::kernels::cpu {

// The signs of the weights, -1, 0 or 1, as [3 * 3, channels, filters]. The sign of a weight is all
// that its product with an infinity or a NaN depends on.
struct WinogradSigns {
  const int8_t* signs;
  int64_t channels, filters;

  static size_t Bytes(int64_t channels, int64_t filters);
  // From weights [filters, channels, 3, 3].
  static void Pack(const float* weights, int64_t channels, int64_t filters, int8_t* to);
};

// A tile of the result by a panel of filters.
struct NonfiniteTile {
  int64_t size;                // the m of winograd_transform.h
  const float* const* pixels;  // as in WinogradInput
  const float* weights;        // of the panel, [(m + 2) * (m + 2), channels, columns]
  int64_t columns;             // at most `step`
  int64_t step;                // vectors of sums; a multiple of the lanes
  int64_t first_filter;        // of the panel
  WinogradSigns signs;         // of all filters
  WinogradOutput out;          // all but the sums; may be in the place of its residual
};

// True if an element of the transformed sums of a tile is infinite or NaN. Of all filters one is
// enough: what is not finite in the image meets every filter.
bool HasNonfiniteSums(const float* sums, int64_t points, int64_t step);

// Computes such a tile. Pixels that are not finite count as 0 in the transforms. Their products,
// which need no rounding, are added with the residual.
void RunNonfiniteTile(const WinogradTransforms& transforms, const NonfiniteTile& tile);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_NONFINITE_H_
