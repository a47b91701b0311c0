// A program prepared for one set of input shapes. Internal to the executor.
#ifndef TENON_EXECUTOR_PREPARE_PREPARED_H_
#define TENON_EXECUTOR_PREPARE_PREPARED_H_

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "executor/gpu/device_graphs.h"
#include "executor/gpu/device_times.h"
#include "executor/prepare/shape_walk.h"
#include "executor/profile/profiler.h"
#include "executor/program_impl.h"
#include "kernels/growing_state.h"

namespace tenon {

// One kernel call or ctl op, completely resolved. A run goes through the steps in order.
struct RunStep {
  kernels::RunFn run = nullptr;  // null: a ctl op
  kernels::RunArgs args;         // the spans refer to views of Prepared
  int instruction = 0;
  bool reads_host = false;      // reads data that a copy from the device may not have brought yet
  bool begins_stretch = false;  // of DeviceGraphs
};

// Everything for runs with one set of input shapes. Steps refer to views; Resolve and Run fill in
// the addresses of the arena and of the caller's tensors.
class Prepared {
 public:
  // Returns the sizes of the buffer sets at these shapes, in bytes; 0 for those outside the arena.
  static std::vector<int64_t> ArenaSizes(const ProgramImpl& program, Walk& walk);

  // Plans offsets of the buffer sets, then of the scratch memory of each instruction, whose sizes
  // are given.
  using PlanFn = std::function<absl::StatusOr<std::shared_ptr<const MemoryPlan>>(
      std::span<const int64_t> scratch)>;

  enum class Port : uint8_t { kInput, kOutput };

  // The shapes and values for which it was made. `decisions` are those of the program.
  struct Key {
    std::span<const kernels::TensorView> inputs;
    std::span<const int64_t> symbols, decisions;
  };

  // `walk` must have been prepared for these inputs. `earlier` may be null, or is of the same
  // session and was given to the walk: both share the states of kernels that see the same. `device`
  // runs the kernels later.
  static absl::StatusOr<std::unique_ptr<Prepared>> Make(const ProgramImpl& program, Walk& walk,
                                                        kernels::DeviceContext& device,
                                                        const Key& key, const PlanFn& plan_for,
                                                        const Prepared* earlier);
  // For a walk for other inputs.
  EarlierWalk walked() const { return {values_, prepared_calls_, &bindings_}; }

  // True if it was made for inputs of these shapes and these values.
  bool Matches(std::span<const kernels::TensorView> inputs, std::span<const int64_t> symbols,
               std::span<const int64_t> decisions) const;
  const MemoryPlan& plan() const { return *plan_; }
  size_t arena_bytes() const { return uses_arena() ? static_cast<size_t>(plan_->arena_bytes) : 0; }
  // Bytes in device memory: values on the device and scratch memory of kernels there use the
  // offsets of the plan in an arena of device memory.
  size_t device_arena_bytes() const {
    return device_patches_.empty() && device_scratch_patches_.empty()
               ? 0
               : static_cast<size_t>(plan_->arena_bytes);
  }
  // Bytes of large values computed with it.
  size_t large_bytes() const { return large_bytes_; }
  // Bytes of all values computed with it.
  size_t computed_bytes() const { return computed_bytes_; }
  // Sets the addresses of the arenas; does nothing if they have not changed.
  void Resolve(std::byte* arena, std::byte* device_arena);
  // Runs the program. Allocates nothing outside of loops. Requires Matches(inputs), Resolve, and
  // outputs of the right shapes.
  absl::Status Run(const ProgramImpl& program, ControlRunner& control,
                   std::span<const kernels::TensorView> inputs,
                   std::span<const kernels::TensorView> outputs, Profiler* profiler);
  kernels::TensorView output(size_t i) const;  // shape only; the data is unspecified

  // An output that is an input with new rows, where only one kernel uses both: memory may be
  // reserved for more rows. Reset pitches to 0 after the run.
  struct Growing {
    int output = -1;
    kernels::GrowingState::Growth* growth = nullptr;  // null: the input does not grow
  };
  std::span<const Growing> growing() const { return growing_; }  // by input

  // True if the tensor of a port may be in device memory. This holds if only one copy from or to
  // the device touches it, if it is empty, and if nothing uses it.
  bool MayBeOnDevice(Port port, size_t i) const;
  // Sets the place for later runs. Requires MayBeOnDevice to put it on the device.
  void SetOnDevice(Port port, size_t i, bool on_device);

 private:
  Prepared() = default;
  bool uses_arena() const { return !arena_patches_.empty() || !scratch_patches_.empty(); }
  uint32_t AddView(const ProgramImpl& program, int value);
  struct CallerPatch {
    uint32_t view;
    uint32_t index;
    int64_t offset = 0;
  };
  // Returns the only patch of views for the port of `view` if it covers the whole view; null
  // otherwise.
  const CallerPatch* OnlyPatch(std::span<const CallerPatch> patches,
                               const kernels::TensorView& view) const;
  void FindGrowing();
  void FindDeviceCopies(const ProgramImpl& program);
  void FindDeaths(const ProgramImpl& program, std::span<const int64_t> sizes);
  void Poison(int64_t offset, int64_t bytes) const;
  void Describe(const ProgramImpl& program, Profiler& profiler);
  kernels::KernelStatus RunProfiled(const ProgramImpl& program, const RunStep& step,
                                    Profiler& profiler);

  std::vector<int64_t> key_;  // of all inputs
  std::vector<int64_t> symbols_, decisions_;
  Bindings bindings_;  // for control flow
  std::vector<DType> dtypes_;
  std::vector<size_t> ranks_;
  std::vector<WalkedValue> values_;           // shapes, and plan-time data
  std::vector<PreparedCall> prepared_calls_;  // by instruction
  size_t large_bytes_ = 0, computed_bytes_ = 0;
  std::vector<kernels::TensorView> views_;
  std::vector<RunStep> steps_;
  const kernels::ParallelFor* parallel_ = nullptr;
  kernels::gpu::Staging* staging_ = nullptr;  // null: on the CPU only
  struct ArenaPatch {
    uint32_t view;
    int64_t offset;
  };
  std::vector<ArenaPatch> arena_patches_, device_patches_;
  std::vector<ArenaPatch> scratch_patches_, device_scratch_patches_;  // by step
  std::vector<CallerPatch> input_patches_, output_patches_;
  // Results that no kernel writes to the caller's memory: output `index` is copied from a view.
  std::vector<CallerPatch> copies_;
  std::vector<int> output_values_;
  std::vector<Growing> growing_;
  // By port: the step that alone touches it and copies it. Empty: on the CPU only.
  struct DeviceCopy {
    bool possible = false;
    RunStep* step = nullptr;        // null: no bytes to copy
    kernels::RunFn host = nullptr;  // the step's function if the port is in host memory
  };
  std::array<std::vector<DeviceCopy>, 2> device_copies_;  // of inputs, of outputs
  std::shared_ptr<const MemoryPlan> plan_;
  std::vector<int64_t> places_;  // by value (PlacesInSets)
  std::byte* arena_ = nullptr;
  std::byte* device_arena_ = nullptr;
  // For ProgramOptions::check_memory: buffers that die after each step.
  struct Death {
    int64_t offset, bytes;
  };
  std::vector<std::vector<Death>> deaths_;
  // The indices of the last profiler for each step.
  std::weak_ptr<const void> described_for_;
  std::vector<int> calls_;
  DeviceTimes device_times_;
  DeviceGraphs device_graphs_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARE_PREPARED_H_
