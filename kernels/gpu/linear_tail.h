// What comes behind the product of a linear layer: as much of it as the library does goes into the
// product, the rest is a kernel of its own.
#ifndef TENON_KERNELS_GPU_LINEAR_TAIL_H_
#define TENON_KERNELS_GPU_LINEAR_TAIL_H_

#include "kernels/activation.h"
#include "kernels/gpu/queue.h"
#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// out = activation(out + bias) + residual. All are of one element type, and out is dense.
struct LinearTail {
  TensorView out, bias, residual;  // bias and residual may be absent
  Activation activation;

  // Moves what the library does to `p`, the product that gives `out`. The bias goes there in any
  // case.
  void PutInto(MatMulParams& p);
  // What is left. `from_zero`: in place of a product of nothing. REQUIRES: out is not empty.
  KernelStatus Launch(Queue& queue, bool from_zero = false) const;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_LINEAR_TAIL_H_
