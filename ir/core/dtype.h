// Element types of tensors. This header includes nothing else of Tenon and stays C++17, so that
// kernels and device code can use it without the IR.
#ifndef TENON_IR_CORE_DTYPE_H_
#define TENON_IR_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace tenon {

// The element type of a tensor. Values in memory are little-endian and dense.
enum class DType : uint8_t {
  kInvalid = 0,  // no element type
  kBool,         // "i1" in text; one byte in memory, 0 or 1
  kI8,           // signed, 8 bits
  kI16,          // signed, 16 bits
  kI32,          // signed, 32 bits
  kI64,          // signed, 64 bits
  kU8,           // unsigned, 8 bits; "ui8" in text
  kU16,          // unsigned, 16 bits
  kU32,          // unsigned, 32 bits
  kU64,          // unsigned, 64 bits
  kF16,          // IEEE half precision
  kBF16,         // bfloat16: the upper half of an f32
  kF32,          // IEEE single precision
  kF64,          // IEEE double precision
};

inline constexpr int kNumDTypes = 14;  // Enumerators of DType, with kInvalid.

// The size of one element in bytes; 0 for kInvalid.
constexpr size_t SizeOf(DType dtype) {
  constexpr uint8_t kSizes[kNumDTypes] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<uint8_t>(dtype)];
}

// The name in IR text, such as "f32", "i1" or "ui8"; "invalid" for kInvalid.
constexpr const char* Name(DType dtype) {
  constexpr const char* kNames[kNumDTypes] = {"invalid", "i1",   "i8",   "i16",  "i32",
                                              "i64",     "ui8",  "ui16", "ui32", "ui64",
                                              "f16",     "bf16", "f32",  "f64"};
  return kNames[static_cast<uint8_t>(dtype)];
}

// True for f16, bf16, f32 and f64. kBool is neither a float nor an integer type.
constexpr bool IsFloat(DType d) { return d >= DType::kF16 && d <= DType::kF64; }
// True for i8, i16, i32 and i64.
constexpr bool IsSignedInt(DType d) { return d >= DType::kI8 && d <= DType::kI64; }
// True for ui8, ui16, ui32 and ui64.
constexpr bool IsUnsignedInt(DType d) { return d >= DType::kU8 && d <= DType::kU64; }
// True for signed and unsigned integers.
constexpr bool IsInt(DType d) { return d >= DType::kI8 && d <= DType::kU64; }

}  // namespace tenon

#endif  // TENON_IR_CORE_DTYPE_H_
