// The kernel interface: a plain function over tensor views, attributes and a device context.
#ifndef TENON_KERNELS_KERNEL_H_
#define TENON_KERNELS_KERNEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/base/dtype.h"
#include "kernels/tensor_view.h"

namespace tenon::kernels {

// The outcome of a kernel. Kernels do not use absl::Status: the executor adds op and location and
// converts the code. It is one pointer, null for success.
class [[nodiscard]] KernelStatus {
 public:
  // The kind of an outcome.
  enum class Code : uint8_t {
    kOk,               // success
    kInvalidArgument,  // the inputs or attributes are wrong
    kUnsupported,      // the kernel does not handle this call
    kInternal,         // an error that is no fault of the caller
    kOutOfMemory       // memory is refused
  };

  KernelStatus() = default;                // ok
  static KernelStatus Ok() { return {}; }  // success
  // Makes an error of code kInvalidArgument. Messages are in lower case and say what was expected.
  static KernelStatus Invalid(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
  // Makes an error of code kUnsupported.
  static KernelStatus Unsupported(std::string m) { return {Code::kUnsupported, std::move(m)}; }
  // Memory is refused: Pack returned null, or an allocation failed. The run ends with
  // ResourceExhausted, and the executor names the limit.
  static KernelStatus OutOfMemory(std::string m) { return {Code::kOutOfMemory, std::move(m)}; }
  // Makes an error of code kInternal.
  static KernelStatus Internal(std::string m) { return {Code::kInternal, std::move(m)}; }

  bool ok() const { return error_ == nullptr; }                  // true for success
  Code code() const { return ok() ? Code::kOk : error_->code; }  // kOk for success
  // Returns an empty text for success. Valid as long as this object.
  std::string_view message() const { return ok() ? std::string_view() : error_->message; }

 private:
  struct Error {
    Code code;
    std::string message;
  };
  KernelStatus(Code code, std::string message)
      : error_(std::make_unique<Error>(Error{code, std::move(message)})) {}
  std::unique_ptr<const Error> error_;
};

// Runs a function on ranges that cover [0, n), on the threads of the device. Not thread-safe: one
// thread calls it, or a function inside of its ranges.
class ParallelFor {
 public:
  virtual ~ParallelFor() = default;
  virtual int num_threads() const = 0;  // the threads that may run ranges, with the caller's
  // Calls f(arg, begin, end) for disjoint ranges that cover [0, n), and returns when all are done.
  // `grain` is the smallest range that is worth a thread. Implementations allocate no memory.
  virtual void Run(int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
                   void* arg) = 0;

  // Sets a flag that cancels runs; may be null. Once it is true, ranges may be skipped, because the
  // results of the run are dropped. The rest of a kernel must not rely on what skipped ranges would
  // have written, such as an index.
  void set_cancel_flag(const std::atomic<bool>* flag) { cancel_flag_ = flag; }
  // Returns the flag; null if none is set.
  const std::atomic<bool>* cancel_flag() const { return cancel_flag_; }
  // True once the run is cancelled.
  bool cancelled() const {
    return cancel_flag_ != nullptr && cancel_flag_->load(std::memory_order_relaxed);
  }

