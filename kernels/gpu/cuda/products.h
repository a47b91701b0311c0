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

// One for a queue, which it serves from its first product on. Descriptors and the algorithms in
// question are kept for each kind of product. What the library has no algorithm for is multiplied
// without the epilogue, which follows as a kernel, or by a kernel of our own.
class Products {
 public:
  // The pool outlives it. `tf32`: products of f32 may round their operands to the 10 bits of TF32.
  Products(cudaStream_t stream, MemoryPool& pool, bool tf32);
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products();

  KernelStatus Launch(const MatMulParams& params);

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
