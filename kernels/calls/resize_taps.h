// Interpolation along the axes of ten.resize: each output position has a few weighted input
// positions.
#ifndef TENON_KERNELS_CALLS_RESIZE_TAPS_H_
#define TENON_KERNELS_CALLS_RESIZE_TAPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

// One input position with its weight.
struct Tap {
  int64_t index;
  double weight;
};

struct AxisTaps {
  std::vector<Tap> taps;       // of all output positions, one after the other
  std::vector<int64_t> first;  // position o has taps [first[o], first[o + 1])
  std::vector<bool> outside;   // whether position o takes the extrapolation value
};

// Returns the taps of each axis of a resize from `in` to `out`. Requires equal ranks and no empty
// axis in `in`.
std::vector<AxisTaps> ResizeTaps(const ten::ResizeAttrs& attrs, DimSpan in, DimSpan out);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_RESIZE_TAPS_H_
