// Deciding whether the helpers of a thread pool pay.
#ifndef TENON_KERNELS_THREADS_POOL_GOVERNOR_H_
#define TENON_KERNELS_THREADS_POOL_GOVERNOR_H_

#include <atomic>
#include <cstdint>

namespace tenon::kernels {

// Other processes may use the same cores. A worker that loses its core while it has a chunk holds
// up its region, usually for a time slice, which is longer than most regions. The governor compares
// the time of regions with an estimate for the caller alone, based on the caller's own chunks. If
// help does not pay for a while, callers work alone for a pause, and then try again. The pause
// doubles up to a bound as long as help does not pay.
//
// Times are in nanoseconds. Thread-safe. If several callers report at once, a sample may count in
// the next window.
class PoolGovernor {
 public:
  static constexpr int64_t kWindow = 2'000'000;
  // Without help for so long, longer than a time slice, callers pause.
  static constexpr int64_t kUnhelped = 8'000'000;
  static constexpr int64_t kFirstPause = 4'000'000;
  static constexpr int64_t kLongestPause = 500'000'000;
  // The smallest speed-up for which help pays.
  static constexpr double kWorthwhile = 1.1;

  bool MayHelp(int64_t now) const { return now >= alone_until_.load(std::memory_order_relaxed); }

  // Reports a region with help that ended at `now` after `took`. Its caller did the fraction
  // `own_part` of the work, in (0, 1), in `own_time`.
  void Report(int64_t now, int64_t took, int64_t own_time, double own_part);
  // Reports a region without help. Sleeping workers come late, which a pause would not improve; but
  // calls in vain cost time, too.
  void ReportUnhelped(int64_t now, int64_t took);

  int64_t pause() const { return pause_.load(std::memory_order_relaxed); }

 private:
  void Pause(int64_t now);

  std::atomic<int64_t> unhelped_{0};         // time of regions since the last one with help
  std::atomic<int64_t> took_{0}, alone_{0};  // of the window, and estimated without help
  std::atomic<int64_t> alone_until_{0};
  std::atomic<int64_t> pause_{0};
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREADS_POOL_GOVERNOR_H_
