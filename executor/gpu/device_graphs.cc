#include "executor/gpu/device_graphs.h"

#include <algorithm>
#include <utility>

#include "executor/gpu/device_session.h"
#include "executor/prepare/kernel_call.h"
#include "executor/prepare/prepared.h"
#include "ir/base/check.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {
namespace {

// Fewer are launched as fast one by one.
constexpr size_t kFewestSteps = 4;

bool StaysOnDevice(const Instruction& instruction) {
  const kernels::Kernel& kernel = instruction.kernel;
  return kernel.backend == kernels::Backend::kCuda && kernel.host_inputs == 0 &&
         kernel.name != std::string_view(kernels::gpu::kToDevice) &&
         kernel.name != std::string_view(kernels::gpu::kToHost);
}

}  // namespace

void DeviceGraphs::Find(const ProgramImpl& program, std::span<RunStep> steps) {
  const auto stays = [&](const RunStep& step) {
    return StaysOnDevice(program.instructions[static_cast<size_t>(step.instruction)]);
  };
  for (auto first = steps.begin(); first != steps.end();) {
    first = std::find_if(first, steps.end(), stays);
    const auto end = std::find_if_not(first, steps.end(), stays);
    const auto count = static_cast<size_t>(end - first);
    if (count >= kFewestSteps) {
      first->begins_stretch = true;
      Stretch& stretch = stretches_.emplace_back();
      stretch.first = &*first;
      stretch.steps = count;
    }
    first = end;
  }
}

void DeviceGraphs::Forget() {
  for (Stretch& stretch : stretches_) {
    if (stretch.state == Stretch::State::kRecorded) stretch.state = Stretch::State::kRunOnce;
    stretch.graph.reset();
  }
}

absl::StatusOr<size_t> DeviceGraphs::Run(std::span<const RunStep> steps,
                                         kernels::gpu::Queue& queue) {
  using enum Stretch::State;
  const auto found =
      std::find_if(stretches_.begin(), stretches_.end(),
                   [&](const Stretch& stretch) { return stretch.first == steps.data(); });
  TENON_CHECK(found != stretches_.end());
  found->runs = found->state == kNew;
  if (found->state == kRunOnce) Record(*found, steps.first(found->steps), queue);
  if (found->state != kRecorded) return 0;
  TENON_RETURN_IF_ERROR(ToStatus(queue.Replay(*found->graph)));
  return found->steps;
}

void DeviceGraphs::Finished() {
  for (Stretch& stretch : stretches_) {
    if (std::exchange(stretch.runs, false)) stretch.state = Stretch::State::kRunOnce;
  }
}

void DeviceGraphs::Record(Stretch& stretch, std::span<const RunStep> steps,
                          kernels::gpu::Queue& queue) {
  stretch.state = Stretch::State::kNotRecordable;
  if (!queue.BeginCapture().ok()) return;
  const bool all = std::all_of(steps.begin(), steps.end(),
                               [](const RunStep& step) { return step.run(step.args).ok(); });
  // Ends what has begun in any case.
  if (queue.EndCapture(&stretch.graph).ok() && all) stretch.state = Stretch::State::kRecorded;
}

}  // namespace tenon
