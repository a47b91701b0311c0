// What a kernel sees of a tensor: bytes, a dtype and a shape. Always dense and row-major.
#ifndef TENON_KERNELS_TENSOR_VIEW_H_
#define TENON_KERNELS_TENSOR_VIEW_H_

#include <cstdint>
#include <span>

#include "ir/core/dtype.h"

namespace tenon::kernels {

// A borrowed tensor. `data` has at least the alignment of the element type (arena and packed
// tensors 64 bytes; constants read from a model file may have less and are copied by the executor
// first). An absent optional operand has dtype kInvalid.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kInvalid;
  std::span<const int64_t> shape;

  bool present() const { return dtype != DType::kInvalid; }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t dim(int i) const { return shape[i < 0 ? i + shape.size() : i]; }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  int64_t bytes() const { return numel() * static_cast<int64_t>(SizeOf(dtype)); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_TENSOR_VIEW_H_
