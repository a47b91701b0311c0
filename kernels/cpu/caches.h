// The caches for which kernels cut their work.
#ifndef TENON_KERNELS_CPU_CACHES_H_
#define TENON_KERNELS_CPU_CACHES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::kernels::cpu {

// Of one core. What is not known is as small as processors have it that matter.
struct Caches {
  int64_t first_bytes = 32 << 10;  // data
  int64_t first_ways = 8;          // lines that may fall into the same set
  int64_t second_bytes = 512 << 10;

  bool operator==(const Caches&) const = default;
};

// "32K/8,1M": bytes and ways of the first level, bytes of the second. Within 8 KiB to 1 MiB, 1 to
// 64 ways, 64 KiB to 64 MiB.
std::optional<Caches> ParseCaches(std::string_view text);

// What the system says of the processor, or the environment variable TENON_CACHES, as ParseCaches
// reads it (anything else is ignored with a message). Read once, at the first call. Packed weights
// do not depend on it; sums over more than 1024 elements may be cut elsewhere.
const Caches& ActiveCaches();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CACHES_H_
