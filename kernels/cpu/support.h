// Helpers of the fast CPU kernels: reasons why a call is not supported, and grain sizes.
#ifndef TENON_KERNELS_CPU_SUPPORT_H_
#define TENON_KERNELS_CPU_SUPPORT_H_

#include <algorithm>
#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// Elements that are worth a thread of their own.
inline constexpr int64_t kGrain = 16384;

// Returns the rows of `row_size` elements that make a grain. `cost` is the work per element,
// relative to a copy.
inline int64_t RowGrain(int64_t row_size, int64_t cost = 1) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row_size * cost));
}

// Below this number of floating-point operations, about 5 us, other threads cost more than they
// save.
inline constexpr double kSerialFlops = 1e6;

// Returns the threads worth using for so many operations: all of the program, or the caller alone.
inline int ThreadsFor(double flops, const DeviceContext& device) {
  return flops < kSerialFlops ? 1 : device.parallel->num_threads();
}

// Returns an empty string if every present operand and result has `dtype`, else which one differs.
std::string RequireDtype(const CallSignature& call, DType dtype);
inline std::string RequireF32(const CallSignature& call) { return RequireDtype(call, DType::kF32); }

// True if operand or result i exists and is present.
inline bool Present(std::span<const TensorView> views, size_t i) {
  return i < views.size() && views[i].present();
}

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_SUPPORT_H_
