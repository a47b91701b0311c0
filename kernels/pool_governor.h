// Decides whether the helpers of a thread pool pay.
#ifndef TENON_KERNELS_POOL_GOVERNOR_H_
#define TENON_KERNELS_POOL_GOVERNOR_H_

#include <atomic>
#include <cstdint>

namespace tenon::kernels {

// Where other processes want the same cores, a worker that loses its own with a chunk in hand holds
// up its region, for a time slice where no core can be lent to it, which is longer than most
// regions. So the pool compares what regions took with what their caller alone would have taken,
// judging by its own chunks. When help does not pay over a while, callers work alone for a pause,
// and then try again: the pause doubles up to a bound as long as help does not pay.
//
// Times are in nanoseconds. Thread-safe; when several callers report at once, one sample may be
// counted in the next window.
class PoolGovernor {
 public:
  static constexpr int64_t kWindow = 2'000'000;
  static constexpr int64_t kUnhelped = 8'000'000;  // in vain so long: longer than a time slice
  static constexpr int64_t kFirstPause = 4'000'000;
  static constexpr int64_t kLongestPause = 500'000'000;
  // Help pays from this speed-up on.
  static constexpr double kWorthwhile = 1.1;

  bool MayHelp(int64_t now) const { return now >= alone_until_.load(std::memory_order_relaxed); }

  // A region with help ended at `now`; it took `took`, and its caller did `own_part` of the work,
  // in (0, 1), in `own_time`.
  void Report(int64_t now, int64_t took, int64_t own_time, double own_part);
  // A region ended for which nobody came. One that sleeps comes late, and that is no reason for a
  // pause: it would sleep through that too; but calls in vain cost time as well.
  void ReportUnhelped(int64_t now, int64_t took);

  int64_t pause() const { return pause_.load(std::memory_order_relaxed); }

 private:
  void Pause(int64_t now);

  std::atomic<int64_t> unhelped_{0};         // time of regions since the last with help
  std::atomic<int64_t> took_{0}, alone_{0};  // of the window's regions, and as they were alone
  std::atomic<int64_t> alone_until_{0};
  std::atomic<int64_t> pause_{0};
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_POOL_GOVERNOR_H_
