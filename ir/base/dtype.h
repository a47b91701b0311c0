// Element types of tensors. This header includes nothing else of Tenon and stays C++17, so that
// kernels and device code can use it without the IR.
#ifndef TENON_IR_BASE_DTYPE_H_
#define TENON_IR_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace tenon {

// The element type of a tensor. Values in memory are little-endian and dense. Every element takes
// whole bytes: types of fewer than 8 bits have one element in a byte, as DType says.
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
  // Narrow types: they are stored, moved and converted, and nothing else computes with them. The
  // numbers behind E and M are the bits of exponent and mantissa.
  kF8E4M3FN,    // no infinities; largest number 448
  kF8E4M3FNUZ,  // no infinities, no -0; largest number 240
  kF8E5M2,      // the upper half of an f16
  kF8E5M2FNUZ,  // no infinities, no -0; largest number 57344
  kF8E8M0FNU,   // a power of two, 2^-127 to 2^127, or NaN; no sign and no zero
  kF4E2M1FN,    // no infinities, no NaN; in the low four bits of a byte, the others are 0
  kI4,          // signed, 4 bits; in memory as in an i8
  kI2,          // signed, 2 bits; in memory as in an i8
  kU4,          // unsigned, 4 bits; in memory as in a ui8
  kU2,          // unsigned, 2 bits; in memory as in a ui8
};

inline constexpr int kNumDTypes = 24;  // Enumerators of DType, with kInvalid.

// The size of one element in bytes; 0 for kInvalid.
constexpr size_t SizeOf(DType dtype) {
  constexpr uint8_t kSizes[kNumDTypes] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2,
                                          4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return kSizes[static_cast<uint8_t>(dtype)];
}

// The number of bits that a value of the type has: 1 for kBool, 4 for kI4; 0 for kInvalid.
constexpr int BitsOf(DType dtype) {
  return dtype == DType::kBool                              ? 1
         : dtype == DType::kI2 || dtype == DType::kU2       ? 2
         : dtype >= DType::kF4E2M1FN && dtype <= DType::kU4 ? 4
                                                            : static_cast<int>(8 * SizeOf(dtype));
}

// The name in IR text, such as "f32", "i1" or "ui8"; "invalid" for kInvalid.
constexpr const char* Name(DType dtype) {
  constexpr const char* kNames[kNumDTypes] = {
      "invalid", "i1",         "i8",        "i16",      "i32", "i64", "ui8",      "ui16",
      "ui32",    "ui64",       "f16",       "bf16",     "f32", "f64", "f8E4M3FN", "f8E4M3FNUZ",
      "f8E5M2",  "f8E5M2FNUZ", "f8E8M0FNU", "f4E2M1FN", "i4",  "i2",  "ui4",      "ui2"};
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

// True for the types of at most 8 bits that are only stored, moved and converted. None of the
// predicates above holds for them.
constexpr bool IsNarrow(DType d) { return d >= DType::kF8E4M3FN; }
// True for f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU and f4E2M1FN.
constexpr bool IsNarrowFloat(DType d) { return d >= DType::kF8E4M3FN && d <= DType::kF4E2M1FN; }
// True for i4, i2, ui4 and ui2.
constexpr bool IsNarrowInt(DType d) { return d >= DType::kI4; }
// True for floats of all sizes, also narrow ones.
constexpr bool HoldsFloats(DType d) { return IsFloat(d) || IsNarrowFloat(d); }
// Returns the bits of the significand of a float type, the implicit one included.
constexpr int SignificandBits(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF32:
      return 24;
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
      return 4;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 3;
    case DType::kF4E2M1FN:
      return 2;
    case DType::kF8E8M0FNU:
      return 1;
    default:
      return 53;
  }
}
// True for integers of all sizes with a sign.
constexpr bool HoldsSigned(DType d) { return IsSignedInt(d) || d == DType::kI4 || d == DType::kI2; }
// True for integers of all sizes without a sign.
constexpr bool HoldsUnsigned(DType d) {
  return IsUnsignedInt(d) || d == DType::kU4 || d == DType::kU2;
}

}  // namespace tenon

#endif  // TENON_IR_BASE_DTYPE_H_
