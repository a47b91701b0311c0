// The number of iterations of a counting loop.
#ifndef TENON_EXECUTOR_CONTROL_TRIP_COUNT_H_
#define TENON_EXECUTOR_CONTROL_TRIP_COUNT_H_

#include <cstdint>

namespace tenon {

// Returns the number of values lower, lower + step, … below `upper`; above it for a negative step.
// Values that would overflow do not count. Requires step != 0.
inline uint64_t TripCount(int64_t lower, int64_t upper, int64_t step) {
  if (step > 0 ? lower >= upper : lower <= upper) return 0;
  const auto from = static_cast<uint64_t>(lower), to = static_cast<uint64_t>(upper);
  const auto by = static_cast<uint64_t>(step);
  return step > 0 ? (to - from - 1) / by + 1 : (from - to - 1) / (0 - by) + 1;
}

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONTROL_TRIP_COUNT_H_
