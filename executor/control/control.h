// Running the ctl ops of a program. Internal to the executor.
#ifndef TENON_EXECUTOR_CONTROL_CONTROL_H_
#define TENON_EXECUTOR_CONTROL_CONTROL_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "executor/control/held_slices.h"
#include "executor/control/held_value.h"
#include "executor/prepare/bindings.h"
#include "executor/prepare/concrete_shapes.h"
#include "executor/program_impl.h"
#include "executor/run/session_state.h"

namespace tenon {

class Runner;

// Returns the only element of a bool or i64 tensor. InvalidArgument, with `what`, for other
// tensors.
absl::StatusOr<int64_t> ElementOf(const kernels::TensorView& tensor, std::string_view what);

// Stands for the value of a symbol that has none.
inline constexpr int64_t kNoValue = -1;

// True for a result of a loop that nobody reads. It has no memory, and its shape need not be known.
bool IsUnreadResult(const ProgramImpl& program, const Instruction& instruction, int value);

// Runs the regions, blocks and called functions of one program in a session. Each region gets its
// runner when it first runs.
class ControlRunner {
 public:
  ControlRunner(const ProgramImpl& program, kernels::DeviceContext& device, SessionState& state);
  ~ControlRunner();
  ControlRunner(const ControlRunner&) = delete;
  ControlRunner& operator=(const ControlRunner&) = delete;

  // Runs an instruction. `operands` has one value per operand. Results may share the memory of
  // operands and constants.
  absl::Status Run(size_t instruction, std::span<const HeldValue> operands,
                   const Bindings& bindings, std::vector<HeldValue>& results);
  // The same into memory of the right sizes; unread results have none. Allocates nothing once the
  // branch, or the loop with values of these shapes, has run.
  absl::Status RunInto(size_t instruction, std::span<const kernels::TensorView> operands,
                       const Bindings& bindings, std::span<const kernels::TensorView> results);

  // Returns the shapes of the results of a kIf; only the condition needs data. FailedPrecondition
  // if shapes in the branch depend on values.
  absl::StatusOr<std::vector<ResultShape>> BranchShapes(
      size_t instruction, std::span<const kernels::TensorView> operands, const Bindings& bindings);

 private:
  // A region and its current call; kept for its memory.
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
    std::vector<HeldSlices> slices;  // by result that stacks slices
  };
  Region& RegionOf(size_t instruction, size_t region);
  Loop& LoopOf(size_t instruction);
  void SetSymbols(const NestedProgram& nested, const Bindings& bindings, Region& region) const;
  // Returns the region, with its captured inputs and symbols.
  Region& SetUp(size_t instruction, size_t region, std::span<const HeldValue> operands,
                const Bindings& bindings);
  // Returns the branch that the condition chooses, with inputs and symbols.
  absl::StatusOr<Region*> Choose(size_t instruction, std::span<const kernels::TensorView> operands,
                                 const Bindings& bindings);
  absl::Status RunBranch(size_t instruction, std::span<const HeldValue> operands,
                         const Bindings& bindings, std::vector<HeldValue>& results);
  // loops.cc
  // Starts the slices of a loop with `count` iterations, if the number is known.
  using StartFn = absl::FunctionRef<void(std::optional<int64_t> count)>;
  // Calls `done` with the carried values at the end.
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
  // calls.cc
  // Runs a called function, or a function of several blocks. Calls `done` with the results.
  absl::Status RunCode(size_t instruction, std::span<const HeldValue> operands,
                       const Bindings& bindings, DoneFn done);
  absl::Status Invoke(size_t instruction, std::span<const HeldValue> operands, DoneFn done);
  absl::Status RunBlocks(size_t instruction, std::span<const HeldValue> operands,
                         const Bindings& bindings, DoneFn done);
  absl::Status RunCodeHeld(size_t instruction, std::span<const HeldValue> operands,
                           const Bindings& bindings, std::vector<HeldValue>& results);
  absl::Status RunCodeInto(size_t instruction, std::span<const kernels::TensorView> operands,
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

#endif  // TENON_EXECUTOR_CONTROL_CONTROL_H_
