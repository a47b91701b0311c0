// Errors of the CUDA libraries as kernel statuses.
#ifndef TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_
#define TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_

#include <cuda_runtime.h>

#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

inline KernelStatus Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return KernelStatus::Ok();
  return KernelStatus::Internal(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_CUDA_CUDA_STATUS_H_
