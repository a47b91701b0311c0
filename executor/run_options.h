// How a program runs.
#ifndef TENON_EXECUTOR_RUN_OPTIONS_H_
#define TENON_EXECUTOR_RUN_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace tenon {

class Profiler;

// Ends runs early. Thread-safe. Stays cancelled until Reset, so that a run that has not begun ends
// at once. One token may serve several runs, also at the same time.
class CancelToken {
 public:
  // Ends the runs that have the token.
  void Cancel() { flag_.store(true, std::memory_order_relaxed); }
  // Lets runs begin again.
  void Reset() { flag_.store(false, std::memory_order_relaxed); }
  // True between Cancel and Reset.
  bool cancelled() const { return flag_.load(std::memory_order_relaxed); }

 private:
  friend class Session;
  std::atomic<bool> flag_{false};
};

// Options of one run.
struct RunOptions {
  // Once it is cancelled, the run returns Cancelled: after the current instruction, or within it if
  // its kernel splits its work. The contents of the outputs are then unspecified, and the session
  // can be used again. Must outlive the run; may be null.
  const CancelToken* cancel = nullptr;
  // Receives the times of the instructions of the run (profiler.h). Must outlive the run; may be
  // null.
  Profiler* profiler = nullptr;
  // The seed of the random numbers of the run. Runs with one seed draw the same numbers. Operations
  // with a seed of their own do not depend on it.
  uint64_t seed = 0;
  // A run that fails sets it to the node of the operation that failed, such as "/encoder/Add", or
  // to an empty text for an error of the call itself. Must outlive the run; may be null.
  std::string* error_place = nullptr;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUN_OPTIONS_H_
