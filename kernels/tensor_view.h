// A tensor as kernels see it: bytes, a dtype and a shape; dense and row-major.
#ifndef TENON_KERNELS_TENSOR_VIEW_H_
#define TENON_KERNELS_TENSOR_VIEW_H_

#include <cstdint>
#include <span>

#include "ir/base/dtype.h"

namespace tenon::kernels {

// A borrowed tensor. `data` is aligned to the element type, and to 64 bytes in the arena and in
// packed weights. The executor copies constants of model files that are aligned less, unless the
// kernel accepts them (Kernel::unaligned_inputs). An absent optional operand has dtype kInvalid.
struct TensorView {
  void* data = nullptr;            // not owned; null if the contents are not known
  DType dtype = DType::kInvalid;   // the element type
  std::span<const int64_t> shape;  // the extents; not owned

  bool present() const { return dtype != DType::kInvalid; }    // false for an absent operand
  int rank() const { return static_cast<int>(shape.size()); }  // the number of dimensions
  // Dimension `i`; negative ones count from the end.
  int64_t dim(int i) const { return shape[i < 0 ? i + shape.size() : i]; }
  // The number of elements.
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  // The size in bytes.
  int64_t bytes() const { return numel() * static_cast<int64_t>(SizeOf(dtype)); }
  // The data as elements of C++ type T, which must fit `dtype`.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_TENSOR_VIEW_H_
