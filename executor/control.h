// Runs the ctl ops of a program. Internal to the executor.
#ifndef TENON_EXECUTOR_CONTROL_H_
#define TENON_EXECUTOR_CONTROL_H_

#include <memory>
#include <span>
#include <vector>

#include "executor/bindings.h"
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
  // The same into memory of the right sizes.
  absl::Status RunInto(size_t instruction, std::span<const kernels::TensorView> operands,
                       const Bindings& bindings, std::span<const kernels::TensorView> results);

 private:
  using Tensors = std::vector<Tensor>;
  Runner& RunnerOf(size_t instruction, size_t region);
  std::vector<int64_t> SymbolsOf(const NestedProgram& region, const Bindings& bindings) const;
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
  std::vector<std::vector<std::unique_ptr<Runner>>> runners_;  // by instruction and region
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONTROL_H_
