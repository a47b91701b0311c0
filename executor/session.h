// Runs of a program: a session owns the arena and everything prepared for shapes seen before.
#ifndef TENON_EXECUTOR_SESSION_H_
#define TENON_EXECUTOR_SESSION_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/prepare/concrete_shapes.h"
#include "executor/program.h"
#include "executor/tensor.h"

namespace tenon {

class IoBinding;

// Runs a program, one run at a time. Use one session per thread; sessions of one program may run at
// the same time. A call while another call of the session is running returns FailedPrecondition and
// changes nothing; the other call is not disturbed. A session keeps its program alive.
//
// A session stays prepared for the 16 sets of input shapes that it used last, or fewer if values
// computed from them take more than 64 MiB. A run with such shapes computes no shapes. If results
// go to the caller's memory or to a binding, it also allocates nothing.
//
// Runs return InvalidArgument for inputs that do not fit their declared types: a symbol such as
// `batch` must have one value in all inputs. They return Cancelled if the token was cancelled, and
// ResourceExhausted if memory or a limit is exhausted. Errors of a kernel name its op and node.
// After an error the session can be used again.
class Session {
 public:
  ~Session();
  Session(Session&&) noexcept;             // the other one can then only be assigned or destroyed
  Session& operator=(Session&&) noexcept;  // as the constructor

  // Runs the program and returns new tensors, which belong to the caller. `inputs` are in the order
  // of Program::inputs(). The tensors must be in host memory and aligned to their element types.
  absl::StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                          const RunOptions& options = {});

  // The same with results in the memory of the caller. Their shapes must be those of OutputShapes,
  // and they must be aligned and must not overlap the inputs or each other; overlaps are not
  // checked.
  absl::Status Run(std::span<const kernels::TensorView> inputs,
                   std::span<const kernels::TensorView> outputs, const RunOptions& options = {});
  // Runs with bound inputs and outputs. InvalidArgument if the binding belongs to another program;
  // FailedPrecondition while another session runs with it; other errors as for IoBinding.
  absl::Status Run(IoBinding& binding, const RunOptions& options = {});
  // Returns the shapes of the results for these inputs. The data of inputs is used only if shapes
  // depend on it; then this runs the program.
  absl::StatusOr<std::vector<ResultShape>> OutputShapes(
      std::span<const kernels::TensorView> inputs);

  // Counters of the session. Sizes are in bytes.
  struct Stats {
    int64_t shapes_prepared = 0;  // sets of input shapes
    // Memory plans. There is one per shape class: each symbol is rounded up to a power of two.
    // There may be more if sizes do not follow from bounds.
    int64_t plans_made = 0;
    int64_t dynamic_runs = 0;  // runs whose shapes depend on values
    // There is one arena in host memory per program of control flow that has run.
    size_t arena_bytes = 0,     // the size of all arenas
        arena_bound_bytes = 0,  // the most bytes alive at one time; no arena can be smaller
        buffer_bytes = 0;       // the sum of all buffers
    // The arena in memory of the GPU.
    size_t device_arena_bytes = 0;
  };
  // Valid as long as the session. Do not read it during a run.
  const Stats& stats() const;

 private:
  friend class Program;
  struct Impl;
  // Goes on with the current version of the program. Nothing may be running.
  void TakeVersion();
  static const std::atomic<bool>* FlagOf(const RunOptions& options);
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_SESSION_H_
