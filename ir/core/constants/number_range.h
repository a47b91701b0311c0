// The range of numbers in a constant.
#ifndef TENON_IR_CORE_CONSTANTS_NUMBER_RANGE_H_
#define TENON_IR_CORE_CONSTANTS_NUMBER_RANGE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/core/attribute.h"

namespace tenon {

// Extremes of a set of numbers. Infinities and NaNs have flags and count in no extreme.
struct NumberRange {
  // Of the finite numbers. lowest > highest means that there are none.
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  // The smallest |x| of the finite numbers other than zero.
  double smallest = std::numeric_limits<double>::infinity();
  bool has_zero = false;
  bool has_infinity = false;
  bool has_nan = false;

  bool is_finite() const { return !has_infinity && !has_nan; }
  // The largest |x| of the finite numbers; 0 if there are none.
  double largest() const { return std::max({0.0, highest, -lowest}); }
};

// Returns the range of a kElements attribute of any element type; bools are 0 and 1. Reads all
// elements; the Context caches the result for large constants. Deferred bytes are computed for it
// and not kept. If there is no memory for them, infinities, NaN and zero are reported. Thread-safe.
NumberRange RangeOf(Attribute elements);

// The smallest positive normal number and the largest finite number of a float type.
double SmallestNormal(DType dtype);
double LargestFinite(DType dtype);

// True if `number` is zero, or finite and normal when rounded to `dtype`.
inline bool HoldsNormally(DType dtype, double number) {
  return number == 0 ||
         (std::abs(number) >= SmallestNormal(dtype) && std::abs(number) <= LargestFinite(dtype));
}

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_NUMBER_RANGE_H_
