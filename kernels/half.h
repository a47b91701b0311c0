// 16-bit floating-point elements, converted in software. Rounds to nearest even.
#ifndef TENON_KERNELS_HALF_H_
#define TENON_KERNELS_HALF_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "ir/base/bfloat16.h"

namespace tenon::kernels {

namespace half_internal {

// Returns the nearest float whose lowest bit is set if d is not exact ("round to odd"). Rounding it
// again to fewer bits equals rounding d directly.
inline float RoundToOdd(double d) {
  float f = static_cast<float>(d);
  if (std::isnan(d) || std::isinf(d) || static_cast<double>(f) == d) return f;
  if (std::fabs(static_cast<double>(f)) > std::fabs(d)) f = std::nextafter(f, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | 1u);
}

inline uint16_t HalfBits(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
  if (magnitude < 0x38800000u) {  // subnormal half: adding 0.5 leaves the rounded bits at the end
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000u);
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1fu;
  const uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -value : value;
}

}  // namespace half_internal

// IEEE half: an element of f16.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float f) : bits(half_internal::HalfBits(f)) {}
  explicit Half(double d) : Half(half_internal::RoundToOdd(d)) {}
  operator float() const { return half_internal::HalfToFloat(bits); }  // NOLINT: as numbers do
};

// bfloat16: an element of bf16.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f) : bits(FloatToBFloat16(f)) {}
  explicit BFloat16(double d) : BFloat16(half_internal::RoundToOdd(d)) {}
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }  // NOLINT
};

static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_HALF_H_
