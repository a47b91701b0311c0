// A thread that can be kept off one core, or lent one.
#ifndef TENON_KERNELS_THREADS_WORKER_THREAD_H_
#define TENON_KERNELS_THREADS_WORKER_THREAD_H_

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

namespace tenon::kernels {

// Returns processor time in nanoseconds; nullopt if the system does not provide it.
inline std::optional<int64_t> ProcessorTime(clockid_t clock) {
  timespec used;
  if (clock_gettime(clock, &used) != 0) return std::nullopt;
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

class WorkerThread {
 public:
  WorkerThread() : WorkerThread(std::thread()) {}
  explicit WorkerThread(std::thread thread) : thread_(std::move(thread)) {
    CPU_ZERO(&allowed_);
    CPU_ZERO(&set_);
    CPU_ZERO(&lent_);
    CPU_ZERO(&before_);
  }

  void Join() { thread_.join(); }
  pthread_t handle() { return thread_.native_handle(); }

  // Allows the thread to run on all cores except `core` (-1: on all). The thread leaves that core
  // at once, even if it waits there for its turn. No effect on a thread that may run on no other
  // core. `others` are cores on which other threads of the process, such as callers, may run. The
  // thread gets no more cores than these and its present ones, so that a mask given to all threads
  // of the process is respected. Masks that others have set meanwhile count.
  void KeepOff(int core, const cpu_set_t& others) {
    const pthread_t thread = handle();
    cpu_set_t now;
    if (core >= CPU_SETSIZE || pthread_getaffinity_np(thread, sizeof(now), &now) != 0) return;
    if (!CPU_EQUAL(&now, &set_)) allowed_ = now;
    CPU_OR(&set_, &now, &others);
    CPU_AND(&set_, &set_, &allowed_);
    const cpu_set_t all = set_;
    if (core >= 0) CPU_CLR(core, &set_);
    if (CPU_COUNT(&set_) == 0) set_ = all;
    if (!CPU_EQUAL(&now, &set_)) pthread_setaffinity_np(thread, sizeof(set_), &set_);
  }

  // Moves the thread to this core at once; from there it may go wherever it is allowed to (see
  // KeepOff). Returns false, without effect, if the thread may not run there.
  bool Lend(int core) {
    const pthread_t thread = handle();
    cpu_set_t now;
    if (core < 0 || core >= CPU_SETSIZE) return false;
    if (pthread_getaffinity_np(thread, sizeof(now), &now) != 0) return false;
    if (!CPU_EQUAL(&now, &set_)) allowed_ = now;
    if (!CPU_ISSET(core, &allowed_)) return false;
    before_ = now;
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(core, &there);
    if (pthread_setaffinity_np(thread, sizeof(there), &there) != 0) return false;
    CPU_OR(&lent_, &there, &now);
    set_ = lent_;
    pthread_setaffinity_np(thread, sizeof(set_), &set_);
    return true;
  }

  // Ends Lend: restores the earlier mask, unless KeepOff or others have changed it since.
  void TakeBack() {
    const pthread_t thread = handle();
    cpu_set_t now;
    if (pthread_getaffinity_np(thread, sizeof(now), &now) != 0 || !CPU_EQUAL(&now, &lent_)) return;
    set_ = before_;
    pthread_setaffinity_np(thread, sizeof(set_), &set_);
  }

  // Returns processor time that the thread has used; nullopt if the system does not provide it.
  std::optional<int64_t> Used() {
    clockid_t clock;
    if (pthread_getcpuclockid(handle(), &clock) != 0) return std::nullopt;
    return ProcessorTime(clock);
  }

 private:
  std::thread thread_;
  cpu_set_t allowed_;  // set by others
  cpu_set_t set_;      // set by KeepOff and Lend
  cpu_set_t lent_;     // set by Lend
  cpu_set_t before_;   // before Lend
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREADS_WORKER_THREAD_H_
