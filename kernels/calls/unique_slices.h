// The distinct slices of a tensor along an axis.
#ifndef TENON_KERNELS_CALLS_UNIQUE_SLICES_H_
#define TENON_KERNELS_CALLS_UNIQUE_SLICES_H_

#include <cstdint>
#include <vector>

#include "kernels/tensor_view.h"

namespace tenon::kernels {

struct UniqueSlices {
  // The first position of each distinct slice, in the order of the result.
  std::vector<int64_t> first;
  std::vector<int64_t> inverse;  // for each slice the number of its distinct slice
  std::vector<int64_t> counts;   // how often each distinct slice appears
};

// Finds slices along `axis`, or single elements of the flattened tensor with `flat`. With `sorted`
// they are in ascending order, otherwise in order of appearance. NaNs are equal to each other and
// larger than all numbers. Requires that x has data.
UniqueSlices FindUniqueSlices(const TensorView& x, int64_t axis, bool flat, bool sorted);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_UNIQUE_SLICES_H_
