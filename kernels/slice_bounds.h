// numpy's slicing rules, resolved against a shape.
#ifndef TENON_KERNELS_SLICE_BOUNDS_H_
#define TENON_KERNELS_SLICE_BOUNDS_H_

#include "kernels/shape.h"

namespace tenon::kernels {

struct SliceAxis {
  int64_t start = 0;
  int64_t step = 1;
};

// First element of a slice along an axis of `extent` elements; `step` is not 0. How many follow is
// known from the result's shape.
inline int64_t SliceStart(int64_t start, int64_t step, int64_t extent) {
  if (start < 0) start += extent;
  return step > 0 ? std::clamp<int64_t>(start, 0, extent)
                  : std::clamp<int64_t>(start, 0, std::max<int64_t>(extent - 1, 0));
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_SLICE_BOUNDS_H_
