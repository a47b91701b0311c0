// From a run-time dtype to a C++ element type, and the types in which reference kernels compute.
#ifndef TENON_KERNELS_REFERENCE_DISPATCH_H_
#define TENON_KERNELS_REFERENCE_DISPATCH_H_

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/half.h"
#include "kernels/kernel.h"

namespace tenon::kernels {

template <typename T>
struct Tag {
  using type = T;
};

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type of elementwise arithmetic: float for 16-bit floats, and T otherwise.
template <typename T>
using Compute = std::conditional_t<kIsFloat<T> && sizeof(T) == 2, float, T>;

// The type of sums: double for floats, and wrapping 64-bit arithmetic for integers.
template <typename T>
using Accumulate = std::conditional_t<kIsFloat<T>, double, uint64_t>;

inline KernelStatus UnsupportedDtype(DType dtype) {
  return KernelStatus::Unsupported(std::string("no reference kernel for dtype ") + Name(dtype));
}

// Each Dispatch function calls f(Tag<T>{}) for the element type T and returns its status. It
// returns Unsupported for other dtypes.
template <typename F>
KernelStatus DispatchFloat(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(Tag<float>{});
    case DType::kF64:
      return f(Tag<double>{});
    case DType::kF16:
      return f(Tag<Half>{});
    case DType::kBF16:
      return f(Tag<BFloat16>{});
    default:
      return UnsupportedDtype(dtype);
  }
}

template <typename F>
KernelStatus DispatchInt(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kI8:
      return f(Tag<int8_t>{});
    case DType::kI16:
      return f(Tag<int16_t>{});
    case DType::kI32:
      return f(Tag<int32_t>{});
    case DType::kI64:
      return f(Tag<int64_t>{});
    case DType::kU8:
      return f(Tag<uint8_t>{});
    case DType::kU16:
      return f(Tag<uint16_t>{});
    case DType::kU32:
      return f(Tag<uint32_t>{});
    case DType::kU64:
      return f(Tag<uint64_t>{});
    default:
      return UnsupportedDtype(dtype);
  }
}

template <typename F>
KernelStatus DispatchNumber(DType dtype, F&& f) {
  return IsFloat(dtype) ? DispatchFloat(dtype, f) : DispatchInt(dtype, f);
}

// All numbers, and bool as bytes of 0 or 1.
template <typename F>
KernelStatus DispatchAny(DType dtype, F&& f) {
  return dtype == DType::kBool ? f(Tag<uint8_t>{}) : DispatchNumber(dtype, f);
}

// By element size, for kernels that only move elements.
template <typename F>
KernelStatus DispatchSize(DType dtype, F&& f) {
  switch (SizeOf(dtype)) {
    case 1:
      return f(Tag<uint8_t>{});
    case 2:
      return f(Tag<uint16_t>{});
    case 4:
      return f(Tag<uint32_t>{});
    case 8:
      return f(Tag<uint64_t>{});
    default:
      return UnsupportedDtype(dtype);
  }
}

// Converts any value. Floats become integers by truncation, saturated at 64 bits and wrapped to the
// narrower type. NaN becomes 0.
template <typename To, typename From>
To Convert(From value) {
  if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    const double d = static_cast<double>(static_cast<Compute<From>>(value));
    if (std::isnan(d)) return To{0};
    if (d >= 0x1p63) {
      if (std::is_same_v<To, uint64_t> && d < 0x1p64)
        return static_cast<To>(static_cast<uint64_t>(d));
      return std::numeric_limits<To>::max();
    }
    if (d < -0x1p63) return std::numeric_limits<To>::min();
    return static_cast<To>(static_cast<int64_t>(d));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Returns element i of an integer tensor, usually of i32 or i64.
inline int64_t IndexAt(const TensorView& view, int64_t i) {
  switch (view.dtype) {
    case DType::kI64:
      return view.as<int64_t>()[i];
    case DType::kI32:
      return view.as<int32_t>()[i];
    case DType::kI16:
      return view.as<int16_t>()[i];
    case DType::kI8:
      return view.as<int8_t>()[i];
    case DType::kU8:
      return view.as<uint8_t>()[i];
    case DType::kU16:
      return view.as<uint16_t>()[i];
    case DType::kU32:
      return view.as<uint32_t>()[i];
    case DType::kU64:
      return static_cast<int64_t>(view.as<uint64_t>()[i]);
    default:
      return 0;
  }
}

// Returns element i of any dtype as double.
inline double DoubleAt(const TensorView& view, int64_t i) {
  switch (view.dtype) {
    case DType::kF32:
      return view.as<float>()[i];
    case DType::kF64:
      return view.as<double>()[i];
    case DType::kF16:
      return static_cast<float>(view.as<Half>()[i]);
    case DType::kBF16:
      return static_cast<float>(view.as<BFloat16>()[i]);
    case DType::kBool:
      return view.as<uint8_t>()[i] != 0;
    case DType::kU64:
      return static_cast<double>(view.as<uint64_t>()[i]);
    default:
      return static_cast<double>(IndexAt(view, i));
  }
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REFERENCE_DISPATCH_H_
