// The operations after the product of a linear layer. The library does as many of them as it can
// within the product; a separate kernel does the rest.
#ifndef TENON_KERNELS_GPU_LINEAR_TAIL_H_
#define TENON_KERNELS_GPU_LINEAR_TAIL_H_

#include "kernels/activation.h"
#include "kernels/gpu/queue.h"
#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// out = activation(out + bias) + residual. All have one element type, and out is dense.
struct LinearTail {
  TensorView out, bias, residual;  // bias and residual may be absent
  Activation activation;

  // Moves to `p`, the product that computes `out`, what the library can do; always the bias.
  void PutInto(MatMulParams& p);
  // Launches the rest. `from_zero` starts from zeros in place of an empty product. Requires that
  // out is not empty.
  KernelStatus Launch(Queue& queue, bool from_zero = false) const;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_LINEAR_TAIL_H_
