// What is provable of the numbers that a value can hold, whatever the inputs of the program hold.
#ifndef TENON_PATTERNS_VALUE_RANGE_H_
#define TENON_PATTERNS_VALUE_RANGE_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/core/value.h"

namespace tenon::pattern {

// Every element is NaN or in [low, high]. An input of the program may hold any number and any
// infinity, so the range of what is not bounded by an operation has infinite ends.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  double magnitude() const { return std::max(std::abs(low), std::abs(high)); }
  bool is_finite() const { return std::isfinite(low) && std::isfinite(high); }
};

// Interval arithmetic over the ops that compute the value: constants, norms (sqrt(n) times their
// scale), bounded functions, squares and what is made of those. The range of a result that does not
// fit its element type is that of an unknown value. Looks at 400 ops at most.
ValueRange ProvenRange(Value value);

// No element is negative; a negative zero may be among them.
inline bool IsNeverNegative(Value value) { return ProvenRange(value).low >= 0; }
// Every element is a positive number or NaN.
inline bool IsPositive(Value value) { return ProvenRange(value).low > 0; }

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_VALUE_RANGE_H_
