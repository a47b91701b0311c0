#include "kernels/pool_governor.h"

#include <algorithm>

namespace tenon::kernels {

void PoolGovernor::Report(int64_t now, int64_t took, int64_t own_time, double own_part) {
  const auto alone = static_cast<int64_t>(static_cast<double>(own_time) / own_part);
  const int64_t window = took_.fetch_add(took, std::memory_order_relaxed) + took;
  const int64_t sum = alone_.fetch_add(alone, std::memory_order_relaxed) + alone;
  if (window < kWindow) return;
  took_.fetch_sub(window, std::memory_order_relaxed);
  alone_.fetch_sub(sum, std::memory_order_relaxed);
  const int64_t pause = pause_.load(std::memory_order_relaxed);
  if (static_cast<double>(sum) >= kWorthwhile * static_cast<double>(window)) {
    pause_.store(pause / 2, std::memory_order_relaxed);
    return;
  }
  const int64_t next = std::clamp(pause * 2, kFirstPause, kLongestPause);
  pause_.store(next, std::memory_order_relaxed);
  alone_until_.store(now + next, std::memory_order_relaxed);
}

}  // namespace tenon::kernels
