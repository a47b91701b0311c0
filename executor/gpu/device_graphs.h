// Stretches of a program that stay on a GPU, recorded once and put into its queue as a whole.
// Internal to the executor.
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
// is launched at once. A stretch is recorded after a run that came to its end: that may have
// chosen algorithms and taken memory, and programs that meet every shape once have nothing to
// repeat.
class DeviceGraphs {
 public:
  // Stretches of kernels whose operands and results stay in device memory, and whose arguments
  // therefore stay the same from run to run. Marks the first step of each.
  void Find(const ProgramImpl& program, std::span<RunStep> steps);
  // Addresses in the steps have changed.
  void Forget();
  // Puts the stretch that begins with steps[0] into the queue, and returns how many steps it has. 0
  // if they must be run one by one, as they must where the device does not record them.
  absl::StatusOr<size_t> Run(std::span<const RunStep> steps, kernels::gpu::Queue& queue);
  // A run has come to its end without an error.
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
