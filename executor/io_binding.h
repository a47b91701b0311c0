// Inputs and outputs that stay bound from run to run.
#ifndef TENON_EXECUTOR_IO_BINDING_H_
#define TENON_EXECUTOR_IO_BINDING_H_

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

// An input or output of a program: its position or its name.
class PortRef {
 public:
  PortRef(int index) : index_(index) {}                           // NOLINT: meant to convert
  PortRef(size_t index) : index_(static_cast<int64_t>(index)) {}  // NOLINT
  PortRef(const char* name) : name_(name) {}                      // NOLINT
  PortRef(std::string_view name) : name_(name) {}                 // NOLINT
  PortRef(const std::string& name) : name_(name) {}               // NOLINT

  // NotFound, with the names that there are.
  absl::StatusOr<size_t> Find(std::span<const TensorSpec> ports, std::string_view what) const;

 private:
  int64_t index_ = -1;
  std::string_view name_;  // empty: by position
};

// A dense tensor in the memory of the device that a program was compiled for.
struct DeviceTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  void* data = nullptr;
  std::shared_ptr<const void> owner;  // of the memory; null: it outlives the binding
};

// Run by Session::Run(binding). Bound once, a run copies nothing that need not be copied and
// allocates nothing, also when shapes change to others seen before. One thread at a time.
//
// A decoder hands its present on as the next step's past without a copy:
//
//   IoBinding binding(program);
//   binding.BindInput("input_ids", ids);
//   binding.BindInput("past", empty);
//   binding.Carry("present", "past");
//   while (...) { session.Run(binding); ...write the next token into ids... }
class IoBinding {
 public:
  explicit IoBinding(const Program& program);
  // Its memory is written by its runs: two bindings cannot share it.
  IoBinding(const IoBinding&) = delete;
  IoBinding& operator=(const IoBinding&) = delete;
  IoBinding(IoBinding&&) = default;
  IoBinding& operator=(IoBinding&&) = default;

  // The tensor is read by every run from now on; its bytes may change between runs.
  absl::Status BindInput(PortRef input, Tensor tensor);
  // Results are written to this tensor, whose shape must be theirs. It must overlap no input and no
  // other output.
  absl::Status BindOutput(PortRef output, Tensor tensor);
  // The same in device memory. Inputs must be there when a run begins, and results are when it
  // returns. FailedPrecondition if the program is for the CPU; so says Run if an operation on the
  // host reads the input or makes the output, or if the value is another output too.
  absl::Status BindInput(PortRef input, DeviceTensor tensor);
  absl::Status BindOutput(PortRef output, DeviceTensor tensor);
  // Results are written to memory of the binding's own, which grows when they do. The default.
  absl::Status BindOutput(PortRef output);
  // After each run its result becomes that input, and the input's memory is written by the next run
  // if it is the binding's own. Bind the input's first value with BindInput. Where all that the
  // program does with the two is to put new rows behind those of the input, as attention does with
  // keys and values, the rows stay where they are: the binding keeps room for more. Where the
  // program runs on a GPU and nothing on the host reads the input or makes the output, both stay in
  // the GPU's memory.
  absl::Status Carry(PortRef output, PortRef input);

  // As of the last run; before it, what is bound, of an output that is carried over the input's
  // first value. FailedPrecondition where there is nothing yet. The next run writes over memory of
  // the binding's own, also of copies of these. Of what grows where it is, or is in a GPU's memory,
  // these are copies, made by each call.
  absl::StatusOr<Tensor> output(PortRef output) const;
  absl::StatusOr<Tensor> input(PortRef input) const;

 private:
  friend class Session;
  friend class Runner;
  static constexpr int kNone = -1;

  struct Port {
    Tensor tensor;
    size_t capacity = 0;  // bytes of the binding's own; 0: the memory is somebody else's
    bool fixed = false;   // an output bound to a tensor
    bool checked = false;
    int partner = kNone;  // output: the input that it becomes; input: the output it comes from
    // Not 0: it grows, and the heads of [B, H, rows, D] lie as many rows apart. The memory, which
    // nobody else has, is that of the partner too, except in runs that move it to a larger one.
    // Of an output: 0 if users may have the memory, as they do after a run that did not grow.
    int64_t pitch = 0;
    bool on_device = false;  // the memory is the device's

    // Leaves the memory to whoever else has it.
    void Release();
    bool Overlaps(const Port& other) const;
  };

  // Every input is bound, and nothing that this run or a later one writes overlaps anything else.
  // Looks at what has been bound since the last time: runs exchange the memory of partners, and
  // otherwise write to new memory.
  absl::Status Check();
  // An output of the binding's own gives up memory that the input lies in.
  absl::Status CheckAgainstInput(size_t output, size_t input);
  // Makes output `i` a tensor of this shape, on_device: in the device's memory.
  absl::Status Fit(size_t i, std::span<const int64_t> shape, bool on_device);
  absl::Status OpenDevice();
  // The tensor, if the port has its element type.
  absl::StatusOr<Port> PortOf(const TensorSpec& spec, std::string_view what, DeviceTensor tensor);
  // The same for one that is `input` and new rows behind, and becomes it. Both then have pitches,
  // which the kernel must be told; that of the input is 0 if it is dense.
  absl::Status Grow(size_t input, size_t output, std::span<const int64_t> shape);
  // Makes an input that grew, or is in the device's memory, dense and in the host's.
  absl::Status MakeDense(size_t input);
  // The tensor of a port, dense, in host memory.
  absl::StatusOr<Tensor> Dense(const Port& port) const;
  void SetViews();
  // After a run.
  void CarryOver();

  Program program_;
  // For memory of the device: the sessions that run may be of other threads by then. Null until it
  // is needed.
  std::shared_ptr<DeviceSession> device_;
  std::vector<Port> inputs_, outputs_;
  std::vector<kernels::TensorView> input_views_, output_views_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_IO_BINDING_H_
