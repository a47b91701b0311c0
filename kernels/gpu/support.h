// Helpers for the host side of GPU kernels.
#ifndef TENON_KERNELS_GPU_SUPPORT_H_
#define TENON_KERNELS_GPU_SUPPORT_H_

#include <array>
#include <string>

#include "kernels/gpu/queue.h"
#include "kernels/kernel.h"
#include "kernels/shape.h"

namespace tenon::kernels::gpu {

// Returns the queue of the program, which must have one.
inline Queue& QueueOf(const RunArgs& args) { return *args.device->gpu; }

// Returns operand or result i; an absent one if there are fewer.
inline TensorView Operand(std::span<const TensorView> views, size_t i) {
  return i < views.size() ? views[i] : TensorView{};
}

// The priority of GPU kernels. It is not compared with CPU kernels, because a choice considers one
// backend.
inline constexpr int kPriority = 10;

// Returns a kernel of Backend::kCuda. Its strings must outlive the registry.
inline Kernel MakeKernel(const char* op, const char* name, RunFn run, SupportsFn supports,
                         uint32_t inplace_mask = 0) {
  return {.op = op,
          .name = name,
          .backend = Backend::kCuda,
          .priority = kPriority,
          .run = run,
          .supports = supports,
          .inplace_mask = inplace_mask};
}

// Returns an empty string if every operand and result has at most kMaxAxes axes, else the reason.
std::string CheckRanks(const CallSignature& call);
// Returns an empty string if all present operands and results are f32, all f16 or all bf16.
std::string RequireFloats(const CallSignature& call);
// The same for some of the operands (bit i for operand i) and all results.
std::string RequireFloats(const CallSignature& call, uint32_t operands);

// Returns the strides of a dense `view` read as a tensor of shape `out`; zeros for an absent one.
Dims StridesIn(const TensorView& view, DimSpan out);

// Returns N operands over one shape, by their strides. Joins axes where possible. Requires at most
// kMaxAxes axes.
template <size_t N>
Strided<static_cast<int>(N)> ToStrided(Dims shape, std::array<Dims, N> strides) {
  Coalesce(shape, strides);
  Strided<static_cast<int>(N)> s;
  s.rank = static_cast<int>(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    s.shape[axis] = shape[axis];
    for (size_t k = 0; k < N; ++k) s.strides[k][axis] = strides[k][axis];
  }
  return s;
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_SUPPORT_H_
