// numpy's rules for slices, resolved for an extent.
#ifndef TENON_KERNELS_CALLS_SLICE_BOUNDS_H_
#define TENON_KERNELS_CALLS_SLICE_BOUNDS_H_

#include "kernels/shape.h"

namespace tenon::kernels {

struct SliceAxis {
  int64_t start = 0;
  int64_t step = 1;
};

// Returns the first element of a slice along an axis of `extent` elements. Requires step != 0. The
// number of elements follows from the shape of the result.
inline int64_t SliceStart(int64_t start, int64_t step, int64_t extent) {
  if (start < 0) start += extent;
  return step > 0 ? std::clamp<int64_t>(start, 0, extent)
                  : std::clamp<int64_t>(start, 0, std::max<int64_t>(extent - 1, 0));
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_SLICE_BOUNDS_H_
