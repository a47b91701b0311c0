// What the fast CPU kernels have in common: reasons for not serving a call, and grain sizes.
#ifndef TENON_KERNELS_CPU_SUPPORT_H_
#define TENON_KERNELS_CPU_SUPPORT_H_

#include <algorithm>
#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// Elements that are worth a thread of their own.
inline constexpr int64_t kGrain = 16384;

// How many rows of `row_size` elements make a grain; `cost` is the work per element relative to a
// copy.
inline int64_t RowGrain(int64_t row_size, int64_t cost = 1) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row_size * cost));
}

// Floating-point operations below which other threads, awake, cost more than they save: some 5 us.
inline constexpr double kSerialFlops = 1e6;

// Threads worth using for so many operations: all of the program's, or the caller's alone.
inline int ThreadsFor(double flops, const DeviceContext& device) {
  return flops < kSerialFlops ? 1 : device.parallel->num_threads();
}

// Empty if every present operand and result has `dtype`; otherwise which one differs.
std::string RequireDtype(const CallSignature& call, DType dtype);
inline std::string RequireF32(const CallSignature& call) { return RequireDtype(call, DType::kF32); }

inline bool Present(std::span<const TensorView> views, size_t i) {
  return i < views.size() && views[i].present();
}

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_SUPPORT_H_
