// The host side of GPU kernels, by family: names, supported ops, launches. Needs no CUDA toolkit.
#ifndef TENON_KERNELS_GPU_GPU_KERNELS_H_
#define TENON_KERNELS_GPU_GPU_KERNELS_H_

#include "kernels/registry.h"

namespace tenon::kernels {

// Adds all kernels of Backend::kCuda.
void RegisterGpuKernels(KernelRegistry& registry);

namespace gpu {

// Each adds the kernels of one family; RegisterGpuKernels calls them all.
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

// The names of the kernels of kernel.copy, which move a value between host and device memory.
inline constexpr char kToDevice[] = "cuda.to_device";
inline constexpr char kToHost[] = "cuda.to_host";
// Runs kernel.copy between two places in device memory.
KernelStatus CopyOnDevice(const RunArgs& args);

}  // namespace gpu
}  // namespace tenon::kernels

#endif  // TENON_KERNELS_GPU_GPU_KERNELS_H_
