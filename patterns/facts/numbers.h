// Numbers that rules match and compute. Private to patterns.
#ifndef TENON_PATTERNS_FACTS_NUMBERS_H_
#define TENON_PATTERNS_FACTS_NUMBERS_H_

#include <cmath>
#include <limits>
#include <optional>

#include "ir/core/dtype.h"

namespace tenon::pattern {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Of f32.
inline constexpr double kLargest = std::numeric_limits<float>::max();
inline constexpr double kLowest = std::numeric_limits<float>::lowest();

// Returns the number if `dtype` holds it as zero, or as a finite and normal number; nullopt
// otherwise, so that the rule does not fire.
inline std::optional<double> Held(DType dtype, double number) {
  double smallest = std::numeric_limits<float>::min(), largest = kLargest;
  if (dtype == DType::kF16) {
    smallest = std::exp2(-14);
    largest = 65504;
  } else if (dtype == DType::kBF16) {
    largest = 255 * std::exp2(120);
  } else if (dtype == DType::kF64) {
    smallest = std::numeric_limits<double>::min();
    largest = std::numeric_limits<double>::max();
  }
  const double size = std::abs(number);
  return size == 0 || (size >= smallest && size <= largest) ? std::optional(number) : std::nullopt;
}
// Returns the product in the same way. Also nullopt if it is zero and neither factor is.
inline std::optional<double> HeldProduct(DType dtype, double x, double y) {
  const double product = x * y;
  if (product == 0 && x != 0 && y != 0) return std::nullopt;
  return Held(dtype, product);
}

inline double Same(double x) { return x; }
inline double Inverse(double x) { return 1 / x; }
inline double Negated(double x) { return -x; }
inline double Times(double x, double y) { return x * y; }

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FACTS_NUMBERS_H_
