// The distinct slices of a tensor along an axis.
#ifndef TENON_KERNELS_UNIQUE_SLICES_H_
#define TENON_KERNELS_UNIQUE_SLICES_H_

#include <cstdint>
#include <vector>

#include "kernels/tensor_view.h"

namespace tenon::kernels {

struct UniqueSlices {
  std::vector<int64_t> first;    // where each distinct slice appears first, in the result's order
  std::vector<int64_t> inverse;  // which distinct slice each slice is
  std::vector<int64_t> counts;   // how often each appears
};

// Slices along `axis`, or single elements of the flattened tensor with `flat`. NaNs are equal to
// each other and larger than all numbers. REQUIRES: x has data.
UniqueSlices FindUniqueSlices(const TensorView& x, int64_t axis, bool flat, bool sorted);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_UNIQUE_SLICES_H_
