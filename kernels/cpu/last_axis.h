// A helper of kernels that support only the last axis, or that are faster for it.
#ifndef TENON_KERNELS_CPU_LAST_AXIS_H_
#define TENON_KERNELS_CPU_LAST_AXIS_H_

#include "kernels/shape.h"
#include "kernels/tensor_view.h"

namespace tenon::kernels::cpu {

// True if `axis` is the last one of x. It may count from the end.
inline bool IsLastAxis(const TensorView& x, int64_t axis) {
  return x.rank() > 0 && NormalizeAxis(axis, x.rank()) == x.rank() - 1;
}

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_LAST_AXIS_H_
