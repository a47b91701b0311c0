// Inputs and outputs that stay bound from run to run.
#ifndef TENON_EXECUTOR_IO_BINDING_H_
#define TENON_EXECUTOR_IO_BINDING_H_

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/program.h"
#include "executor/tensor.h"

namespace tenon {

class DeviceSession;

// Names an input or output by position or by name. For use as an argument: it refers to the name
// without a copy.
class PortRef {
 public:
  // NOLINTBEGIN(google-explicit-constructor): meant to convert
  PortRef(int index) : index_(index) {}                           // by position, from 0
  PortRef(size_t index) : index_(static_cast<int64_t>(index)) {}  // by position, from 0
  PortRef(const char* name) : name_(name) {}                      // by name
  PortRef(std::string_view name) : name_(name) {}                 // by name
  PortRef(const std::string& name) : name_(name) {}               // by name
  // NOLINTEND(google-explicit-constructor)

  // Returns the position. NotFound, with the existing names, if there is none. `what` is "input" or
  // "output".
  absl::StatusOr<size_t> Find(std::span<const TensorSpec> ports, std::string_view what) const;

 private:
  int64_t index_ = -1;
  std::string_view name_;  // empty: by position
};

// A dense tensor in memory of the device that a program was compiled for.
struct DeviceTensor {
  DType dtype = DType::kF32;          // the element type
  std::vector<int64_t> shape;         // the extents
  void* data = nullptr;               // the address in device memory
  std::shared_ptr<const void> owner;  // keeps the memory; null: it outlives the binding
};

// Inputs and outputs for Session::Run(binding). Once everything is bound, a run copies and
// allocates nothing that it need not, also if shapes change to others seen before. Use a binding
// from one thread at a time: of two runs with it at once, one returns FailedPrecondition. It keeps
// the program alive.
//
// A decoder carries its present keys and values over to the next step's past without a copy:
//
//   IoBinding binding(program);
//   binding.BindInput("input_ids", ids);
//   binding.BindInput("past", empty);
//   binding.Carry("present", "past");
//   while (...) { session.Run(binding); ...write the next token into ids... }
class IoBinding {
 public:
  // Nothing is bound at first; outputs go to memory of the binding.
  explicit IoBinding(const Program& program);
  // A binding writes to its own memory in each run, so two bindings cannot share it.
  IoBinding(const IoBinding&) = delete;
  IoBinding& operator=(const IoBinding&) = delete;
  IoBinding(IoBinding&&) = default;
  IoBinding& operator=(IoBinding&&) = default;

  // Every run reads this tensor from now on; its bytes may change between runs. NotFound for an
  // unknown input, InvalidArgument for a null tensor or another element type. The shape is checked
  // by the run.
  absl::Status BindInput(PortRef input, Tensor tensor);
  // Every run writes results to this tensor, which must have their shape. It must not overlap an
  // input or another output: the run returns InvalidArgument then.
  absl::Status BindOutput(PortRef output, Tensor tensor);
  // The same in device memory. Inputs must be complete when a run begins; results are complete when
  // it returns. FailedPrecondition if the program is for the CPU. Run also returns it if an
  // operation on the host reads the input or computes the output, or if the value is another
  // output, too.
  absl::Status BindInput(PortRef input, DeviceTensor tensor);
  // The same for an output.
  absl::Status BindOutput(PortRef output, DeviceTensor tensor);
  // Results go to memory of the binding, which grows if they do. This is the default. It also ends
  // Carry.
  absl::Status BindOutput(PortRef output);
  // After each run the output becomes the input; the next run may write to the old input's memory
  // if the binding owns it. Bind the first value with BindInput. InvalidArgument if element types
  // or ranks differ, or if the input has another source.
  //
  // A KV cache grows in place: its rows stay where they are, and the binding keeps room for more.
  // This needs a program that only appends rows to the input, as attention does with past keys and
  // values. On a GPU both stay in device memory, unless the host reads the input or computes the
  // output.
  absl::Status Carry(PortRef output, PortRef input);

  // The value after the last run. Before the first run these return what is bound; a carried output
  // returns the first value of its input. FailedPrecondition if there is no value yet.
  //
  // The next run overwrites memory of the binding, and so also copies of these tensors. Values that
  // grow in place or that are in device memory are copied by each call.
  absl::StatusOr<Tensor> output(PortRef output) const;
  // The same for an input.
  absl::StatusOr<Tensor> input(PortRef input) const;

 private:
  friend class Session;
  friend class Runner;
  static constexpr int kNone = -1;

  struct Port {
    Tensor tensor;
    size_t capacity = 0;  // bytes that the binding owns; 0: the memory is somebody else's
    bool fixed = false;   // an output bound to a tensor
    bool checked = false;
    int partner = kNone;  // output: the input it becomes; input: the output it comes from
    // If not 0, the port grows: heads of [B, H, rows, D] are so many rows apart. The partner shares
    // the memory, except in runs that move it to larger memory. For an output, 0 also means that
    // users may have the memory, as after a run that did not grow.
    int64_t pitch = 0;
    bool on_device = false;  // the memory is on the device

    // Gives up the memory.
    void Release();
    bool Overlaps(const Port& other) const;
  };

  // Checks that every input is bound, and that nothing that a run writes overlaps anything else.
  // Checks only what was bound since the last call: runs exchange the memory of partners, and
  // otherwise write to new memory.
  absl::Status Check();
  // Makes an output in memory of the binding give up memory in which the input lies.
  absl::Status CheckAgainstInput(size_t output, size_t input);
  // Makes output `i` a tensor of this shape; with `on_device` in device memory.
  absl::Status Fit(size_t i, std::span<const int64_t> shape, bool on_device);
  absl::Status OpenDevice();
  // Returns the tensor as a port, if it has the element type of the port.
  absl::StatusOr<Port> PortOf(const TensorSpec& spec, std::string_view what, DeviceTensor tensor);
  // Prepares an output that is `input` with new rows and becomes the next input. Both then have
  // pitches, which the kernel must get; that of the input is 0 if it is dense.
  absl::Status Grow(size_t input, size_t output, std::span<const int64_t> shape);
  // Makes an input that has grown or is in device memory dense and in host memory.
  absl::Status MakeDense(size_t input);
  // Returns the tensor of a port, dense and in host memory.
  absl::StatusOr<Tensor> Dense(const Port& port) const;
  void SetViews();
  // Call it after a run.
  void CarryOver();

  Program program_;
  // True while a session runs with this binding. On the heap, so that bindings can be moved.
  std::unique_ptr<std::atomic<bool>> running_ = std::make_unique<std::atomic<bool>>(false);
  // For device memory: later runs may happen in sessions of other threads. Null until it is needed.
  std::shared_ptr<DeviceSession> device_;
  std::vector<Port> inputs_, outputs_;
  std::vector<kernels::TensorView> input_views_, output_views_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_IO_BINDING_H_
