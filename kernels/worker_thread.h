// A thread that can be kept off one core, or lent one.
#ifndef TENON_KERNELS_WORKER_THREAD_H_
#define TENON_KERNELS_WORKER_THREAD_H_

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

namespace tenon::kernels {

// In nanoseconds; nothing if the system does not say.
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

  // From now on it may run on all cores that it was allowed to run on, but for this one (-1: on
  // all). It leaves that at once, also where it waits for its turn there. No effect on a thread
  // that may run on no other core. What somebody else has set in the meantime counts. `others`:
  // where other threads of the process may run, its callers for one. It is not allowed more than
  // these and what it may use now: so a mask that is given to all threads of the process is kept
  // to, even where it is what this thread had.
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

  // Moves it to this core at once, also where it waits for its turn on another; from there it may
  // go wherever it is allowed to (see KeepOff). False, without effect, if it is not allowed to run
  // there, or the system does not let it.
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

  // Ends Lend: it may run where it might before, unless KeepOff or somebody else has spoken since.
  void TakeBack() {
    const pthread_t thread = handle();
    cpu_set_t now;
    if (pthread_getaffinity_np(thread, sizeof(now), &now) != 0 || !CPU_EQUAL(&now, &lent_)) return;
    set_ = before_;
    pthread_setaffinity_np(thread, sizeof(set_), &set_);
  }

  // Processor time that it has used; nothing if the system does not say.
  std::optional<int64_t> Used() {
    clockid_t clock;
    if (pthread_getcpuclockid(handle(), &clock) != 0) return std::nullopt;
    return ProcessorTime(clock);
  }

 private:
  std::thread thread_;
  cpu_set_t allowed_;  // by others
  cpu_set_t set_;      // by KeepOff and Lend
  cpu_set_t lent_;     // by Lend
  cpu_set_t before_;   // Lend
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_WORKER_THREAD_H_
