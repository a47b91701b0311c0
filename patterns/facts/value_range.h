// Provable ranges of the elements of a value. They hold for all inputs of the program.
#ifndef TENON_PATTERNS_FACTS_VALUE_RANGE_H_
#define TENON_PATTERNS_FACTS_VALUE_RANGE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "ir/core/value.h"

namespace tenon::pattern {

// A range: every element is NaN or in [low, high]. Inputs of the program may hold any number and
// infinity, so that values that no operation bounds have infinite ends.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();  // the lower end
  double high = std::numeric_limits<double>::infinity();  // the upper end

  // The largest absolute value of an element that is not NaN.
  double magnitude() const { return std::max(std::abs(low), std::abs(high)); }
  // True if both ends are finite.
  bool is_finite() const { return std::isfinite(low) && std::isfinite(high); }
};

// Computes the range by interval arithmetic over the operations that compute `value`. It uses
// constants, norms (at most sqrt(n) times their scale), bounded functions and squares. A range that
// exceeds the element type has an infinite end. Visits at most 400 values; unvisited ones have no
// bounds.
ValueRange ProvenRange(Value value);

// While one lives, ProvenRange finds the range of a value once on this thread. Programs must not
// change meanwhile. For searches that ask of the same values again and again.
class RangeMemo {
 public:
  RangeMemo();
  ~RangeMemo();
  RangeMemo(const RangeMemo&) = delete;
  RangeMemo& operator=(const RangeMemo&) = delete;

  // Values that ProvenRange visited.
  int64_t steps() const { return steps_; }

 private:
  friend ValueRange ProvenRange(Value value);
  absl::flat_hash_map<const ValueImpl*, ValueRange> known_;
  int64_t steps_ = 0;
  RangeMemo* const outer_;
};

// True if every element is >= 0 or NaN. -0 may be among them.
inline bool IsNeverNegative(Value value) { return ProvenRange(value).low >= 0; }
// True if every element is > 0 or NaN.
inline bool IsPositive(Value value) { return ProvenRange(value).low > 0; }

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FACTS_VALUE_RANGE_H_
