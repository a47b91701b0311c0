#include "kernels/gpu/cuda/cuda_memory.h"

#include <cstdint>
#include <string>

#include "kernels/gpu/cuda/cuda_status.h"

namespace tenon::kernels::gpu {

CurrentDevice::CurrentDevice(int ordinal) {
  int current = -1;
  error_ = cudaGetDevice(&current);
  if (error_ == cudaSuccess && current == ordinal) return;
  if (error_ == cudaSuccess) before_ = current;
  error_ = cudaSetDevice(ordinal);
}

CurrentDevice::~CurrentDevice() {
  // Where that device cannot be used, the next launch must not be blamed for it.
  if (before_ >= 0 && cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();
}

MemoryPool::~MemoryPool() {
  const CurrentDevice current(ordinal_);
  if (pool_ != nullptr && !current.unloading()) cudaMemPoolDestroy(pool_);
}

KernelStatus MemoryPool::Open(int ordinal) {
  ordinal_ = ordinal;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  KernelStatus status = Check(cudaMemPoolCreate(&pool_, &properties), "memory pool");
  if (!status.ok()) return status;
  uint64_t threshold = UINT64_MAX;
  return Check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold),
               "memory pool");
}

KernelStatus MemoryPool::Allocate(size_t bytes, cudaStream_t stream, void** memory) {
  if (bytes == 0) bytes = 1;
  // It would be a part of the graph, and nobody else could use it.
  cudaStreamCaptureStatus captures = cudaStreamCaptureStatusNone;
  if (KernelStatus status = Check(cudaStreamIsCapturing(stream, &captures), "allocation");
      !status.ok()) {
    return status;
  }
  if (captures != cudaStreamCaptureStatusNone) {
    return KernelStatus::Internal("CUDA: allocation while work is recorded");
  }
  cudaError_t error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it does not stick
    // What has been freed may still be waited for, or lie in pieces that are too small.
    cudaStreamSynchronize(stream);
    cudaMemPoolTrimTo(pool_, 0);
    error = cudaMallocFromPoolAsync(memory, bytes, pool_, stream);
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return KernelStatus::OutOfMemory("out of device memory: " + std::to_string(bytes) +
                                     " bytes are needed, " + std::to_string(free) + " of " +
                                     std::to_string(total) + " are free");
  }
  return Check(error, "allocation");
}

}  // namespace tenon::kernels::gpu
