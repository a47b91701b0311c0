#include "executor/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "executor/memory/memory_budget.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"

namespace tenon {
namespace {
constexpr std::align_val_t kAlignment{64};
}  // namespace

absl::StatusOr<std::shared_ptr<std::byte>> AllocateAligned(size_t bytes) {
  TENON_ASSIGN_OR_RETURN(MemoryBudget::Charge charge, MemoryBudget::Take(bytes));
  // The C library gives memory of its own alignment in a tenth of the time. With a sanitizer no
  // byte more than asked for may be there.
#ifdef __SANITIZE_ADDRESS__
  constexpr size_t kSmall = 0;
#else
  constexpr size_t kSmall = size_t{1} << 16;
#endif
  if (bytes > 0 && bytes <= kSmall) {
    constexpr auto kLine = static_cast<size_t>(kAlignment);
    auto* whole = static_cast<std::byte*>(::operator new(bytes + kLine, std::nothrow));
    if (whole != nullptr) {
      std::byte* aligned = whole + (kLine - reinterpret_cast<uintptr_t>(whole) % kLine) % kLine;
      return std::shared_ptr<std::byte>(
          aligned, [charge = std::move(charge), whole](std::byte*) { ::operator delete(whole); });
    }
  }
  auto* memory =
      static_cast<std::byte*>(::operator new(bytes == 0 ? 1 : bytes, kAlignment, std::nothrow));
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes of memory cannot be allocated {}", bytes, kMemoryLimit));
  }
  return std::shared_ptr<std::byte>(
      memory, [charge = std::move(charge)](std::byte* p) { ::operator delete(p, kAlignment); });
}

absl::StatusOr<int64_t> CheckedBytes(DType dtype, std::span<const int64_t> shape) {
  // Exact up to 2^53, and beyond that only compared.
  double elements = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    empty = empty || extent == 0;
    elements *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  const double bytes = elements * static_cast<double>(SizeOf(dtype));
  if (empty ? elements >= 0x1p63 : bytes > static_cast<double>(kMaxTensorBytes)) {
    return absl::ResourceExhaustedError(fmt::format("{} needs {:.4g} bytes (expected {} at most)",
                                                    ShapeText(dtype, shape), bytes,
                                                    kMaxTensorBytes));
  }
  return empty ? 0 : static_cast<int64_t>(bytes);
}

absl::StatusOr<Tensor> Tensor::TryMake(DType dtype, std::span<const int64_t> shape) {
  TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
  Tensor t;
  t.dtype_ = dtype;
  t.shape_.assign(shape.begin(), shape.end());
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                         AllocateAligned(static_cast<size_t>(bytes)));
  t.data_ = memory.get();
  t.owner_ = std::move(memory);
  return t;
}

Tensor Tensor::Make(DType dtype, std::span<const int64_t> shape) {
  absl::StatusOr<Tensor> t = TryMake(dtype, shape);
  if (absl::IsResourceExhausted(t.status())) throw std::bad_alloc();
  TENON_CHECK_MSG(t.ok(), std::string(t.status().message()));
  return *std::move(t);
}

Tensor Tensor::Copy(DType dtype, std::span<const int64_t> shape, const void* data) {
  Tensor t = Make(dtype, shape);
  if (t.num_bytes() > 0) std::memcpy(t.data_, data, t.num_bytes());
  return t;
}

Tensor Tensor::Borrow(DType dtype, std::span<const int64_t> shape, void* data,
                      std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_.assign(shape.begin(), shape.end());
  t.data_ = data;
  t.owner_ = std::move(owner);
  return t;
}

absl::StatusOr<Tensor> Tensor::FromAttribute(Attribute elements, bool any_alignment) {
  const Type type = elements.type();
  std::vector<int64_t> shape;
  for (DimExpr d : type.dims()) shape.push_back(d.constant());
  if (elements.is_splat()) {  // a few bytes of a model may stand for more than the memory holds
    TENON_ASSIGN_OR_RETURN(Tensor t, TryMake(type.dtype(), shape));
    const size_t size = SizeOf(type.dtype());
    for (size_t at = 0; at < t.num_bytes(); at += size)
      std::memcpy(t.as<std::byte>() + at, elements.raw_bytes().data(), size);
    return t;
  }
  std::shared_ptr<const Blob> blob = elements.DenseBlob();
  if (!any_alignment && blob->alignment() < SizeOf(type.dtype()))
    return Copy(type.dtype(), shape, blob->bytes().data());
  // Constants are never written: kernels get them as inputs only.
  void* data = const_cast<std::byte*>(blob->bytes().data());
  return Borrow(type.dtype(), shape, data, std::move(blob));
}

int64_t Tensor::numel() const {
  int64_t n = 1;
  for (int64_t d : shape_) n *= d;
  return n;
}

std::string Tensor::type_text() const { return ShapeText(dtype_, shape_); }

std::string ShapeText(DType dtype, std::span<const int64_t> shape) {
  std::string text;
  for (int64_t d : shape) text += fmt::format("{}x", d);
  return text + Name(dtype);
}

}  // namespace tenon
