// A program made ready for one set of input shapes. Internal to the executor.
#ifndef TENON_EXECUTOR_PREPARED_H_
#define TENON_EXECUTOR_PREPARED_H_

#include <memory>
#include <span>
#include <vector>

#include "executor/program_impl.h"
#include "executor/walk.h"

namespace tenon {

// One kernel run, or one ctl op, with everything resolved. A run reads steps and views in order.
struct RunStep {
  kernels::RunFn run = nullptr;  // null: a ctl op
  kernels::RunArgs args;         // the spans lie in the views of Prepared
  int instruction = 0;
};

// Steps refer to views; addresses of the arena and of the caller's tensors are filled in by Resolve
// and Run.
class Prepared {
 public:
  // Sizes of the buffer sets at these shapes, 0 for those outside the arena.
  static std::vector<int64_t> ArenaSizes(const ProgramImpl& program, Walk& walk);

  // `walk` has been prepared for `inputs`. `device` runs the kernels later. `plan`: one offset per
  // buffer set.
  static absl::StatusOr<std::unique_ptr<Prepared>> Make(const ProgramImpl& program, Walk& walk,
                                                        kernels::DeviceContext& device,
                                                        std::span<const kernels::TensorView> inputs,
                                                        std::span<const int64_t> symbols,
                                                        std::shared_ptr<const MemoryPlan> plan);

  // Was it made for inputs of these shapes, and these values of outer symbols?
  bool Matches(std::span<const kernels::TensorView> inputs, std::span<const int64_t> symbols) const;
  size_t arena_bytes() const {
    return arena_patches_.empty() && scratch_bytes_ == 0 ? 0 : scratch_offset_ + scratch_bytes_;
  }
  // Of the plan's offsets, those of values on a device: device memory has an arena of its own.
  size_t device_arena_bytes() const { return device_patches_.empty() ? 0 : scratch_offset_; }
  // Moves to other arenas; a no-op for those it has.
  void Resolve(std::byte* arena, std::byte* device_arena);
  // No allocation outside of control flow. REQUIRES: Matches(inputs), Resolve done, outputs of the
  // right shapes.
  absl::Status Run(const ProgramImpl& program, ControlRunner& control,
                   std::span<const kernels::TensorView> inputs,
                   std::span<const kernels::TensorView> outputs);
  kernels::TensorView output(size_t i) const;  // its data is meaningless

 private:
  Prepared() = default;
  uint32_t AddView(const ProgramImpl& program, int value);

  std::vector<int64_t> key_;  // extents of all inputs
  std::vector<int64_t> symbols_;
  Bindings bindings_;  // for control flow
  std::vector<DType> dtypes_;
  std::vector<WalkedValue> values_;  // shapes, and plan-time data
  std::vector<std::shared_ptr<const void>> attrs_;
  std::vector<std::shared_ptr<kernels::KernelState>> states_;
  std::vector<kernels::TensorView> views_;
  std::vector<RunStep> steps_;
  const kernels::ParallelFor* parallel_ = nullptr;
  std::vector<uint32_t> with_scratch_;  // steps whose kernels use the scratch
  struct ArenaPatch {
    uint32_t view;
    int64_t offset;
  };
  struct CallerPatch {
    uint32_t view;
    uint32_t index;
  };
  std::vector<ArenaPatch> arena_patches_, device_patches_;
  std::vector<CallerPatch> input_patches_, output_patches_;
  // Results that no kernel writes to the caller's memory: output `index` is copied from a view.
  std::vector<CallerPatch> copies_;
  std::vector<int> output_values_;
  std::shared_ptr<const MemoryPlan> plan_;
  size_t scratch_offset_ = 0, scratch_bytes_ = 0;
  std::byte* arena_ = nullptr;
  std::byte* device_arena_ = nullptr;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARED_H_
