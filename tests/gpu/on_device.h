// Calls of GPU kernels with their tensors on a device, and their results beside those of the
// reference kernels.
#ifndef TENON_TESTS_GPU_ON_DEVICE_H_
#define TENON_TESTS_GPU_ON_DEVICE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/gpu/queue.h"
#include "kernels/gpu/staging.h"
#include "kernels/registry.h"
#include "tests/kernels/case_generators.h"

namespace tenon::kernels::testing {

const KernelRegistry& GpuRegistry();  // of GPU kernels alone
const Kernel* ReferenceOf(std::string_view op);

// A tensor of f32 with elements of another type; others as they are.
Tensor WithElements(const Tensor& t, DType dtype);
// The case with elements of another type in place of f32. REQUIRES: its attributes name none.
Case WithElements(const Case& c, DType dtype);

// But for rounding: of f16 and bf16 a few units in the last place, as far as the largest value has
// them.
::testing::AssertionResult Same(const Tensor& actual, const Tensor& expected);

// A case whose tensors are in the device's memory, but for what the kernel reads on the host.
class OnDevice {
 public:
  // `shift`: elements between where memory begins and where each tensor does.
  OnDevice(gpu::Device& device, const Kernel& kernel, const Case& c, int64_t shift = 0)
      : kernel_(kernel), case_(c), shift_(static_cast<size_t>(shift)) {
    Expect(device.NewQueue(&queue_));
    staging_ = std::make_unique<gpu::Staging>(*queue_);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      TensorView view = c.inputs[i].view();
      if (view.present() && ((kernel.host_inputs >> i) & 1) == 0) {
        view.data = Allocate(c.inputs[i]);
        Expect(staging_->ToDevice(view.data, c.inputs[i].data<void>(), c.inputs[i].bytes));
      }
      inputs_.push_back(view);
    }
    for (const Tensor& t : c.outputs) {
      TensorView view = t.view();
      view.data = Allocate(t);
      // Elements that the kernel leaves out show.
      Expect(staging_->ToDevice(view.data, std::string(t.bytes, '\x7f').data(), t.bytes));
      outputs_.push_back(view);
    }
  }
  ~OnDevice() {
    staging_.reset();
    for (void* memory : memory_) queue_->Free(memory);
  }

  // `share`: the input whose memory the first result takes, or -1. Afterwards the results are in
  // results().
  KernelStatus Run(int share = -1) {
    ThreadPool pool(1);
    DeviceContext context = {.parallel = &pool, .gpu = queue_.get(), .staging = staging_.get()};
    std::vector<TensorView> outputs = outputs_;
    if (share >= 0) outputs[0].data = inputs_[static_cast<size_t>(share)].data;
    std::shared_ptr<KernelState> state;
    size_t scratch_bytes = 0;
    if (kernel_.prepare != nullptr) {
      PrepareArgs prepare;
      prepare.inputs = inputs_;
      prepare.outputs = outputs;
      prepare.attrs = case_.attrs.get();
      prepare.device = &context;
      Expect(kernel_.prepare(prepare, state));
      scratch_bytes = prepare.scratch_bytes;
    }
    RunArgs args;
    if (scratch_bytes > 0) args.scratch = Allocate(scratch_bytes);
    args.state = state.get();
    args.inputs = inputs_;
    args.outputs = outputs;
    args.attrs = case_.attrs.get();
    args.device = &context;
    KernelStatus status = kernel_.run(args);
    for (size_t i = 0; i < outputs.size() && status.ok(); ++i) {
      status =
          staging_->ToHost(case_.outputs[i].data<void>(), outputs[i].data, case_.outputs[i].bytes);
    }
    return status.ok() ? staging_->Finish() : std::move(status);
  }
  const std::vector<Tensor>& results() const { return case_.outputs; }

 private:
  static void Expect(const KernelStatus& status) { EXPECT_TRUE(status.ok()) << status.message(); }
  void* Allocate(const Tensor& t) {
    const size_t shift = shift_ * SizeOf(t.dtype);
    return static_cast<std::byte*>(Allocate(t.bytes + shift)) + shift;
  }
  void* Allocate(size_t bytes) {
    void* memory = nullptr;
    Expect(queue_->Allocate(bytes, &memory));
    memory_.push_back(memory);
    return memory;
  }

  const Kernel& kernel_;
  Case case_;
  size_t shift_;
  std::unique_ptr<gpu::Queue> queue_;
  std::unique_ptr<gpu::Staging> staging_;
  std::vector<void*> memory_;
  std::vector<TensorView> inputs_, outputs_;
};

}  // namespace tenon::kernels::testing

#endif  // TENON_TESTS_GPU_ON_DEVICE_H_
