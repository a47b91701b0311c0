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

#include "ir/core/dtype.h"
#include "kernels/tensor_view.h"

namespace tenon::kernels {

// Outcome of a kernel. Kernels do not see Status types: the executor adds op and location to the
// text. One pointer, null when ok.
class [[nodiscard]] KernelStatus {
 public:
  enum class Code : uint8_t { kOk, kInvalidArgument, kUnsupported, kInternal };

  KernelStatus() = default;  // ok
  // Messages are lower-case and say what was expected.
  static KernelStatus Ok() { return {}; }
  static KernelStatus Invalid(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
  static KernelStatus Unsupported(std::string m) { return {Code::kUnsupported, std::move(m)}; }
  static KernelStatus Internal(std::string m) { return {Code::kInternal, std::move(m)}; }

  bool ok() const { return error_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : error_->code; }
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

// Runs f(begin, end) over disjoint sub-ranges that cover [0, n), on this device's threads.
// `grain`: the smallest range worth a thread of its own. Implementations never allocate per call.
class ParallelFor {
 public:
  virtual ~ParallelFor() = default;
  virtual int num_threads() const = 0;
  virtual void Run(int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
                   void* arg) = 0;

  // Once `*flag` is true, ranges may be left out: the results of the run are thrown away then. Not
  // even the rest of a kernel may rely on what they would have written (an index, say). May be
  // null.
  void set_cancel_flag(const std::atomic<bool>* flag) { cancel_flag_ = flag; }
  const std::atomic<bool>* cancel_flag() const { return cancel_flag_; }
  bool cancelled() const {
    return cancel_flag_ != nullptr && cancel_flag_->load(std::memory_order_relaxed);
  }

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

// Per-device services, one per running program. Not thread-safe.
struct DeviceContext {
  ParallelFor* parallel = nullptr;  // never null
  // Null: the program has no kernel of Backend::kCuda.
  gpu::Queue* gpu = nullptr;
  gpu::Staging* staging = nullptr;
};

class GrowingState;

// State a kernel keeps between runs for one instruction and one set of input shapes: primitives,
// packed weights, blocking decisions. Made by Prepare, owned by the executor.
class KernelState {
 public:
  virtual ~KernelState() = default;
  // This state, if results grow where they are (growing_state.h); else null.
  virtual GrowingState* growing() { return nullptr; }
};

// Read-only, 64-byte aligned.
using PackedBytes = std::shared_ptr<const std::byte>;

// Where packed weights live. Implemented by the executor.
class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // `layout` names everything that the bytes depend on besides the values of the inputs `from`,
  // which must be constants: blocking, transposition, instruction set, dtype. `fill` writes all
  // `bytes` bytes. It is called at most once a program for equal constants and layouts, and not at
  // all when a cache file has the bytes. Null: no memory.
  // Only `fill` reads inputs `from`: at other times their bytes need not be in memory.
  virtual PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                           const std::function<void(std::byte*)>& fill) = 0;
  // For `fill`, which has read bytes [begin, end) of an input and will not do so again: they need
  // not stay in memory while it goes on.
  virtual void Release(int /*input*/, size_t /*begin*/, size_t /*end*/) {}
};

// What Prepare sees. Shapes and dtypes are final; `data` is set only for inputs that are constant
// for the life of the program (weights), null for the others.
struct PrepareArgs {
  std::span<const TensorView> inputs = {};
  std::span<const TensorView> outputs = {};
  const void* attrs = nullptr;  // the op's generated attribute struct, e.g. ten::MatmulAttrs
  DeviceContext* device = nullptr;
  // How the executor provides for Pack; null: every call makes bytes of its own.
  WeightStore* weights = nullptr;
  // Bytes computed from constant inputs, in a layout of the kernel's own: see WeightStore::Pack.
  PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                   const std::function<void(std::byte*)>& fill) const;
  void Release(int input, size_t begin, size_t end) const {
    if (weights != nullptr) weights->Release(input, begin, end);
  }
  // Set by Prepare: scratch bytes Run needs (64-byte aligned, planned into the arena).
  size_t scratch_bytes = 0;
};

struct RunArgs {
  std::span<const TensorView> inputs = {};
  std::span<const TensorView> outputs = {};
  const void* attrs = nullptr;
  DeviceContext* device = nullptr;
  KernelState* state = nullptr;  // what Prepare returned; null if the kernel has no Prepare
  void* scratch = nullptr;

  template <typename Attrs>
  const Attrs& get() const {
    return *static_cast<const Attrs*>(attrs);
  }
};

// Static facts about one call on which kernel choice may depend. Dims that are not known before run
// time are -1; rank is always known.
struct CallSignature {
  std::span<const TensorView> inputs;  // data null; shape entries may be -1
  std::span<const TensorView> outputs;
  std::span<const bool> constant_input;  // per input: known at compile time
  const void* attrs = nullptr;
};

using RunFn = KernelStatus (*)(const RunArgs& args);
using PrepareFn = KernelStatus (*)(PrepareArgs& args, std::shared_ptr<KernelState>& state);
// Empty string: the kernel can run this call. Otherwise why not ("needs f32, got f64").
using SupportsFn = std::string (*)(const CallSignature& call);

enum class Backend : uint8_t { kCpu, kCuda };

// One kernel of an op. Several kernels may serve an op: the supported one of highest priority wins;
// reference kernels have priority 0 and support every dtype the op allows.
struct Kernel {
  const char* op;    // "ten.matmul"
  const char* name;  // "cpu.matmul"; reference kernels "ref.matmul"
  Backend backend = Backend::kCpu;
  int priority = 0;
  RunFn run = nullptr;
  PrepareFn prepare = nullptr;    // may be null
  SupportsFn supports = nullptr;  // null: always
  // Operand index whose buffer output 0 may share (elementwise kernels): bit i = input i.
  uint32_t inplace_mask = 0;
  // Backend::kCuda: operands that the kernel reads on the host, as bounds and extents; bit i =
  // input i. All others, and the results, are in device memory.
  uint32_t host_inputs = 0;
  // Constants that may lie at any address, as they do in model files: bit i = input i. All else is
  // aligned to its elements.
  uint32_t unaligned_inputs = 0;
  // Whatever the shapes of its other operands are, unless a result is empty: Prepare packs the same
  // constants in the same layouts. Once it has, they are not needed any more.
  bool packs_once = false;

  bool reads_unaligned(size_t input) const {
    return input < 32 && ((unaligned_inputs >> input) & 1) != 0;
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_KERNEL_H_
