// A program made ready for one set of input shapes. Internal to the executor.
#ifndef TENON_EXECUTOR_PREPARED_H_
#define TENON_EXECUTOR_PREPARED_H_

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "executor/gpu/device_graphs.h"
#include "executor/gpu/device_times.h"
#include "executor/profiler.h"
#include "executor/program_impl.h"
#include "executor/walk.h"
#include "kernels/growing_state.h"

namespace tenon {

// One kernel run, or one ctl op, with everything resolved. A run reads steps and views in order.
struct RunStep {
  kernels::RunFn run = nullptr;  // null: a ctl op
  kernels::RunArgs args;         // the spans lie in the views of Prepared
  int instruction = 0;
  bool reads_host = false;      // what copies from a device may not have brought yet
  bool begins_stretch = false;  // of DeviceGraphs
};

// Steps refer to views; addresses of the arena and of the caller's tensors are filled in by Resolve
// and Run.
class Prepared {
 public:
  // Sizes of the buffer sets at these shapes, 0 for those outside the arena.
  static std::vector<int64_t> ArenaSizes(const ProgramImpl& program, Walk& walk);

  // Offsets of the buffer sets, then of each instruction's scratch of the given size.
  using PlanFn = std::function<absl::StatusOr<std::shared_ptr<const MemoryPlan>>(
      std::span<const int64_t> scratch)>;

  enum class Port : uint8_t { kInput, kOutput };

  // What it was made for. `decisions`: those of the program.
  struct Key {
    std::span<const kernels::TensorView> inputs;
    std::span<const int64_t> symbols, decisions;
  };

  // `walk` has been prepared for these inputs, from `earlier`, of the same session, if that is not
  // null: the two share the states of kernels that see the same. `device` runs the kernels later.
  static absl::StatusOr<std::unique_ptr<Prepared>> Make(const ProgramImpl& program, Walk& walk,
                                                        kernels::DeviceContext& device,
                                                        const Key& key, const PlanFn& plan_for,
                                                        const Prepared* earlier);
  // For a walk for other inputs.
  EarlierWalk walked() const { return {values_, prepared_calls_, &bindings_}; }

  // Was it made for inputs of these shapes, and these values?
  bool Matches(std::span<const kernels::TensorView> inputs, std::span<const int64_t> symbols,
               std::span<const int64_t> decisions) const;
  const MemoryPlan& plan() const { return *plan_; }
  size_t arena_bytes() const { return uses_arena() ? static_cast<size_t>(plan_->arena_bytes) : 0; }
  // Values on a device, and the scratch of kernels there, have their offsets in an arena of device
  // memory.
  size_t device_arena_bytes() const {
    return device_patches_.empty() && device_scratch_patches_.empty()
               ? 0
               : static_cast<size_t>(plan_->arena_bytes);
  }
  // Of large values that were computed with it.
  size_t large_bytes() const { return large_bytes_; }
  // Of values that were computed with it, large and small.
  size_t computed_bytes() const { return computed_bytes_; }
  // Moves to other arenas; a no-op for those it has.
  void Resolve(std::byte* arena, std::byte* device_arena);
  // No allocation outside of loops. REQUIRES: Matches(inputs), Resolve done, outputs of the
  // right shapes.
  absl::Status Run(const ProgramImpl& program, ControlRunner& control,
                   std::span<const kernels::TensorView> inputs,
                   std::span<const kernels::TensorView> outputs, Profiler* profiler);
  kernels::TensorView output(size_t i) const;  // its data is meaningless

  // An output that is an input with new rows behind, both of which one kernel alone sees: memory
  // may be kept for more rows. Whoever sets pitches resets them to 0 after the run.
  struct Growing {
    int output = -1;
    kernels::GrowingState::Growth* growth = nullptr;  // null: the input does not grow
  };
  std::span<const Growing> growing() const { return growing_; }  // by input

  // May the tensor of a port be in device memory? So it is where nothing but one copy from or to
  // the device touches it, and where it is empty or nothing does.
  bool MayBeOnDevice(Port port, size_t i) const;
  // For the runs that follow. REQUIRES: MayBeOnDevice if it is.
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
  // The only patch of views that the port of `view`, one of the views, has, and whole; null if
  // there is none, or several.
  const CallerPatch* OnlyPatch(std::span<const CallerPatch> patches,
                               const kernels::TensorView& view) const;
  void FindGrowing();
  void FindDeviceCopies(const ProgramImpl& program);
  void FindDeaths(const ProgramImpl& program, std::span<const int64_t> sizes);
  void Poison(int64_t offset, int64_t bytes) const;
  void Describe(const ProgramImpl& program, Profiler& profiler);
  kernels::KernelStatus RunProfiled(const ProgramImpl& program, const RunStep& step,
                                    Profiler& profiler);

  std::vector<int64_t> key_;  // extents of all inputs
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
  kernels::gpu::Staging* staging_ = nullptr;  // null: on the CPU alone
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
  // The step that alone touches a port, and copies it; by port. Empty: on the CPU alone.
  struct DeviceCopy {
    bool possible = false;
    RunStep* step = nullptr;        // null: no bytes to copy
    kernels::RunFn host = nullptr;  // what the step does where the port is in host memory
  };
  std::array<std::vector<DeviceCopy>, 2> device_copies_;  // of inputs, of outputs
  std::shared_ptr<const MemoryPlan> plan_;
  std::vector<int64_t> places_;  // by value: see PlacesInSets
  std::byte* arena_ = nullptr;
  std::byte* device_arena_ = nullptr;
  // ProgramOptions::check_memory: what dies after each step.
  struct Death {
    int64_t offset, bytes;
  };
  std::vector<std::vector<Death>> deaths_;
  // What the last profiler calls each step.
  std::weak_ptr<const void> described_for_;
  std::vector<int> calls_;
  DeviceTimes device_times_;
  DeviceGraphs device_graphs_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARED_H_
