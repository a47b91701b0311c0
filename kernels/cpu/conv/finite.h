// Whether numbers are finite.
#ifndef TENON_KERNELS_CPU_CONV_FINITE_H_
#define TENON_KERNELS_CPU_CONV_FINITE_H_

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// True if all of `count` numbers are finite. Takes about the time to read them.
inline bool AllFinite(const float* numbers, int64_t count) {
  constexpr int64_t kLanes = 16;
  float sums[kLanes] = {};  // zero times what is finite, and NaN otherwise
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) sums[j] += numbers[i + j] * 0.0f;
  }
  for (; i < count; ++i) sums[0] += numbers[i] * 0.0f;
  return std::all_of(sums, sums + kLanes, [](float sum) { return sum == 0; });
}
inline bool AllFinite(const TensorView& floats) {
  return AllFinite(floats.as<float>(), floats.numel());
}

// True if weights that are known at run time only are to be left to the reference kernel. Fast
// kernels multiply padding, and zero times an infinite weight is NaN.
inline bool HasNonfiniteWeights(const RunArgs& args) { return !AllFinite(args.inputs[1]); }

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_FINITE_H_
