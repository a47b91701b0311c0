// One pass over a program for given input shapes: finds and checks every shape, and computes values
// that follow from shapes alone.
#ifndef TENON_EXECUTOR_PREPARE_SHAPE_WALK_H_
#define TENON_EXECUTOR_PREPARE_SHAPE_WALK_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "executor/control/control.h"
#include "executor/prepare/bindings.h"
#include "executor/profile/profiler.h"
#include "executor/program_impl.h"

namespace tenon {

// A value as far as it is known.
struct WalkedValue {
  absl::InlinedVector<int64_t, 6> shape;
  void* data = nullptr;  // null: not computed by the walk, or passed
  std::shared_ptr<const void> owner;
  bool passed = false;  // computed by the walk and freed: only values computed by the walk read it

  bool is_known() const { return data != nullptr || passed; }
};

// The most bytes of large values, computed by walks, that a session keeps between runs.
inline constexpr size_t kMaxLargeBytes = size_t{64} << 20;

// What one instruction needs in order to run.
struct PreparedCall {
  std::shared_ptr<const void> attrs;            // decoded
  std::shared_ptr<kernels::KernelState> state;  // null: none, or not prepared
  size_t scratch_bytes = 0;
  bool prepared = false;
};

// The results of an earlier walk of the session for other inputs.
struct EarlierWalk {
  std::span<const WalkedValue> values;
  std::span<const PreparedCall> calls;  // by instruction
  const Bindings* bindings = nullptr;   // null: there is no earlier walk
};

// See the top of the file. Not thread-safe.
class Walk {
 public:
  // `symbols` are the values of the program's outer_symbols. `decisions` says for each decision of
  // the program whether its condition is true: 1, 0, or kNoValue if that is not known. RunAll needs
  // no decisions.
  Walk(const ProgramImpl& program, kernels::DeviceContext& device, ControlRunner& control,
       std::span<const int64_t> symbols, std::span<const int64_t> decisions = {})
      : program_(program),
        device_(device),
        control_(control),
        symbols_(symbols),
        decisions_(decisions) {}

  // Records the kernels that RunAll runs.
  void set_profiler(Profiler* profiler) { profiler_ = profiler; }

  // Finds shapes, and values that follow from them. FailedPrecondition if a shape depends on other
  // values. Skips instructions that see the same as in the earlier walk.
  absl::Status Prepare(std::span<const kernels::TensorView> inputs,
                       const EarlierWalk& earlier = {});
  // Runs everything. Allocates each value and frees it after its last use. `owners` are the inputs
  // again, if values may share their memory; empty otherwise.
  absl::Status RunAll(std::span<const kernels::TensorView> inputs,
                      std::span<const HeldValue> owners);

  std::vector<WalkedValue>& values() { return values_; }
  const Bindings& bindings() const { return bindings_; }
  // Bytes of large values that the walk computed and that something still reads.
  size_t large_bytes() const { return large_bytes_; }
  // Bytes of all values that it holds, also of views.
  size_t ComputedBytes() const;
  kernels::TensorView view(int value) const;
  // The decoded attributes of an instruction.
  const std::shared_ptr<const void>& attrs(size_t instruction) const { return attrs_[instruction]; }
  // True if what the earlier walk prepared for the instruction can be used.
  bool is_same(size_t instruction) const {
    return !same_calls_.empty() && same_calls_[instruction];
  }

  // Calls the kernel's Prepare; `call` must have the attributes. Copies misaligned constants that
  // the kernel did not pack and cannot read, and puts the copies into values().
  absl::Status PrepareKernel(const Instruction& instruction, PreparedCall& call);

 private:
  // Returns ResourceExhausted for an operation of too many steps.
  absl::Status CheckWork(const Instruction& instruction,
                         std::span<const kernels::TensorView> outputs, const void* attrs) const;
  absl::Status Start(std::span<const kernels::TensorView> inputs, bool with_data);
  absl::Status Step(size_t index, bool run_all);
  bool SeesTheSame(const Instruction& instruction, const EarlierWalk& earlier) const;
  absl::Status TakeResults(size_t index, const EarlierWalk& earlier);
  bool IsSameValue(int value, const EarlierWalk& earlier) const;
  absl::Status RunControl(size_t index, bool run_all);
  absl::Status FindShapesOfControl(size_t index);
  absl::Status FindShapesOfBranch(size_t index);
  absl::Status SetShape(const Instruction& instruction, size_t result, DType dtype,
                        std::span<const int64_t> shape);
  // `found` receives what the kernel can take as its state, if anything.
  absl::Status FindShapes(const Instruction& instruction, std::span<const Attribute> slots,
                          std::shared_ptr<kernels::KernelState>& found);
  absl::Status ComputeDims(const Instruction& instruction);
  absl::Status RunKernel(const Instruction& instruction, const std::shared_ptr<const void>& attrs,
                         std::shared_ptr<kernels::KernelState> found);
  bool IsPlanTime(const Instruction& instruction) const;
  void NoteReads(size_t index);
  kernels::TensorView HostView(int value) const;
  bool IsUploadOfConstant(const Instruction& instruction) const;
  absl::Status UploadConstant(const Instruction& instruction);
  size_t BytesOf(int value) const;
  size_t LargeBytes(int value) const;  // 0: it is not large

  const ProgramImpl& program_;
  kernels::DeviceContext& device_;
  ControlRunner& control_;
  std::span<const int64_t> symbols_, decisions_;
  Profiler* profiler_ = nullptr;
  Bindings bindings_;
  std::vector<WalkedValue> values_;
  std::vector<std::shared_ptr<const void>> attrs_;
  std::vector<bool> same_values_, same_calls_;  // as in the earlier walk; empty if there is none
  std::vector<bool> read_by_runs_;              // values that instructions read in runs
  size_t large_bytes_ = 0;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARE_SHAPE_WALK_H_
