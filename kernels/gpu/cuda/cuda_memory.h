// The device that a thread's calls are for, and the memory that queues of a device share.
#ifndef TENON_KERNELS_GPU_CUDA_CUDA_MEMORY_H_
#define TENON_KERNELS_GPU_CUDA_CUDA_MEMORY_H_

#include <cuda_runtime.h>

#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// Makes a device the thread's current one, and afterwards the one that was: callers may use CUDA
// themselves.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  cudaError_t error() const { return error_; }
  bool unloading() const { return error_ == cudaErrorCudartUnloading; }

 private:
  int before_ = -1;  // to return to; -1: nothing to do
  cudaError_t error_;
};

// Stream-ordered memory. A pool of our own, for the device's default one belongs to whoever else
// uses CUDA in the process. It keeps what is freed, so that the steady state asks the driver for
// nothing, and gives it back with the last queue.
class MemoryPool {
 public:
  MemoryPool() = default;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  KernelStatus Open(int ordinal);
  // For use by what is put into the stream from here on; cudaFreeAsync frees it.
  KernelStatus Allocate(size_t bytes, cudaStream_t stream, void** memory);

 private:
  int ordinal_ = 0;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_CUDA_CUDA_MEMORY_H_
