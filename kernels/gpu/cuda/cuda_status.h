// Errors of the CUDA libraries as kernel statuses.
#ifndef TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_
#define TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_

#include <cuda_runtime.h>

#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// Returns the status of a call of the runtime; `what` names the call. Clears the last error of the
// thread, which the next launch would report otherwise.
inline KernelStatus Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return KernelStatus::Ok();
  cudaGetLastError();
  const std::string text = std::string("CUDA: ") + what + ": " + cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? KernelStatus::OutOfMemory(text)
                                            : KernelStatus::Internal(text);
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_
