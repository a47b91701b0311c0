// Floating-point numbers as integers in the same order.
#ifndef TENON_KERNELS_CPU_NUMBER_KEYS_H_
#define TENON_KERNELS_CPU_NUMBER_KEYS_H_

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tenon::kernels::cpu {

// The integer that stands for a float or a double. 0 and -0 have the same one. Every NaN has the
// largest, and no number has the least.
template <typename T>
auto KeyOf(T value) {
  using Key = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  constexpr Key kMax = std::numeric_limits<Key>::max();
  constexpr Key kInfinity = std::bit_cast<Key>(std::numeric_limits<T>::infinity());
  const Key bits = std::bit_cast<Key>(value), size = bits & kMax;
  if (size > kInfinity) return kMax;
  return bits < 0 ? static_cast<Key>(-size) : size;
}

template <typename T>
using KeyType = decltype(KeyOf(T()));

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_NUMBER_KEYS_H_
