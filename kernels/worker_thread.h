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

  // From now on it may run on all cores that it was allowed to run on, but for this one. It leaves
  // that at once, also where it waits for its turn there. No effect on a thread that may run on no
  // other core. What others allowed it in the meantime counts.
  void KeepOff(int core) {
    const pthread_t thread = handle();
    cpu_set_t now;
    if (core < 0 || core >= CPU_SETSIZE || pthread_getaffinity_np(thread, sizeof(now), &now) != 0) {
      return;
    }
    if (!CPU_EQUAL(&now, &set_)) allowed_ = now;
    set_ = allowed_;
    CPU_CLR(core, &set_);
    if (CPU_COUNT(&set_) == 0) set_ = allowed_;
    if (!CPU_EQUAL(&now, &set_)) pthread_setaffinity_np(thread, sizeof(set_), &set_);
  }

 private:
  std::thread thread_;
  cpu_set_t allowed_;  // by others
  cpu_set_t set_;      // by KeepOff
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_WORKER_THREAD_H_
