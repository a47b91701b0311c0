// When a device ran the kernels of a profiled run. Internal to the executor.
#ifndef TENON_EXECUTOR_GPU_DEVICE_TIMES_H_
#define TENON_EXECUTOR_GPU_DEVICE_TIMES_H_

#include <memory>
#include <vector>

#include "executor/profile/profiler.h"
#include "kernels/gpu/queue.h"

namespace tenon {

// Kernels of a GPU run later than the calls that queue them. Events before and after each kernel
// give its times. A kernel that is put into an empty queue includes the time to get there.
class DeviceTimes {
 public:
  // Drops the events of a failed run.
  void Clear() { used_ = 0; }
  // Call them around the call of a kernel of `queue`.
  kernels::KernelStatus Before(kernels::gpu::Queue& queue);
  kernels::KernelStatus After(int call);
  // Waits, passes the times of all kernels since the last call to the profiler, and drops them.
  kernels::KernelStatus Report(Profiler& profiler);

 private:
  struct Span {
    std::unique_ptr<kernels::gpu::Event> before, after;
    int call = 0;
  };
  std::vector<Span> spans_;  // the first used_ of them belong to the run in progress
  size_t used_ = 0;
  int64_t first_ns_ = 0;  // on the host, when the first event was put in
  kernels::gpu::Queue* queue_ = nullptr;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_DEVICE_TIMES_H_
