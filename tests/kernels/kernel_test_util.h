// Tensors, cases and a runner for testing kernels without the rest of the system.
#ifndef TENON_TESTS_KERNELS_KERNEL_TEST_UTIL_H_
#define TENON_TESTS_KERNELS_KERNEL_TEST_UTIL_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/half.h"
#include "kernels/kernel.h"
#include "kernels/registry.h"
#include "kernels/threads/thread_pool.h"

namespace tenon::kernels::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Shape = std::vector<int64_t>;

template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, Half>) return DType::kF16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::kBF16;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kI8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::kI16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::kU16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kU64;
  return DType::kInvalid;
}

// An owned tensor. Its bytes are allocated exactly, so that sanitizers see a kernel read beyond
// them.
struct Tensor {
  DType dtype = DType::kInvalid;  // kInvalid: an absent operand
  Shape shape;
  std::vector<uint64_t> storage;  // of the right alignment for every element type
  size_t bytes = 0;
  size_t shift = 0;  // see Misalign

  Tensor() = default;
  Tensor(DType type, Shape extents) : dtype(type), shape(std::move(extents)) {
    bytes = static_cast<size_t>(numel()) * SizeOf(dtype);
    storage.resize((bytes + 7) / 8);
  }
  template <typename T>
  static Tensor Of(Shape extents, const std::vector<T>& values) {
    Tensor t(DTypeOf<T>(), std::move(extents));
    for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = values[i];
    return t;
  }

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(const_cast<uint64_t*>(storage.data()));
  }
  template <typename T>
  std::vector<T> values() const {
    return std::vector<T>(data<T>(), data<T>() + numel());
  }
  TensorView view() const {
    return {dtype == DType::kInvalid ? nullptr : data<char>() + shift, dtype, shape};
  }
  // Views begin at an odd address from now on.
  void Misalign() {
    storage.resize((bytes + 1 + 7) / 8);
    std::memmove(data<char>() + 1, data<char>(), bytes);
    shift = 1;
  }
};

struct Case {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;          // of the right dtype and shape; filled by RunCase
  std::shared_ptr<const void> attrs;    // the op's attribute struct, or null
  std::vector<size_t> constant_inputs;  // inputs whose data Prepare sees
  // Of the sums that an activation makes results of, where it may shrink them: rounding errors are
  // in proportion to the larger of this and the largest result.
  float magnitude = 0;
};

template <typename Attrs>
std::shared_ptr<const void> MakeAttrs(Attrs attrs) {
  return std::make_shared<Attrs>(std::move(attrs));
}

inline std::vector<TensorView> Views(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(t.view());
  return views;
}

// Why the kernel does not serve the case; empty if it does.
inline std::string WhyNot(const Kernel& kernel, const Case& c) {
  if (kernel.supports == nullptr) return {};
  std::vector<TensorView> inputs = Views(c.inputs), outputs = Views(c.outputs);
  const auto constant = std::make_unique<bool[]>(inputs.size() + 1);
  for (size_t i : c.constant_inputs) constant[i] = true;
  for (TensorView& v : inputs) v.data = nullptr;
  for (TensorView& v : outputs) v.data = nullptr;
  return kernel.supports({inputs, outputs, {constant.get(), inputs.size()}, c.attrs.get()});
}

// Keeps what a kernel packs, and which inputs of. What it releases is destroyed there and then.
class TestWeightStore final : public WeightStore {
 public:
  explicit TestWeightStore(std::span<const TensorView> inputs) : inputs_(inputs) {}

  PackedBytes Pack(std::span<const int> from, std::string_view layout, size_t bytes,
                   const std::function<void(std::byte*)>& fill) override {
    packed.insert(from.begin(), from.end());
    return PrepareArgs().Pack(from, layout, bytes, fill);
  }
  void Release(int input, size_t begin, size_t end) override {
    auto* bytes = static_cast<std::byte*>(inputs_[static_cast<size_t>(input)].data);
    std::memset(bytes + begin, 0xff, end - begin);
  }
  std::set<int> packed;

 private:
  const std::span<const TensorView> inputs_;
};

// Prepares and runs twice (state must be reusable); results land in c.outputs. Inputs that
// were packed are destroyed before the runs. `share`: the input whose buffer the first output uses,
// or -1.
inline KernelStatus RunCase(const Kernel& kernel, Case& c, int threads = 1, int share = -1) {
  // Help whether it pays or not, so that kernels are cut up as on an idle machine.
  ThreadPool pool(
      threads, std::make_shared<Workers>(Workers::Options{.threads = threads, .adaptive = false}));
  DeviceContext device = {&pool};
  std::vector<TensorView> inputs = Views(c.inputs), outputs = Views(c.outputs), seen = inputs;
  for (TensorView& v : seen) v.data = nullptr;
  for (size_t i : c.constant_inputs) seen[i].data = inputs[i].data;
  std::vector<TensorView> no_data = outputs;
  for (TensorView& v : no_data) v.data = nullptr;
  PrepareArgs prepare = {
      .inputs = seen, .outputs = no_data, .attrs = c.attrs.get(), .device = &device};
  TestWeightStore weights(inputs);
  prepare.weights = &weights;
  std::shared_ptr<KernelState> state;
  if (kernel.prepare != nullptr) {
    KernelStatus status = kernel.prepare(prepare, state);
    if (!status.ok()) return status;
    for (int i : weights.packed) {
      const size_t bytes = c.inputs[static_cast<size_t>(i)].bytes;
      if (bytes > 0) std::memset(inputs[static_cast<size_t>(i)].data, 0xff, bytes);
    }
  }
  const std::unique_ptr<void, void (*)(void*)> scratch(
      std::aligned_alloc(64, (prepare.scratch_bytes + 127) / 64 * 64), std::free);
  RunArgs run = {.inputs = inputs,
                 .outputs = outputs,
                 .attrs = c.attrs.get(),
                 .device = &device,
                 .state = state.get(),
                 .scratch = scratch.get()};
  KernelStatus status = kernel.run(run);
  if (!status.ok() || share < 0) return status.ok() ? kernel.run(run) : std::move(status);
  inputs[static_cast<size_t>(share)].data = outputs[0].data;
  const Tensor& input = c.inputs[static_cast<size_t>(share)];
  if (input.bytes > 0) std::memcpy(outputs[0].data, input.data<void>(), input.bytes);
  return kernel.run(run);
}

inline const KernelRegistry& Registry() {
  static const KernelRegistry* const registry = [] {
    auto* made = new KernelRegistry;
    RegisterCpuKernels(*made);
    return made;
  }();
  return *registry;
}

}  // namespace tenon::kernels::testing

#endif  // TENON_TESTS_KERNELS_KERNEL_TEST_UTIL_H_
