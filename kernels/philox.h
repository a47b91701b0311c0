// Philox 4x32-10, a counter-based random number generator: J. K. Salmon, M. A. Moraes, R. O. Dror,
// D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
#ifndef TENON_KERNELS_PHILOX_H_
#define TENON_KERNELS_PHILOX_H_

#include <array>
#include <cstdint>

namespace tenon::kernels {

using PhiloxKey = std::array<uint32_t, 2>;
using PhiloxBlock = std::array<uint32_t, 4>;

// Returns the four words of a counter. Equal keys and counters give equal words; all others give
// words that are independent for every practical purpose.
constexpr PhiloxBlock Philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter[0], b = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_PHILOX_H_
