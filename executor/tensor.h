// Tensors that hosts pass to programs and get back.
#ifndef TENON_EXECUTOR_TENSOR_H_
#define TENON_EXECUTOR_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/dtype.h"
#include "ir/core/attribute.h"
#include "kernels/tensor_view.h"

namespace tenon {

// A dense row-major tensor. Copies share its bytes. A default-constructed tensor is null. A tensor
// does not synchronize access to its bytes: do not write them while a run or another thread reads
// them.
class Tensor {
 public:
  Tensor() = default;
  // Returns a tensor with uninitialized bytes, aligned to 64. Throws std::bad_alloc if there
  // is no memory or the tensor is too large; so does Copy.
  static Tensor Make(DType dtype, std::span<const int64_t> shape);
  static Tensor Make(DType dtype, std::initializer_list<int64_t> shape) {
    return Make(dtype, std::span<const int64_t>(shape.begin(), shape.size()));
  }
  // The same for sizes that come from a model or a user: returns ResourceExhausted instead. No
  // extent may be negative.
  static absl::StatusOr<Tensor> TryMake(DType dtype, std::span<const int64_t> shape);
  // Returns a tensor with a copy of the bytes at `data`, which need no alignment.
  static Tensor Copy(DType dtype, std::span<const int64_t> shape, const void* data);
  // Returns a tensor with the contents of `elements`, which must be a kElements attribute. Shares
  // its bytes if they are aligned to the element type, or in any case with `any_alignment`;
  // otherwise copies them. Do not write to shared bytes. ResourceExhausted if a splat does not fit
  // into memory; other failed allocations end the program.
  static absl::StatusOr<Tensor> FromAttribute(Attribute elements, bool any_alignment = false);
  // Returns a tensor over memory that `owner` keeps alive. With a null `owner` the memory must
  // outlive all copies of the tensor. `data` must be aligned to the element type to be bound or
  // run.
  static Tensor Borrow(DType dtype, std::span<const int64_t> shape, void* data,
                       std::shared_ptr<const void> owner);

  // The element type.
  DType dtype() const { return dtype_; }
  // The extent of each axis.
  std::span<const int64_t> shape() const { return shape_; }
  // The number of elements.
  int64_t numel() const;
  // The size of the elements in bytes.
  size_t num_bytes() const { return static_cast<size_t>(numel()) * SizeOf(dtype_); }
  // The first byte. Copies of the tensor share it.
  void* data() const { return data_; }
  // The owner of the bytes; null if they belong to somebody else.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // The bytes as elements of C++ type T, which must fit dtype().
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  // Gives the same bytes another shape, which must not need more of them.
  void set_shape(std::span<const int64_t> shape) { shape_.assign(shape.begin(), shape.end()); }
  // True if the bytes are aligned to the element type.
  bool aligned() const { return reinterpret_cast<uintptr_t>(data_) % SizeOf(dtype_) == 0; }
  // A view that is valid as long as this object and its shape.
  kernels::TensorView view() const { return {data_, dtype_, shape_}; }
  // False for a null tensor.
  explicit operator bool() const { return dtype_ != DType::kInvalid; }
  // Text such as "2x3xf32".
  std::string type_text() const;

 private:
  DType dtype_ = DType::kInvalid;
  std::vector<int64_t> shape_;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// The largest tensor, in bytes: more than a process can address.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 47;

// Returns the size of a dense tensor in bytes. ResourceExhausted above kMaxTensorBytes, or if the
// product of the extents other than 0 exceeds 64 bits. No extent may be negative.
absl::StatusOr<int64_t> CheckedBytes(DType dtype, std::span<const int64_t> shape);

// Returns text such as "2x3xf32".
std::string ShapeText(DType dtype, std::span<const int64_t> shape);

// Returns `bytes` bytes aligned to 64, never null. ResourceExhausted if there is no memory, or if
// the program of the run has used up its limit.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateAligned(size_t bytes);

}  // namespace tenon

#endif  // TENON_EXECUTOR_TENSOR_H_
