#include "kernels/gpu/gpu_kernels.h"

namespace tenon::kernels {

void RegisterGpuKernels(KernelRegistry& registry) {
  gpu::AddAttentionKernels(registry);
  gpu::AddCompressedKernels(registry);
  gpu::AddConvKernels(registry);
  gpu::AddElementwiseKernels(registry);
  gpu::AddGroupKernels(registry);
  gpu::AddMatMulKernels(registry);
  gpu::AddMovementKernels(registry);
  gpu::AddQuantizedKernels(registry);
  gpu::AddReduceKernels(registry);
  gpu::AddRowKernels(registry);
  gpu::AddTransferKernels(registry);
}

}  // namespace tenon::kernels
