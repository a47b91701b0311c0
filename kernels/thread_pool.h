// The CPU threads of a program.
#ifndef TENON_KERNELS_THREAD_POOL_H_
#define TENON_KERNELS_THREAD_POOL_H_

#include "kernels/kernel.h"

namespace tenon::kernels {

// Runs on OpenMP's threads, because oneDNN (built for OpenMP) does: one set of threads serves both,
// so they never compete for cores. Idle threads spin a moment and then park. Call it from one
// thread at a time; calls from inside a parallel region run serially. Nothing is allocated per
// call.
class ThreadPool : public ParallelFor {
 public:
  // 0: one thread per core that this process may use.
  explicit ThreadPool(int num_threads = 0);

  int num_threads() const override { return num_threads_; }
  void Run(int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
           void* arg) override;

 private:
  int num_threads_;
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_THREAD_POOL_H_
