// Stretches of a program on a GPU that are recorded once and launched as a whole. Internal to the
// executor.
#ifndef TENON_EXECUTOR_GPU_DEVICE_GRAPHS_H_
#define TENON_EXECUTOR_GPU_DEVICE_GRAPHS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program_impl.h"
#include "kernels/gpu/queue.h"

namespace tenon {

struct RunStep;

// Launching a kernel takes the host as long as a small kernel takes the device; a recorded stretch
// is launched at once. A stretch is recorded only after a complete run. That run may have chosen
// algorithms and allocated memory; and programs that see every shape once have nothing to repeat.
class DeviceGraphs {
 public:
  // Finds stretches of kernels whose operands and results stay in device memory, so that their
  // arguments are the same in each run. Marks the first step of each.
  void Find(const ProgramImpl& program, std::span<RunStep> steps);
  // Call it when addresses in the steps have changed.
  void Forget();
  // Launches the stretch that begins with steps[0] and returns its number of steps. Returns 0 if
  // the steps must run one by one, as on devices that cannot record.
  absl::StatusOr<size_t> Run(std::span<const RunStep> steps, kernels::gpu::Queue& queue);
  // A run has ended without an error.
  void Finished();

 private:
  struct Stretch {
    const RunStep* first = nullptr;
    size_t steps = 0;
    enum class State : uint8_t { kNew, kRunOnce, kRecorded, kNotRecordable } state = State::kNew;
    bool runs = false;                           // in the run in progress, step by step
    std::unique_ptr<kernels::gpu::Graph> graph;  // of kRecorded
  };
  static void Record(Stretch& stretch, std::span<const RunStep> steps, kernels::gpu::Queue& queue);

  std::vector<Stretch> stretches_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_DEVICE_GRAPHS_H_
