// A compiled function: immutable, shared by the sessions that run it.
#ifndef TENON_EXECUTOR_PROGRAM_H_
#define TENON_EXECUTOR_PROGRAM_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/run_options.h"
#include "executor/tensor.h"
#include "ir/core/limits.h"
#include "ir/core/operation.h"
#include "kernels/registry.h"

namespace tenon::kernels::gpu {
class Device;
}

namespace tenon {

class PackedWeights;
class Session;
struct ProgramImpl;

struct ProgramOptions {
  int threads = 0;  // of each session; 0: one per core
  // Null: the kernels of this build.
  std::shared_ptr<const kernels::KernelRegistry> kernels;
  // Where packed forms of constants are kept. Null: a store of the program's own.
  std::shared_ptr<PackedWeights> weights;
  // Where kernels of Backend::kCuda run; needed if the function has any.
  std::shared_ptr<kernels::gpu::Device> gpu{};
  // Kept alive by the program. Null: the caller's promise that the function's Context outlives it.
  std::shared_ptr<Context> context;
  // To find errors of memory plans: bytes of the arena that hold nothing are filled with NaNs.
  bool check_memory = false;
  Limits limits{};  // of each run
};

// An input or output as the function declares it.
struct TensorSpec {
  std::string name;  // core.name, or "arg0", "result0"
  DType dtype = DType::kInvalid;
  std::vector<std::string> dims;  // "768", "B", "past + S"; "?" for an extent without a name
};

// Copies share the program. const methods are thread-safe.
class Program {
 public:
  // REQUIRES of `func`: a func.func whose operations are kernel.*, core.constant and func.return,
  // as the passes lower-to-kernels and plan-memory leave it. The function may be changed or
  // destroyed afterwards.
  static absl::StatusOr<Program> Compile(Operation* func, const ProgramOptions& options = {});

  std::span<const TensorSpec> inputs() const;
  std::span<const TensorSpec> outputs() const;
  // Kernel runs, views and plan-time values.
  size_t num_instructions() const;

  Session NewSession() const;
  // Runs in a session kept for reuse; as many as there are concurrent calls.
  absl::StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                          const RunOptions& options = {}) const;

 private:
  friend class IoBinding;
  friend class Session;
  struct SessionPool;
  explicit Program(std::shared_ptr<const ProgramImpl> impl);
  std::shared_ptr<const ProgramImpl> impl_;
  std::shared_ptr<SessionPool> pool_;  // for Run
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROGRAM_H_
