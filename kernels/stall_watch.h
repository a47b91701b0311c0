// Tells a thread that is slow from one that does not run.
#ifndef TENON_KERNELS_STALL_WATCH_H_
#define TENON_KERNELS_STALL_WATCH_H_

#include <cstdint>

namespace tenon::kernels {

// Of a thread that has work, watched by one that spins. Where it waits for a processor, its
// processor time stands still; where it computes, it grows like the watcher's: by that, and not by
// the clock, because a system may count processor time in steps of milliseconds.
class StallWatch {
 public:
  // Nanoseconds: shorter than a time slice by far, longer than what reading the times takes.
  static constexpr int64_t kStandstill = 15'000;

  // So far the watcher has used `mine`, and the thread `used`. True if that has not changed while
  // the watcher used kStandstill. The first call, and the first for another thread, begin the
  // watch.
  bool Stalled(const void* thread, int64_t mine, int64_t used) {
    if (thread != thread_ || used != used_) {
      thread_ = thread, used_ = used, since_ = mine;
      return false;
    }
    return mine - since_ >= kStandstill;
  }

 private:
  const void* thread_ = nullptr;
  int64_t used_ = 0, since_ = 0;
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_STALL_WATCH_H_
