// Runs the ctl ops of a program. Internal to the executor.
#ifndef TENON_EXECUTOR_CONTROL_H_
#define TENON_EXECUTOR_CONTROL_H_

#include <memory>
#include <span>
#include <vector>

#include "executor/bindings.h"
#include "executor/concrete_shapes.h"
#include "executor/program_impl.h"
#include "executor/session_state.h"

namespace tenon {

class Runner;

// In place of the value of a symbol that has none.
inline constexpr int64_t kNoValue = -1;

// One for a program in a session; has a runner for each region, made when it first runs.
class ControlRunner {
 public:
  ControlRunner(const ProgramImpl& program, kernels::DeviceContext& device, SessionState& state);
  ~ControlRunner();
  ControlRunner(const ControlRunner&) = delete;
  ControlRunner& operator=(const ControlRunner&) = delete;

  // Runs an instruction. `operands`: one for each of its operands. Results may share the memory of
  // operands and of constants.
  absl::StatusOr<std::vector<Tensor>> Run(size_t instruction, std::span<const Tensor> operands,
                                          const Bindings& bindings);
  // The same into memory of the right sizes. Of kIf, without an allocation once the branch has run.
  absl::Status RunInto(size_t instruction, std::span<const kernels::TensorView> operands,
                       const Bindings& bindings, std::span<const kernels::TensorView> results);

  // Shapes of the results of kIf, of which the condition alone needs data. FailedPrecondition if
  // those of the branch depend on values.
  absl::StatusOr<std::vector<ResultShape>> BranchShapes(
      size_t instruction, std::span<const kernels::TensorView> operands, const Bindings& bindings);

 private:
  using Tensors = std::vector<Tensor>;
  struct Region {
    std::unique_ptr<Runner> runner;
    // Of the call that is made: kept for its memory.
    std::vector<kernels::TensorView> inputs;
    std::vector<int64_t> symbols;
  };
  Region& RegionOf(size_t instruction, size_t region);
  void SetSymbols(const NestedProgram& nested, const Bindings& bindings, Region& region) const;
  // The branch that the condition chooses, with inputs and symbols.
  absl::StatusOr<Region*> Choose(size_t instruction, std::span<const kernels::TensorView> operands,
                                 const Bindings& bindings);
  absl::StatusOr<Tensors> RunRegion(size_t instruction, size_t region, Tensors arguments,
                                    std::span<const Tensor> operands, const Bindings& bindings);
  absl::StatusOr<Tensors> RunFor(size_t instruction, std::span<const Tensor> operands,
                                 const Bindings& bindings);
  absl::StatusOr<Tensors> RunWhile(size_t instruction, std::span<const Tensor> operands,
                                   const Bindings& bindings);
  absl::Status Stack(const Instruction& instruction, const Bindings& bindings,
                     std::span<const Tensors> stacked, Tensors& results) const;

  const ProgramImpl& program_;
  kernels::DeviceContext& device_;
  SessionState& state_;
  std::vector<std::vector<Region>> regions_;  // by instruction and region
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONTROL_H_
