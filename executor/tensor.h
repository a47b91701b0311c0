// Tensors that users hand to programs and get back.
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
#include "ir/core/attribute.h"
#include "ir/core/dtype.h"
#include "kernels/tensor_view.h"

namespace tenon {

// A dense row-major tensor whose bytes are shared by its copies. Null when default-constructed.
class Tensor {
 public:
  Tensor() = default;
  // Bytes are not initialised; 64-byte aligned.
  static Tensor Make(DType dtype, std::span<const int64_t> shape);
  static Tensor Make(DType dtype, std::initializer_list<int64_t> shape) {
    return Make(dtype, std::span<const int64_t>(shape.begin(), shape.size()));
  }
  // The same, for sizes that come from a model or a user: too large a tensor is an error.
  static absl::StatusOr<Tensor> TryMake(DType dtype, std::span<const int64_t> shape);
  static Tensor Copy(DType dtype, std::span<const int64_t> shape, const void* data);
  // Shares the bytes where their alignment allows; always with `any_alignment`. REQUIRES:
  // kElements.
  static absl::StatusOr<Tensor> FromAttribute(Attribute elements, bool any_alignment = false);
  // Shares memory that lives as long as `owner`.
  static Tensor Borrow(DType dtype, std::span<const int64_t> shape, void* data,
                       std::shared_ptr<const void> owner);

  DType dtype() const { return dtype_; }
  std::span<const int64_t> shape() const { return shape_; }
  int64_t numel() const;
  size_t num_bytes() const { return static_cast<size_t>(numel()) * SizeOf(dtype_); }
  void* data() const { return data_; }
  // What keeps the bytes alive; null if that is somebody else's business.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  // Another shape for the same bytes. REQUIRES: they are enough.
  void set_shape(std::span<const int64_t> shape) { shape_.assign(shape.begin(), shape.end()); }
  bool aligned() const { return reinterpret_cast<uintptr_t>(data_) % SizeOf(dtype_) == 0; }
  kernels::TensorView view() const { return {data_, dtype_, shape_}; }
  explicit operator bool() const { return dtype_ != DType::kInvalid; }
  // "2x3xf32"
  std::string type_text() const;

 private:
  DType dtype_ = DType::kInvalid;
  std::vector<int64_t> shape_;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// More than a process can address; sums of a few thousand fit into 64 bits.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 47;

// Bytes of a dense tensor. ResourceExhausted for more than kMaxTensorBytes and where the product of
// the extents that are not 0 does not fit into 64 bits. REQUIRES: no extent is negative.
absl::StatusOr<int64_t> CheckedBytes(DType dtype, std::span<const int64_t> shape);

// "2x3xf32"
std::string ShapeText(DType dtype, std::span<const int64_t> shape);

// `bytes` bytes aligned to 64, freed with the pointer. Never null, also for 0 bytes.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateAligned(size_t bytes);

}  // namespace tenon

#endif  // TENON_EXECUTOR_TENSOR_H_
