// Goes through a program once for given input shapes: finds every shape, checks that they fit, and
// computes the values that follow from shapes alone.
#ifndef TENON_EXECUTOR_WALK_H_
#define TENON_EXECUTOR_WALK_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "executor/bindings.h"
#include "executor/control.h"
#include "executor/profiler.h"
#include "executor/program_impl.h"

namespace tenon {

// A value as far as it is known.
struct WalkedValue {
  absl::InlinedVector<int64_t, 6> shape;
  void* data = nullptr;  // null: not computed by the walk, or passed
  std::shared_ptr<const void> owner;
  bool passed = false;  // computed by the walk, and gone: only values that it computed read it

  bool is_known() const { return data != nullptr || passed; }
};

// As many bytes of large values as a session keeps from run to run: what its walks computed.
inline constexpr size_t kMaxLargeBytes = size_t{64} << 20;

// What one instruction needs to run.
struct PreparedCall {
  std::shared_ptr<const void> attrs;            // decoded
  std::shared_ptr<kernels::KernelState> state;  // null: none, or not prepared
  size_t scratch_bytes = 0;
  bool prepared = false;
};

// What the same session has found for other inputs.
struct EarlierWalk {
  std::span<const WalkedValue> values;
  std::span<const PreparedCall> calls;  // by instruction
  const Bindings* bindings = nullptr;   // null: nothing
};

class Walk {
 public:
  // `symbols`: values of the program's outer_symbols. `decisions`: is the condition of each of the
  // program's decisions true? 0, 1 or, for what is not known, kNoValue; RunAll needs none.
  Walk(const ProgramImpl& program, kernels::DeviceContext& device, ControlRunner& control,
       std::span<const int64_t> symbols, std::span<const int64_t> decisions = {})
      : program_(program),
        device_(device),
        control_(control),
        symbols_(symbols),
        decisions_(decisions) {}

  // Records the kernels that RunAll runs.
  void set_profiler(Profiler* profiler) { profiler_ = profiler; }

  // Shapes, and values that follow from them. FailedPrecondition if a shape depends on other
  // values. An instruction that sees what it saw in the earlier walk is not looked at again.
  absl::Status Prepare(std::span<const kernels::TensorView> inputs,
                       const EarlierWalk& earlier = {});
  // Runs everything at once, allocating each value, and freeing it after its last use. `owners`:
  // the inputs again, where values may share their memory; or none.
  absl::Status RunAll(std::span<const kernels::TensorView> inputs,
                      std::span<const HeldValue> owners);

  std::vector<WalkedValue>& values() { return values_; }
  const Bindings& bindings() const { return bindings_; }
  // Of large values that the walk computed and that something still reads.
  size_t large_bytes() const { return large_bytes_; }
  // Of all values that it holds, whatever their size; of views too.
  size_t ComputedBytes() const;
  kernels::TensorView view(int value) const;
  // The decoded attributes of an instruction.
  const std::shared_ptr<const void>& attrs(size_t instruction) const { return attrs_[instruction]; }
  // What the earlier walk prepared serves the instruction now too.
  bool is_same(size_t instruction) const {
    return !same_calls_.empty() && same_calls_[instruction];
  }

  // Runs the kernel's Prepare, `call` having the attributes. Of misaligned constants that it did
  // not pack and cannot read where they are copies are made, and values() has them.
  absl::Status PrepareKernel(const Instruction& instruction, PreparedCall& call);

 private:
  // ResourceExhausted for an operation of too many steps.
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
  absl::Status FindShapes(const Instruction& instruction, std::span<const Attribute> slots);
  absl::Status ComputeDims(const Instruction& instruction);
  absl::Status RunKernel(const Instruction& instruction, const std::shared_ptr<const void>& attrs);
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
  std::vector<bool> same_values_, same_calls_;  // as in the earlier walk; empty: there is none
  std::vector<bool> read_by_runs_;              // values that instructions read when they run
  size_t large_bytes_ = 0;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WALK_H_
