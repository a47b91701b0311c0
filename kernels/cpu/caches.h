// The sizes of the caches, by which kernels divide their work.
#ifndef TENON_KERNELS_CPU_CACHES_H_
#define TENON_KERNELS_CPU_CACHES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::kernels::cpu {

// The caches of one core. The defaults are small, for processors that do not tell.
struct Caches {
  int64_t first_bytes = 32 << 10;    // data
  int64_t first_ways = 8;            // lines that may fall into the same set
  int64_t second_bytes = 512 << 10;  // second level

  bool operator==(const Caches&) const = default;
};

// Reads "32K/8,1M": bytes and ways of the first level, bytes of the second. Returns nullopt for
// other texts, and beyond 8 KiB to 1 MiB, 1 to 64 ways, and 64 KiB to 64 MiB.
std::optional<Caches> ParseCaches(std::string_view text);

// Returns the caches in the environment variable TENON_CACHES (ParseCaches), or those that the
// system reports. A malformed variable is ignored with a message. Read once, by the first call.
// Packed weights do not depend on it. The order of sums over more than 1024 elements may.
const Caches& ActiveCaches();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CACHES_H_
