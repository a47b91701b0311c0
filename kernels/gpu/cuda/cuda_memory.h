// The current device of a thread, and the memory pool of the queues of a device.
#ifndef TENON_KERNELS_GPU_CUDA_CUDA_MEMORY_H_
#define TENON_KERNELS_GPU_CUDA_CUDA_MEMORY_H_

#include <cuda_runtime.h>

#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// Makes a device the current one of the thread as long as it lives. Then restores the device
// before, because callers may use CUDA themselves.
class CurrentDevice {
 public:
  // Check error() afterward.
  explicit CurrentDevice(int ordinal);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  cudaError_t error() const { return error_; }  // cudaSuccess if the device is current
  bool unloading() const { return error_ == cudaErrorCudartUnloading; }  // the process ends

 private:
  int before_ = -1;  // to return to; -1: nothing to do
  cudaError_t error_;
};

// A pool of stream-ordered memory. It is not the default pool of the device, which other users of
// CUDA in the process share. It keeps freed memory, so that the steady state needs no call of the
// driver, and frees it with the last queue.
class MemoryPool {
 public:
  MemoryPool() = default;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  KernelStatus Open(int ordinal);  // creates the pool on a device
  // Allocates memory for later work of the stream. cudaFreeAsync frees it.
  KernelStatus Allocate(size_t bytes, cudaStream_t stream, void** memory);

 private:
  int ordinal_ = 0;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_CUDA_CUDA_MEMORY_H_
