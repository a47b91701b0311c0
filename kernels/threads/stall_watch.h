// Telling a slow thread from one that does not run.
#ifndef TENON_KERNELS_THREADS_STALL_WATCH_H_
#define TENON_KERNELS_THREADS_STALL_WATCH_H_

#include <cstdint>

namespace tenon::kernels {

// A spinning thread watches a thread that has work. While that one waits for a processor, its
// processor time does not change; while it computes, it grows like the watcher's. The watcher
// measures by its own processor time, because some systems count processor time in steps of
// milliseconds.
class StallWatch {
 public:
  // In nanoseconds: much shorter than a time slice, much longer than reading the times takes.
  static constexpr int64_t kStandstill = 15'000;

  // The watcher has used `mine` so far, and the thread `used`. Returns true if `used` has not
  // changed while the watcher used kStandstill. The first call for a thread begins the watch.
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

#endif  // TENON_KERNELS_THREADS_STALL_WATCH_H_
