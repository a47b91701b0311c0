#include "kernels/cpu/caches.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

// Takes a number off the front, with K or M behind it for a size; -1: there is none.
int64_t TakeNumber(std::string_view& text) {
  int64_t number = -1;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0 || number > 1 << 30) return -1;
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  if (text.empty() || (text[0] != 'K' && text[0] != 'M')) return number;
  const int64_t unit = text[0] == 'K' ? kKiB : kMiB;
  text.remove_prefix(1);
  return number * unit;
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

bool IsSane(const Caches& c) {
  return c.first_bytes >= 8 * kKiB && c.first_bytes <= kMiB && c.first_ways >= 1 &&
         c.first_ways <= 64 && c.second_bytes >= 64 * kKiB && c.second_bytes <= 64 * kMiB;
}

Caches DetectCaches() {
  Caches known;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  Caches said = {.first_bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE),
                 .first_ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC),
                 .second_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE)};
  // Virtual machines may hide some of it.
  if (said.first_bytes <= 0) said.first_bytes = known.first_bytes;
  if (said.first_ways <= 0) said.first_ways = known.first_ways;
  if (said.second_bytes <= 0) said.second_bytes = known.second_bytes;
  if (IsSane(said)) known = said;
#endif
  return known;
}

Caches ChooseCaches() {
  const char* wanted = std::getenv("TENON_CACHES");
  if (wanted == nullptr || *wanted == '\0') return DetectCaches();
  if (const std::optional<Caches> caches = ParseCaches(wanted)) return *caches;
  std::fprintf(stderr, "TENON_CACHES=%s is ignored (expected something like 32K/8,1M)\n", wanted);
  return DetectCaches();
}

}  // namespace

std::optional<Caches> ParseCaches(std::string_view text) {
  Caches caches;
  caches.first_bytes = TakeNumber(text);
  if (!Take(text, '/')) return std::nullopt;
  caches.first_ways = TakeNumber(text);
  if (!Take(text, ',')) return std::nullopt;
  caches.second_bytes = TakeNumber(text);
  if (!text.empty() || !IsSane(caches)) return std::nullopt;
  return caches;
}

const Caches& ActiveCaches() {
  static const Caches active = ChooseCaches();
  return active;
}

}  // namespace tenon::kernels::cpu
