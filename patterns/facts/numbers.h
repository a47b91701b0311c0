// Numbers that rules match and compute. Private to patterns.
#ifndef TENON_PATTERNS_FACTS_NUMBERS_H_
#define TENON_PATTERNS_FACTS_NUMBERS_H_

#include <limits>

namespace tenon::pattern {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Of f32.
inline constexpr double kLargest = std::numeric_limits<float>::max();
inline constexpr double kLowest = std::numeric_limits<float>::lowest();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FACTS_NUMBERS_H_
