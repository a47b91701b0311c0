#include "ir/base/element_access.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ir/base/narrow_number.h"

namespace tenon {
namespace {

template <typename T>
T Load(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof(T));
  return v;
}

template <typename T>
void Store(T v, std::byte* at) {
  std::memcpy(at, &v, sizeof(T));
}

// 2^exponent, which is a normal double.
double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Rounds a double to a binary format with `mantissa` bits and `exponent` bits, nearest even, and
// returns its bits. Done on the double itself, so that there is no double rounding.
uint32_t RoundToFormat(double value, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t sign = std::signbit(value) ? 1u << (exponent_bits + mantissa_bits) : 0;
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(value)) return sign | infinity | (1u << (mantissa_bits - 1));
  double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal: fixed scale
  // The unit in the last place is 2^(exponent - mantissa_bits); nearbyint rounds to even.
  double units = std::nearbyint(magnitude * PowerOfTwo(mantissa_bits - exponent));
  auto integer = static_cast<uint64_t>(units);
  // `integer` carries the implicit bit, so adding (exponent + bias - 1) << mantissa_bits gives the
  // bits, also when rounding carried into the next binade.
  uint64_t bits = integer + (static_cast<uint64_t>(exponent + bias - 1) << mantissa_bits);
  if (bits >= infinity) bits = infinity;
  return sign | static_cast<uint32_t>(bits);
}

}  // namespace

double HalfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double magnitude = exponent == 31  ? (mantissa ? std::nan("") : INFINITY)
                     : exponent == 0 ? mantissa * PowerOfTwo(-24)
                                     : (1024 + mantissa) * PowerOfTwo(exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t DoubleToHalf(double value) { return static_cast<uint16_t>(RoundToFormat(value, 5, 10)); }

double BFloat16ToDouble(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t DoubleToBFloat16(double value) {
  return static_cast<uint16_t>(RoundToFormat(value, 8, 7));
}

double LoadAsDouble(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kF32:
      return Load<float>(at);
    case DType::kF64:
      return Load<double>(at);
    case DType::kF16:
      return HalfToDouble(Load<uint16_t>(at));
    case DType::kBF16:
      return BFloat16ToDouble(Load<uint16_t>(at));
    case DType::kU64:
      return static_cast<double>(Load<uint64_t>(at));
    default:
      return IsNarrow(dtype) ? NarrowToDouble(dtype, Load<uint8_t>(at))
                             : static_cast<double>(LoadAsInt(dtype, at));
  }
}

int64_t LoadAsInt(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kBool:
      return Load<uint8_t>(at) != 0;
    case DType::kI8:
      return Load<int8_t>(at);
    case DType::kI16:
      return Load<int16_t>(at);
    case DType::kI32:
      return Load<int32_t>(at);
    case DType::kI64:
      return Load<int64_t>(at);
    case DType::kU8:
      return Load<uint8_t>(at);
    case DType::kU16:
      return Load<uint16_t>(at);
    case DType::kU32:
      return Load<uint32_t>(at);
    case DType::kU64:
      return static_cast<int64_t>(Load<uint64_t>(at));
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kF4E2M1FN: {
      double v = LoadAsDouble(dtype, at);
      if (std::isnan(v)) return 0;
      if (v >= 9223372036854775807.0) return INT64_MAX;
      if (v <= -9223372036854775808.0) return INT64_MIN;
      return static_cast<int64_t>(v);
    }
    case DType::kI4:
    case DType::kI2:
    case DType::kU4:
    case DType::kU2:
      return static_cast<int64_t>(NarrowToDouble(dtype, Load<uint8_t>(at)));
    case DType::kInvalid:
      return 0;
  }
  return 0;
}

void StoreFromDouble(DType dtype, double value, std::byte* at) {
  auto integer = [&](double low, double high) {
    if (std::isnan(value)) return 0.0;
    return value < low ? low : value > high ? high : value;
  };
  switch (dtype) {
    case DType::kBool:
      return Store<uint8_t>(value != 0, at);
    case DType::kI8:
      return Store(static_cast<int8_t>(integer(-128, 127)), at);
    case DType::kI16:
      return Store(static_cast<int16_t>(integer(-32768, 32767)), at);
    case DType::kI32:
      return Store(static_cast<int32_t>(integer(INT32_MIN, INT32_MAX)), at);
    case DType::kI64:
      return Store(
          value >= 9223372036854775807.0
              ? INT64_MAX
              : static_cast<int64_t>(integer(-9223372036854775808.0, 9223372036854774784.0)),
          at);
    case DType::kU8:
      return Store(static_cast<uint8_t>(integer(0, 255)), at);
    case DType::kU16:
      return Store(static_cast<uint16_t>(integer(0, 65535)), at);
    case DType::kU32:
      return Store(static_cast<uint32_t>(integer(0, UINT32_MAX)), at);
    case DType::kU64:
      return Store(static_cast<uint64_t>(integer(0, 1.8446744073709549e19)), at);
    case DType::kF16:
      return Store(DoubleToHalf(value), at);
    case DType::kBF16:
      return Store(DoubleToBFloat16(value), at);
    case DType::kF32:
      return Store(static_cast<float>(value), at);
    case DType::kF64:
      return Store(value, at);
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
    case DType::kF4E2M1FN:
    case DType::kI4:
    case DType::kI2:
    case DType::kU4:
    case DType::kU2:
      // Infinity stays infinity, as in the other floats that have one.
      return Store(
          DoubleToNarrow(dtype, value, dtype != DType::kF8E5M2 || !std::isinf(value),
                         IsNarrowInt(dtype) ? NarrowRounding::kDown : NarrowRounding::kNearest),
          at);
    case DType::kInvalid:
      return;
  }
}

}  // namespace tenon
