// Runs one program: the function of a session, or a region of its control flow. Internal to the
// executor.
#ifndef TENON_EXECUTOR_RUNNER_H_
#define TENON_EXECUTOR_RUNNER_H_

#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "executor/control.h"
#include "executor/held_value.h"
#include "executor/io_binding.h"
#include "executor/prepared.h"
#include "executor/program_impl.h"
#include "executor/session_state.h"
#include "executor/walk.h"

namespace tenon {

// Owns the arena, and what was prepared for the shapes seen so far. `symbols`, here and below: the
// values of the program's outer_symbols, kNoValue for those that nothing around it knows.
class Runner {
 public:
  // How much of what was prepared for shapes is kept: for those used last, or for all through
  // which a loop goes.
  enum class Keep : uint8_t { kLast, kMany };

  Runner(const ProgramImpl& program, kernels::DeviceContext& device, SessionState& state, Keep keep)
      : program_(program),
        device_(device),
        state_(state),
        keep_(keep),
        control_(program, device, state) {}

  // Results are allocated, and the caller's alone.
  absl::StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs);

  // Memory for a result, by its number; called before the run.
  using PlaceFn = absl::FunctionRef<absl::StatusOr<std::shared_ptr<std::byte>>(
      size_t result, DType dtype, std::span<const int64_t> shape)>;
  // Results that are inputs or constants share their memory. Those of a program whose shapes depend
  // on values have memory from the heap; `place` says where all others go. What
  // `results` held is let go first.
  absl::Status RunHeld(std::span<const HeldValue> inputs, std::span<const int64_t> symbols,
                       PlaceFn place, std::vector<HeldValue>& results);
  // Results go to the caller's memory; their shapes must be right.
  absl::Status RunInto(std::span<const kernels::TensorView> inputs,
                       std::span<const int64_t> symbols,
                       std::span<const kernels::TensorView> outputs);
  // Results go where the binding wants them.
  absl::Status RunBound(IoBinding& binding);
  absl::StatusOr<std::vector<ResultShape>> OutputShapes(std::span<const kernels::TensorView> inputs,
                                                        std::span<const int64_t> symbols);
  // The same without data, but of inputs that decide. FailedPrecondition if shapes depend on
  // values.
  absl::StatusOr<std::vector<ResultShape>> PlannedShapes(
      std::span<const kernels::TensorView> inputs, std::span<const int64_t> symbols);

 private:
  struct ClassPlan {
    std::vector<int64_t> sizes;  // of sets and scratch; never shrink
    std::shared_ptr<const MemoryPlan> plan;
  };

  absl::Status ReadDecisions(std::span<const kernels::TensorView> inputs);
  // Null: shapes depend on values.
  absl::StatusOr<Prepared*> Find(std::span<const kernels::TensorView> inputs,
                                 std::span<const int64_t> symbols);
  absl::StatusOr<std::shared_ptr<const MemoryPlan>> PlanFor(Walk& walk,
                                                            std::span<const int64_t> scratch);
  std::vector<BufferLifetime> Lifetimes(std::span<const int64_t> sizes) const;
  absl::Status GrowArena(const Prepared& made);
  absl::Status GrowDeviceArena(const Prepared& made);
  int64_t BoundBytes(int set, int64_t exact, const Bindings& bounds) const;
  absl::Status CheckPlaces(std::span<const kernels::TensorView> inputs,
                           std::span<const kernels::TensorView> outputs) const;
  absl::Status CheckOutput(size_t i, const kernels::TensorView& given,
                           std::span<const int64_t> shape) const;
  absl::Status Execute(Prepared& prepared, std::span<const kernels::TensorView> inputs,
                       std::span<const kernels::TensorView> outputs);
  absl::StatusOr<std::vector<Tensor>> RunDynamic(std::span<const kernels::TensorView> inputs,
                                                 std::span<const HeldValue> owners,
                                                 std::span<const int64_t> symbols, bool share);
  // Those of users are where the program, with the shapes of `ready`, can have them.
  absl::Status CheckDeviceTensors(const IoBinding& binding, const Prepared* ready) const;
  absl::Status RunBoundDynamic(IoBinding& binding);
  // Where the ports of the binding are; null: dense and in host memory, as without one.
  void TellPlaces(Prepared& ready, const IoBinding* binding) const;
  // What output i shows without being computed: an input or a constant. False if it is computed.
  bool IsPassed(size_t i, std::span<const HeldValue> inputs, std::span<const int64_t> shape,
                HeldValue& output) const;
  bool HasRoomForAnother() const;
  std::vector<ResultShape> ShapesOf(const Prepared& ready) const;

  const ProgramImpl& program_;
  kernels::DeviceContext& device_;
  SessionState& state_;
  const Keep keep_;
  ControlRunner control_;
  std::vector<int64_t> decisions_;  // of this run: 0, 1, or kNoValue
  // Decisions with which some shape depends on values other than shapes.
  std::vector<std::vector<int64_t>> dynamic_;
  std::list<std::unique_ptr<Prepared>> prepared_;    // most recently used first
  std::map<std::vector<int64_t>, ClassPlan> plans_;  // by the bounds of the symbols
  std::shared_ptr<std::byte> arena_;
  MemoryPlan arena_plan_;                    // the largest
  std::shared_ptr<std::byte> device_arena_;  // as large as what needs most of it
  size_t device_arena_bytes_ = 0;
  std::vector<kernels::TensorView> input_views_, output_views_;  // of RunHeld
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUNNER_H_
