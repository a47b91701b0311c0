// The GPU kernels by family, as the host sees them: names, what they serve, how they are launched.
// Nothing here needs a CUDA toolkit.
#ifndef TENON_KERNELS_GPU_GPU_KERNELS_H_
#define TENON_KERNELS_GPU_GPU_KERNELS_H_

#include "kernels/registry.h"

namespace tenon::kernels {

void RegisterGpuKernels(KernelRegistry& registry);

namespace gpu {

void AddAttentionKernels(KernelRegistry& registry);
void AddCompressedKernels(KernelRegistry& registry);
void AddConvKernels(KernelRegistry& registry);
void AddElementwiseKernels(KernelRegistry& registry);
void AddGroupKernels(KernelRegistry& registry);
void AddMatMulKernels(KernelRegistry& registry);
void AddMovementKernels(KernelRegistry& registry);
void AddQuantizedKernels(KernelRegistry& registry);
void AddReduceKernels(KernelRegistry& registry);
void AddRowKernels(KernelRegistry& registry);
void AddTransferKernels(KernelRegistry& registry);

// The kernels that move a value between host and device memory. They serve kernel.copy.
inline constexpr char kToDevice[] = "cuda.to_device";
inline constexpr char kToHost[] = "cuda.to_host";
// What either does when the other side is device memory too.
KernelStatus CopyOnDevice(const RunArgs& args);

}  // namespace gpu
}  // namespace tenon::kernels

#endif  // TENON_KERNELS_GPU_GPU_KERNELS_H_
