// Runs the ctl ops of a program. Internal to the executor.
#ifndef TENON_EXECUTOR_CONTROL_H_
#define TENON_EXECUTOR_CONTROL_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "executor/bindings.h"
#include "executor/concrete_shapes.h"
#include "executor/held_slices.h"
#include "executor/held_value.h"
#include "executor/program_impl.h"
#include "executor/session_state.h"

namespace tenon {

class Runner;

// The one element of a boolean or i64 tensor. InvalidArgument, with `what` it is, for others.
absl::StatusOr<int64_t> ElementOf(const kernels::TensorView& tensor, std::string_view what);

// In place of the value of a symbol that has none.
inline constexpr int64_t kNoValue = -1;

// A result of a loop that nobody reads. It has no memory, and its shape need not be known.
bool IsUnreadResult(const ProgramImpl& program, const Instruction& instruction, int value);

// One for a program in a session; has a runner for each region, made when it first runs.
class ControlRunner {
 public:
  ControlRunner(const ProgramImpl& program, kernels::DeviceContext& device, SessionState& state);
  ~ControlRunner();
  ControlRunner(const ControlRunner&) = delete;
  ControlRunner& operator=(const ControlRunner&) = delete;

  // Runs an instruction. `operands`: one for each of its operands. Results may share the memory of
  // operands and of constants.
  absl::Status Run(size_t instruction, std::span<const HeldValue> operands,
                   const Bindings& bindings, std::vector<HeldValue>& results);
  // The same into memory of the right sizes; none for unread results. Without an allocation, once
  // the branch has run, or the loop has with values of these shapes.
  absl::Status RunInto(size_t instruction, std::span<const kernels::TensorView> operands,
                       const Bindings& bindings, std::span<const kernels::TensorView> results);

  // Shapes of the results of kIf, of which the condition alone needs data. FailedPrecondition if
  // those of the branch depend on values.
  absl::StatusOr<std::vector<ResultShape>> BranchShapes(
      size_t instruction, std::span<const kernels::TensorView> operands, const Bindings& bindings);

 private:
  // Of a region, and the call of it that is made: kept for the memory.
  struct Region {
    std::unique_ptr<Runner> runner;
    std::vector<int64_t> symbols;
    std::vector<kernels::TensorView> views;  // inputs of a branch whose results go to memory
    std::vector<HeldValue> inputs, made;
    std::vector<HeldMemory> memory;  // by result
  };
  struct Loop {
    std::vector<HeldValue> operands;  // without owners
    HeldMemory counter;
    std::vector<HeldSlices> slices;  // by result that stacks them
  };
  Region& RegionOf(size_t instruction, size_t region);
  Loop& LoopOf(size_t instruction);
  void SetSymbols(const NestedProgram& nested, const Bindings& bindings, Region& region) const;
  // The region, with the inputs that it has from around it, and symbols.
  Region& SetUp(size_t instruction, size_t region, std::span<const HeldValue> operands,
                const Bindings& bindings);
  // The branch that the condition chooses, with inputs and symbols.
  absl::StatusOr<Region*> Choose(size_t instruction, std::span<const kernels::TensorView> operands,
                                 const Bindings& bindings);
  absl::Status RunBranch(size_t instruction, std::span<const HeldValue> operands,
                         const Bindings& bindings, std::vector<HeldValue>& results);
  // loops.cc
  // Starts the slices of the loop, of which there will be so many, if that is known.
  using StartFn = absl::FunctionRef<void(std::optional<int64_t> count)>;
  // Calls `done` with what is carried at the end.
  using DoneFn = absl::FunctionRef<absl::Status(std::span<HeldValue> carried)>;
  absl::Status RunLoop(size_t instruction, std::span<const HeldValue> operands,
                       const Bindings& bindings, StartFn start, DoneFn done);
  absl::Status RunFor(size_t instruction, std::span<const HeldValue> operands,
                      const Bindings& bindings, StartFn start, DoneFn done);
  absl::Status RunWhile(size_t instruction, std::span<const HeldValue> operands,
                        const Bindings& bindings, StartFn start, DoneFn done);
  absl::Status RunOnce(size_t instruction, Region& region, std::span<HeldSlices> slices);
  absl::Status RunLoopHeld(size_t instruction, std::span<const HeldValue> operands,
                           const Bindings& bindings, std::vector<HeldValue>& results);
  absl::Status RunLoopInto(size_t instruction, std::span<const kernels::TensorView> operands,
                           const Bindings& bindings, std::span<const kernels::TensorView> results);
  absl::InlinedVector<int64_t, 6> EmptyShape(size_t instruction, size_t scan,
                                             const Bindings& bindings) const;

  const ProgramImpl& program_;
  kernels::DeviceContext& device_;
  SessionState& state_;
  std::vector<std::vector<Region>> regions_;  // by instruction and region
  std::vector<Loop> loops_;                   // by instruction
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_CONTROL_H_
