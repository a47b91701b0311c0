// A thread that can be kept off one core.
#ifndef TENON_KERNELS_WORKER_THREAD_H_
#define TENON_KERNELS_WORKER_THREAD_H_

#include <pthread.h>
#include <sched.h>

#include <thread>
#include <utility>

namespace tenon::kernels {

class WorkerThread {
 public:
  explicit WorkerThread(std::thread thread) : thread_(std::move(thread)) {
    CPU_ZERO(&allowed_);
    CPU_ZERO(&set_);
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

 private:
  std::thread thread_;
  cpu_set_t allowed_;  // by others
  cpu_set_t set_;      // by KeepOff
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_WORKER_THREAD_H_
