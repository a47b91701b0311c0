// What numbers the elements of a constant are.
#ifndef TENON_IR_CORE_NUMBER_RANGE_H_
#define TENON_IR_CORE_NUMBER_RANGE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/core/attribute.h"

namespace tenon {

// The extremes of a set of numbers. Infinities and NaNs are told of, and are in no extreme.
struct NumberRange {
  double lowest = std::numeric_limits<double>::infinity();    // of the finite ones; …
  double highest = -std::numeric_limits<double>::infinity();  // … lowest > highest: there is none
  double smallest = std::numeric_limits<double>::infinity();  // |x| of the finite ones but zero
  bool has_zero = false;
  bool has_infinity = false;
  bool has_nan = false;

  bool is_finite() const { return !has_infinity && !has_nan; }
  // The largest |x| of the finite ones; 0 if there is none.
  double largest() const { return std::max({0.0, highest, -lowest}); }
};

// The range of a kElements attribute of any element type; bools are 0 and 1. Reads all elements
// once; the Context keeps the answer for large ones. Thread-safe. Bytes that are made when somebody
// reads them are made for it, and not kept.
NumberRange RangeOf(Attribute elements);

// The smallest and largest positive numbers of a float type that have all its bits.
double SmallestNormal(DType dtype);
double LargestFinite(DType dtype);

// Is it zero, or does the type hold it, rounded, as a finite and normal number?
inline bool HoldsNormally(DType dtype, double number) {
  return number == 0 ||
         (std::abs(number) >= SmallestNormal(dtype) && std::abs(number) <= LargestFinite(dtype));
}

}  // namespace tenon

#endif  // TENON_IR_CORE_NUMBER_RANGE_H_
