// Running one program: the function of a session, or a region of its control flow. Internal to the
// executor.
#ifndef TENON_EXECUTOR_RUN_RUNNER_H_
#define TENON_EXECUTOR_RUN_RUNNER_H_

#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "executor/control/control.h"
#include "executor/control/held_value.h"
#include "executor/io_binding.h"
#include "executor/prepare/prepared.h"
#include "executor/prepare/shape_walk.h"
#include "executor/program_impl.h"
#include "executor/run/session_state.h"

namespace tenon {

// Owns the arena and everything prepared for shapes seen before. `symbols` are the values of the
// program's outer_symbols; kNoValue for those without one.
class Runner {
 public:
  // How many prepared shapes are kept: the last ones, or all shapes that a loop goes through.
  enum class Keep : uint8_t { kLast, kMany };

  Runner(const ProgramImpl& program, kernels::DeviceContext& device, SessionState& state, Keep keep)
      : program_(program),
        device_(device),
        state_(state),
        keep_(keep),
        control_(program, device, state) {}

  // Returns new tensors, which belong to the caller.
  absl::StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs);

  // Returns memory for a result, by its number; called before the run.
  using PlaceFn = absl::FunctionRef<absl::StatusOr<std::shared_ptr<std::byte>>(
      size_t result, DType dtype, std::span<const int64_t> shape)>;
  // Results that are inputs or constants share their memory. If shapes depend on values, results
  // are in heap memory; `place` provides the memory of all others. First releases what `results`
  // held.
  absl::Status RunHeld(std::span<const HeldValue> inputs, std::span<const int64_t> symbols,
                       PlaceFn place, std::vector<HeldValue>& results);
  // The symbols of the last RunHeld that succeeded. Valid until the next call of the runner.
  const Bindings& last_bindings() const { return *last_bindings_; }
  // Writes results to the caller's memory, whose shapes must be right.
  absl::Status RunInto(std::span<const kernels::TensorView> inputs,
                       std::span<const int64_t> symbols,
                       std::span<const kernels::TensorView> outputs);
  // Writes results where the binding wants them.
  absl::Status RunBound(IoBinding& binding);
  absl::StatusOr<std::vector<ResultShape>> OutputShapes(std::span<const kernels::TensorView> inputs,
                                                        std::span<const int64_t> symbols);
  // The same without data, except of inputs that decide. FailedPrecondition if shapes depend on
  // values.
  absl::StatusOr<std::vector<ResultShape>> PlannedShapes(
      std::span<const kernels::TensorView> inputs, std::span<const int64_t> symbols);

 private:
  struct ClassPlan {
    std::vector<int64_t> sizes;  // of sets and scratch memory; they never shrink
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
  // Checks device tensors of users against where the program, with the shapes of `ready`, can have
  // them.
  absl::Status CheckDeviceTensors(const IoBinding& binding, const Prepared* ready) const;
  absl::Status RunBoundDynamic(IoBinding& binding);
  // Tells `ready` where the ports of the binding are; null: dense and in host memory.
  void TellPlaces(Prepared& ready, const IoBinding* binding) const;
  // Sets `output` if output i is an input or a constant; false if it is computed.
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
  // Decisions for which some shape depends on values.
  std::vector<std::vector<int64_t>> dynamic_;
  std::list<std::unique_ptr<Prepared>> prepared_;    // most recently used first
  std::map<std::vector<int64_t>, ClassPlan> plans_;  // by the bounds of the symbols
  std::shared_ptr<std::byte> arena_;
  MemoryPlan arena_plan_;                    // the largest so far
  std::shared_ptr<std::byte> device_arena_;  // for the largest need so far
  size_t device_arena_bytes_ = 0;
  std::vector<kernels::TensorView> input_views_, output_views_;  // of RunHeld
  Bindings dynamic_bindings_;                                    // of the last RunDynamic
  const Bindings* last_bindings_ = &dynamic_bindings_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUN_RUNNER_H_
