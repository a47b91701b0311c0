// Errors of the CUDA libraries as kernel statuses.
#ifndef TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_
#define TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_

#include <cuda_runtime.h>

#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// The runtime remembers a failed call as the thread's last error, and the next launch, which asks
// for that, would be blamed for it: it is forgotten here.
inline KernelStatus Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return KernelStatus::Ok();
  cudaGetLastError();
  const std::string text = std::string("CUDA: ") + what + ": " + cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? KernelStatus::OutOfMemory(text)
                                            : KernelStatus::Internal(text);
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_
