#include "ir/base/narrow_number.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

// A float of at most 8 bits with a sign: exponent above mantissa.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  uint8_t largest;   // the bits of the largest number
  uint8_t infinity;  // the bits of infinity; 0: there is none
  uint8_t nan;       // the bits of NaN; 0: there is none
  bool one_zero;     // -0 has the bits of NaN

  uint8_t sign() const { return static_cast<uint8_t>(1u << (exponent_bits + mantissa_bits)); }
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return {4, 3, 7, 0x7e, 0, 0x7f, false};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, 0x7f, 0, 0x80, true};
    case DType::kF8E5M2:
      return {5, 2, 15, 0x7b, 0x7c, 0x7e, false};
    case DType::kF8E5M2FNUZ:
      return {5, 2, 16, 0x7f, 0, 0x80, true};
    default:  // kF4E2M1FN
      return {2, 1, 1, 0x7, 0, 0, false};
  }
}

// A magnitude of whole units, without a fraction.
double RoundUnits(double units, NarrowRounding rounding) {
  switch (rounding) {
    case NarrowRounding::kNearest:
      return std::nearbyint(units);  // halves to even
    case NarrowRounding::kUp:
      return std::ceil(units);
    case NarrowRounding::kDown:
      break;
  }
  return std::floor(units);
}

uint8_t EncodeFloat(const Format& format, double value, bool saturate, NarrowRounding rounding) {
  const uint8_t sign = std::signbit(value) ? format.sign() : 0;
  if (std::isnan(value)) {
    if (format.nan == 0) return format.sign();
    return format.one_zero ? format.nan : sign | format.nan;
  }
  const uint8_t beyond = saturate || format.nan == 0 ? sign | format.largest
                         : format.infinity != 0      ? sign | format.infinity
                         : format.one_zero           ? format.nan
                                                     : sign | format.nan;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return beyond;
  uint64_t bits = 0;
  if (magnitude != 0) {
    // Subnormals have the scale of the smallest normal numbers.
    const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
    const double units =
        RoundUnits(std::ldexp(magnitude, format.mantissa_bits - exponent), rounding);
    // `units` has the implicit bit, which adds one to the exponent. So does a carry of rounding.
    bits = static_cast<uint64_t>(units) +
           (static_cast<uint64_t>(exponent + format.bias - 1) << format.mantissa_bits);
  }
  if (bits > format.largest) return beyond;
  if (bits == 0 && format.one_zero) return 0;
  return sign | static_cast<uint8_t>(bits);
}

double DecodeFloat(const Format& format, uint8_t element) {
  const bool negative = (element & format.sign()) != 0;
  const int magnitude = element & (format.sign() - 1);
  double value = 0;
  if (format.one_zero && element == format.nan) return std::nan("");
  if (format.infinity != 0 && magnitude == format.infinity) {
    value = std::numeric_limits<double>::infinity();
  } else if (magnitude > format.largest) {
    value = std::nan("");
  } else {
    const int exponent = magnitude >> format.mantissa_bits;
    const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
    const int units = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
    value = std::ldexp(units, std::max(exponent, 1) - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

constexpr int kE8M0Bias = 127;
constexpr uint8_t kE8M0Nan = 0xff;

uint8_t EncodePower(double value, bool saturate, NarrowRounding rounding) {
  if (std::isnan(value) || value < 0) return kE8M0Nan;
  const uint8_t largest = saturate ? kE8M0Nan - 1 : kE8M0Nan;
  if (std::isinf(value)) return largest;
  if (value < std::ldexp(1.0, -kE8M0Bias)) return saturate ? 0 : kE8M0Nan;
  int exponent = std::ilogb(value);
  const double mantissa = std::ldexp(value, -exponent);  // in [1, 2)
  const bool up = rounding == NarrowRounding::kNearest
                      ? mantissa >= 1.5
                      : rounding == NarrowRounding::kUp && mantissa > 1;
  if (up) ++exponent;
  return exponent > kE8M0Bias ? largest : static_cast<uint8_t>(exponent + kE8M0Bias);
}

uint8_t EncodeInt(DType dtype, double value, bool saturate, NarrowRounding rounding) {
  if (std::isnan(value)) return 0;
  const double rounded = std::copysign(RoundUnits(std::fabs(value), rounding), value);
  const int bits = BitsOf(dtype);
  const double low = HoldsSigned(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  const double high = std::ldexp(1.0, HoldsSigned(dtype) ? bits - 1 : bits) - 1;
  if (saturate)
    return LowBits(dtype,
                   static_cast<uint64_t>(static_cast<int64_t>(std::clamp(rounded, low, high))));
  if (rounded >= 0x1p63) return LowBits(dtype, INT64_MAX);
  if (rounded < -0x1p63) return LowBits(dtype, static_cast<uint64_t>(INT64_MIN));
  return LowBits(dtype, static_cast<uint64_t>(static_cast<int64_t>(rounded)));
}

}  // namespace

uint8_t LowBits(DType dtype, uint64_t value) {
  const int unused = 8 - BitsOf(dtype);
  const auto upper = static_cast<uint8_t>(value << unused);
  return HoldsSigned(dtype) ? static_cast<uint8_t>(static_cast<int8_t>(upper) >> unused)
                            : static_cast<uint8_t>(upper >> unused);
}

uint8_t NarrowElement(DType dtype, uint8_t bits) {
  if (IsNarrowInt(dtype)) return LowBits(dtype, bits);
  return dtype == DType::kF4E2M1FN ? bits & 0xf : bits;
}

double NarrowToDouble(DType dtype, uint8_t element) {
  if (IsNarrowInt(dtype)) {
    const uint8_t whole = LowBits(dtype, element);
    return HoldsSigned(dtype) ? static_cast<int8_t>(whole) : whole;
  }
  if (dtype != DType::kF8E8M0FNU)
    return DecodeFloat(FormatOf(dtype), NarrowElement(dtype, element));
  return element == kE8M0Nan ? std::nan("") : std::ldexp(1.0, element - kE8M0Bias);
}

uint8_t DoubleToNarrow(DType dtype, double value, bool saturate, NarrowRounding rounding) {
  if (IsNarrowInt(dtype)) return EncodeInt(dtype, value, saturate, rounding);
  if (dtype == DType::kF8E8M0FNU) return EncodePower(value, saturate, rounding);
  return EncodeFloat(FormatOf(dtype), value, saturate, rounding);
}

double NarrowEpsilon(DType dtype) {
  return dtype == DType::kF8E8M0FNU ? 1 : std::ldexp(1.0, -FormatOf(dtype).mantissa_bits);
}

}  // namespace tenon
