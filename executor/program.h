// A compiled function, shared by the sessions that run it. Only values of its parameters change.
#ifndef TENON_EXECUTOR_PROGRAM_H_
#define TENON_EXECUTOR_PROGRAM_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/run_options.h"
#include "executor/tensor.h"
#include "ir/base/limits.h"
#include "ir/core/operation.h"
#include "kernels/registry.h"

namespace tenon::kernels::gpu {
class Device;
}

namespace tenon {

class PackedWeights;
class Session;
class ProgramVersions;

inline constexpr int kMaxThreads = 1024;  // The largest number of threads of a session.

// How a function is compiled and run.
struct ProgramOptions {
  int threads = 0;  // per session, with the caller's, at most kMaxThreads; 0: one per core
  // Null: the kernels of this build (MakeKernelRegistry).
  std::shared_ptr<const kernels::KernelRegistry> kernels;
  // The store of packed constants. Null: a store for this program alone.
  std::shared_ptr<PackedWeights> weights;
  // The device for kernels of Backend::kCuda (OpenCudaDevice); required if the function has any.
  std::shared_ptr<kernels::gpu::Device> gpu{};
  // The program keeps the context alive. Null: the caller guarantees that the function's Context
  // outlives the program.
  std::shared_ptr<Context> context;
  // Fills bytes of the arena that hold no value with NaN, to find errors in memory plans.
  bool check_memory = false;
  Limits limits{};  // for each run
};

// An input or output, as the function declares it.
struct TensorSpec {
  std::string name;               // the model's name (core.name), or "arg0", "result0"
  DType dtype = DType::kInvalid;  // the element type
  std::vector<std::string> dims;  // "768", "B", "past + S"; "?" for an unknown extent
  // Of a parameter that products read as a matrix: whether that is [inputs, outputs]. Empty if the
  // readers do not tell, or differ.
  std::optional<bool> inputs_first{};
};

// A value for a parameter.
struct ParameterValue {
  std::string name;  // of the parameter
  Tensor value;      // shared, not copied: its bytes must not change
};

// A program. Copies share it, also the values of its parameters. Const functions are thread-safe.
class Program {
 public:
  // Compiles `func`, a func.func of kernel.*, core.constant, ctl.* and func.return ops, as the
  // passes lower-to-kernels and plan-memory leave it. The function may change or be destroyed
  // afterward. Returns an error with the place in the function if it is not of that form or its
  // memory plan is wrong.
  static absl::StatusOr<Program> Compile(Operation* func, const ProgramOptions& options = {});

  // The inputs, in the order of the function's arguments. Valid as long as the program.
  std::span<const TensorSpec> inputs() const;
  // The outputs, in the order of the function's results. Valid as long as the program.
  std::span<const TensorSpec> outputs() const;
  // The parameters whose values may be replaced (LoadOptions::replaceable), in the order of the
  // module. Valid as long as the program.
  std::span<const TensorSpec> parameters() const;
  // Returns the current value of a parameter. NotFound if there is none of that name. Do not write
  // to its bytes, which may lie at any address.
  absl::StatusOr<Tensor> Parameter(std::string_view name) const;
  // Replaces values of parameters without compiling anew. Thread-safe, also while sessions run: a
  // run has all of the new values if it begins after this returns, and none if it began before.
  // One that begins meanwhile has all or none. The next run of each session packs the new weights
  // and computes what follows from them; what depends on no new value stays. A session holds the
  // old values until then.
  //
  // NotFound for a name that is not in parameters(). InvalidArgument for a value of another shape
  // or element type, and for a name that is given twice. Unimplemented for a program on a GPU.
  // ResourceExhausted without memory. Nothing is replaced then.
  absl::Status ReplaceParameters(std::span<const ParameterValue> values);
  // The number of kernel calls, views and values computed with the plan.
  size_t num_instructions() const;

  // Returns a session for one thread. Errors in opening a device show in its runs.
  Session NewSession() const;
  // Runs in a session that is kept for reuse; there are as many as concurrent calls. See
  // Session::Run.
  absl::StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                          const RunOptions& options = {}) const;

 private:
  friend class IoBinding;
  friend class Session;
  struct SessionPool;
  explicit Program(std::shared_ptr<ProgramVersions> versions);
  std::shared_ptr<ProgramVersions> versions_;
  std::shared_ptr<SessionPool> pool_;  // for Run
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROGRAM_H_