  // Calls f(begin, end) in the same way, directly if one range suffices.
  template <typename F>
  void operator()(int64_t n, int64_t grain, F&& f) {
    if (n <= 0) return;
    if (n <= grain) {
      f(int64_t{0}, n);
      return;
    }
    using Fn = std::remove_reference_t<F>;
    Run(
        n, grain, [](void* arg, int64_t b, int64_t e) { (*static_cast<Fn*>(arg))(b, e); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  const std::atomic<bool>* cancel_flag_ = nullptr;
};

namespace gpu {
class Queue;
class Staging;
}  // namespace gpu

class Draws;

// The services of a device for one running program. Not thread-safe.
struct DeviceContext {
  ParallelFor* parallel = nullptr;  // not null
  // The queue of a GPU. Null if the program has no kernel of Backend::kCuda.
  gpu::Queue* gpu = nullptr;
  gpu::Staging* staging = nullptr;  // memory for copies of that queue; null without one
  // The random numbers of the run (draws.h). Null where nothing draws, as for constant folding.
  Draws* draws = nullptr;
};

class GrowingState;

// Data that a kernel keeps between runs for one call and one set of input shapes, such as packed
// weights and blocking decisions. Prepare makes it; the executor owns it.
class KernelState {
 public:
  virtual ~KernelState() = default;
  // Returns this state if results grow in place (growing_state.h); null otherwise.
  virtual GrowingState* growing() { return nullptr; }
};

// Read-only bytes, aligned to 64.
using PackedBytes = std::shared_ptr<const std::byte>;

// The store of packed weights. The executor implements it.
class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // Returns `bytes` bytes that `fill` computes from the constant inputs `from`. `layout` must name
  // everything else on which they depend: blocking, transposition, instruction set, element type.
  // `fill` only writes the bytes: once for equal constants and layouts, not at all if a file has
  // them, and again with other floats in `from` where a program is saved. Returns null if there is
  // no memory, which KernelStatus::OutOfMemory answers. Only `fill` may read the inputs `from`: at
  // other times their bytes need not be in memory.
  virtual PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                           const std::function<void(std::byte*)>& fill) = 0;
  // For `fill`: bytes [begin, end) of an input will not be read again and can leave memory.
  virtual void Release(int /*input*/, size_t /*begin*/, size_t /*end*/) {}
};

// What Prepare sees. Shapes and dtypes are final. `data` is set only for inputs that are constant
// for the life of the program, such as weights; it is null for all others.
struct PrepareArgs {
  std::span<const TensorView> inputs = {};   // the operands of the op
  std::span<const TensorView> outputs = {};  // the results of the op
  // The generated attribute struct of the op, such as ten::MatmulAttrs, or an AttrMap.
  const void* attrs = nullptr;
  DeviceContext* device = nullptr;  // not null
  // The store behind Pack; null: every call computes its own bytes.
  WeightStore* weights = nullptr;
  // Returns bytes computed from constant inputs. See WeightStore::Pack.
  PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                   const std::function<void(std::byte*)>& fill) const;
  // Calls WeightStore::Release, if there is a store.
  void Release(int input, size_t begin, size_t end) const {
    if (weights != nullptr) weights->Release(input, begin, end);
  }
  // Set by Prepare: bytes of scratch memory that Run needs. The memory plan includes them.
  size_t scratch_bytes = 0;
  const void* data = nullptr;  // Kernel::data
};

// What Run sees. Shapes are final. Constants of a kernel with Kernel::packs_once may have no data.
struct RunArgs {
  std::span<const TensorView> inputs = {};   // the operands of the op
  std::span<const TensorView> outputs = {};  // the results of the op, to be written
  const void* attrs = nullptr;               // as in PrepareArgs
  DeviceContext* device = nullptr;           // not null
  KernelState* state = nullptr;  // of Prepare; without Prepare null or calls/found_results.h
  // PrepareArgs::scratch_bytes bytes, aligned to 64.
  void* scratch = nullptr;
  const void* data = nullptr;  // Kernel::data

  // The attribute struct. `Attrs` must be its type.
  template <typename Attrs>
  const Attrs& get() const {
    return *static_cast<const Attrs*>(attrs);
  }
};

// Facts about one call from which a kernel is chosen. Ranks are known; a dimension that is known
// only at run time is -1.
struct CallSignature {
  std::span<const TensorView> inputs;    // without data; dimensions may be -1
  std::span<const TensorView> outputs;   // without data; dimensions may be -1
  std::span<const bool> constant_input;  // per input: whether it is a constant
  const void* attrs = nullptr;           // as in PrepareArgs
  const void* data = nullptr;            // Kernel::data
};

// Computes the outputs. May run in several threads at once, with different `args`.
using RunFn = KernelStatus (*)(const RunArgs& args);
// Prepares a kernel for one set of input shapes. Each session calls it before the first Run with
// these shapes; at the end it sets `state`, which only runs of that session use.
using PrepareFn = KernelStatus (*)(PrepareArgs& args, std::shared_ptr<KernelState>& state);
// Returns an empty string if the kernel can run this call, and the reason otherwise, such as "needs
// f32, got f64".
using SupportsFn = std::string (*)(const CallSignature& call);

// The device that a kernel runs on.
enum class Backend : uint8_t {
  kCpu,  // the CPU
  kCuda  // a CUDA GPU
};

// One kernel of an op. Of several kernels the supported one with the highest priority is chosen.
// Reference kernels, whose names begin with "ref.", have priority 0 and support every dtype of
// their op. They also fold constants and check rules. Strings must outlive the registry.
struct Kernel {
  const char* op;                   // such as "ten.matmul"
  const char* name;                 // such as "cpu.matmul"; "ref.matmul" for a reference kernel
  Backend backend = Backend::kCpu;  // the device it runs on
  int priority = 0;                 // the highest is chosen
  RunFn run = nullptr;              // must not be null
  PrepareFn prepare = nullptr;      // may be null
  SupportsFn supports = nullptr;    // null: supports every call
  // Inputs whose buffer output 0 may share; bit i stands for input i. Set it for kernels that read
  // element i before they write it, such as elementwise ones.
  uint32_t inplace_mask = 0;
  // Backend::kCuda: inputs that the kernel reads on the host, such as bounds and sizes. Bit i
  // stands for input i. All other inputs and all results are in device memory.
  uint32_t host_inputs = 0;
  // Constant inputs that may lie at any address, as in model files. Bit i stands for input i. All
  // other data is aligned to its element type.
  uint32_t unaligned_inputs = 0;
  // Prepare packs the same constants in the same layouts whatever the shapes of the other operands
  // are, unless a result is empty. After that the constants are not needed.
  bool packs_once = false;
  // What the functions of the kernel share, such as a function of another language with its state.
  // Runs may read it in several threads at once. The kernel and its copies keep it alive.
  std::shared_ptr<const void> data{};

  // True if `input` is in `unaligned_inputs`.
  bool reads_unaligned(size_t input) const {
    return input < 32 && ((unaligned_inputs >> input) & 1) != 0;
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_KERNEL_H_
