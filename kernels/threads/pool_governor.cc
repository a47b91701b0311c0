#include "kernels/threads/pool_governor.h"

#include <algorithm>

namespace tenon::kernels {

void PoolGovernor::Report(int64_t now, int64_t took, int64_t own_time, double own_part) {
  unhelped_.store(0, std::memory_order_relaxed);
  const auto alone = static_cast<int64_t>(static_cast<double>(own_time) / own_part);
  const int64_t window = took_.fetch_add(took, std::memory_order_relaxed) + took;
  const int64_t sum = alone_.fetch_add(alone, std::memory_order_relaxed) + alone;
  if (window < kWindow) return;
  took_.fetch_sub(window, std::memory_order_relaxed);
  alone_.fetch_sub(sum, std::memory_order_relaxed);
  if (static_cast<double>(sum) < kWorthwhile * static_cast<double>(window)) return Pause(now);
  pause_.store(pause_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
}

void PoolGovernor::ReportUnhelped(int64_t now, int64_t took) {
  if (unhelped_.fetch_add(took, std::memory_order_relaxed) + took < kUnhelped) return;
  unhelped_.store(0, std::memory_order_relaxed);
  Pause(now);
}

void PoolGovernor::Pause(int64_t now) {
  const int64_t next =
      std::clamp(pause_.load(std::memory_order_relaxed) * 2, kFirstPause, kLongestPause);
  pause_.store(next, std::memory_order_relaxed);
  alone_until_.store(now + next, std::memory_order_relaxed);
}

}  // namespace tenon::kernels
