// How a program is run.
#ifndef TENON_EXECUTOR_RUN_OPTIONS_H_
#define TENON_EXECUTOR_RUN_OPTIONS_H_

#include <atomic>

namespace tenon {

class Profiler;

// Ends runs early, from any thread. Stays cancelled until Reset, so that a run that has not begun
// ends at once. One token may serve several runs, at the same time too.
class CancelToken {
 public:
  void Cancel() { flag_.store(true, std::memory_order_relaxed); }
  void Reset() { flag_.store(false, std::memory_order_relaxed); }
  bool cancelled() const { return flag_.load(std::memory_order_relaxed); }

 private:
  friend class Session;
  std::atomic<bool> flag_{false};
};

struct RunOptions {
  // Once cancelled, the run returns absl::StatusCode::kCancelled: after the instruction that it is
  // in, or within it, where a kernel splits its work. What the outputs hold then is unspecified.
  // The session can be used again. Must outlive the run; may be null.
  const CancelToken* cancel = nullptr;
  // Receives the times of the run's instructions (profiler.h). Must outlive the run; may be null.
  Profiler* profiler = nullptr;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUN_OPTIONS_H_
