// Matrix products by cuBLASLt.
#ifndef TENON_KERNELS_GPU_CUDA_PRODUCTS_H_
#define TENON_KERNELS_GPU_CUDA_PRODUCTS_H_

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <array>
#include <map>
#include <memory>

#include "kernels/gpu/cuda/cuda_memory.h"
#include "kernels/gpu/params.h"
#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// The products of one queue. It keeps descriptors and algorithms for each kind of product, and
// opens the library at the first one. If the library has no algorithm, it multiplies without the
// epilogue, which follows as a kernel, or uses a kernel of Tenon.
class Products {
 public:
  // The pool must outlive it. `tf32` lets f32 products round their operands to the 10 bits of TF32.
  Products(cudaStream_t stream, MemoryPool& pool, bool tf32);
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products();

  KernelStatus Launch(const MatMulParams& params);  // adds a product to the stream

 private:
  struct Plan;
  // What a plan depends on: everything but the addresses, of which the alignment counts.
  using Key = std::array<int64_t, 15>;
  static Key KeyOf(const MatMulParams& params);
  KernelStatus Open();
  KernelStatus MakePlan(const MatMulParams& params, std::unique_ptr<Plan>& plan);
  // Sets `done` unless the library has no algorithm that does it.
  KernelStatus Multiply(const MatMulParams& params, Plan& plan, bool& done);
  KernelStatus LaunchBatches(const MatMulParams& params);
  KernelStatus LaunchWithoutLibrary(const MatMulParams& params);

  cudaStream_t stream_;
  MemoryPool& pool_;
  const bool tf32_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_CUDA_PRODUCTS_H_
