// Runs a program: owns the arena, and what was prepared for the shapes seen so far.
#ifndef TENON_EXECUTOR_SESSION_H_
#define TENON_EXECUTOR_SESSION_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/concrete_shapes.h"
#include "executor/program.h"
#include "executor/tensor.h"

namespace tenon {

class IoBinding;

// One run at a time; several sessions of a program run in parallel. Inputs are checked against the
// function's types, and bind its symbols. Shapes seen before cost a comparison of the inputs'
// extents: no shape arithmetic, no hashing and no allocation.
class Session {
 public:
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  absl::StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                          const RunOptions& options = {});

  // Results go to the caller's memory, which must not overlap the inputs. Shapes must be those that
  // OutputShapes gives for these inputs.
  absl::Status Run(std::span<const kernels::TensorView> inputs,
                   std::span<const kernels::TensorView> outputs, const RunOptions& options = {});
  // Runs on what is bound. REQUIRES: made for this session's program.
  absl::Status Run(IoBinding& binding, const RunOptions& options = {});
  // Of these inputs; their data is used only where shapes depend on it.
  absl::StatusOr<std::vector<ResultShape>> OutputShapes(
      std::span<const kernels::TensorView> inputs);

  struct Stats {
    int64_t shapes_prepared = 0;  // exact input shapes
    int64_t plans_made =
        0;  // memory plans: one per shape class, unless sizes do not follow from bounds
    int64_t dynamic_runs = 0;  // runs with shapes that depend on values
    // Of the arena, one for each program of control flow that has run. The bound is the most bytes
    // alive at one time, below which no arena can be; buffer_bytes are those of all buffers.
    size_t arena_bytes = 0, arena_bound_bytes = 0, buffer_bytes = 0;
    size_t device_arena_bytes = 0;
  };
  const Stats& stats() const;

 private:
  friend class Program;
  struct Impl;
  static const std::atomic<bool>* FlagOf(const RunOptions& options);
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_SESSION_H_
