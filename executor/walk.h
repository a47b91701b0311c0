// Goes through a program once for given input shapes: finds every shape, checks that they fit, and
// computes the values that follow from shapes alone.
#ifndef TENON_EXECUTOR_WALK_H_
#define TENON_EXECUTOR_WALK_H_

#include <memory>
#include <span>
#include <vector>

#include "executor/bindings.h"
#include "executor/control.h"
#include "executor/profiler.h"
#include "executor/program_impl.h"

namespace tenon {

// A value as far as it is known.
struct WalkedValue {
  std::vector<int64_t> shape;
  void* data = nullptr;  // null: not computed by the walk
  std::shared_ptr<const void> owner;
};

class Walk {
 public:
  // `symbols`: values of the program's outer_symbols.
  Walk(const ProgramImpl& program, kernels::DeviceContext& device, ControlRunner& control,
       std::span<const int64_t> symbols)
      : program_(program), device_(device), control_(control), symbols_(symbols) {}

  // Records the kernels that RunAll runs.
  void set_profiler(Profiler* profiler) { profiler_ = profiler; }

  // Shapes, and values that follow from them. FailedPrecondition if a shape depends on other
  // values.
  absl::Status Prepare(std::span<const kernels::TensorView> inputs);
  // Runs everything at once, allocating each value, and freeing it after its last use. `owners`:
  // the inputs again, where values may share their memory; or none.
  absl::Status RunAll(std::span<const kernels::TensorView> inputs, std::span<const Tensor> owners);

  std::vector<WalkedValue>& values() { return values_; }
  const Bindings& bindings() const { return bindings_; }
  kernels::TensorView view(int value) const;
  // The decoded attributes of an instruction.
  std::shared_ptr<const void> attrs(size_t instruction) const { return attrs_[instruction]; }

  // Runs the kernel's Prepare. Of misaligned constants that it did not pack and cannot read where
  // they are copies are made, and values() has them.
  absl::Status PrepareKernel(const Instruction& instruction, const void* attrs,
                             std::span<const kernels::TensorView> inputs,
                             std::span<const kernels::TensorView> outputs,
                             std::shared_ptr<kernels::KernelState>& state, size_t& scratch_bytes);

 private:
  absl::Status Start(std::span<const kernels::TensorView> inputs, bool with_data);
  absl::Status Step(size_t index, bool run_all);
  absl::Status RunControl(size_t index, bool run_all);
  absl::Status SetShape(const Instruction& instruction, size_t result, DType dtype,
                        std::vector<int64_t> shape);
  absl::Status FindShapes(const Instruction& instruction, std::span<const Attribute> slots);
  absl::Status ComputeDims(const Instruction& instruction);
  absl::Status RunKernel(const Instruction& instruction, const void* attrs);
  bool IsPlanTime(const Instruction& instruction) const;
  kernels::TensorView HostView(int value) const;
  bool IsUploadOfConstant(const Instruction& instruction) const;
  absl::Status UploadConstant(const Instruction& instruction);
  size_t BytesOf(int value) const;

  const ProgramImpl& program_;
  kernels::DeviceContext& device_;
  ControlRunner& control_;
  std::span<const int64_t> symbols_;
  Profiler* profiler_ = nullptr;
  Bindings bindings_;
  std::vector<WalkedValue> values_;
  std::vector<std::shared_ptr<const void>> attrs_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WALK_H_
