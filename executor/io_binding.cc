#include "executor/io_binding.h"

#include <algorithm>
#include <cstring>

#include "executor/compile/program_versions.h"
#include "executor/gpu/device_session.h"
#include "executor/memory/lasting_memory.h"
#include "executor/program_impl.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

// Memory of an output that grows gets half as much again, so that a past that grows by a token a
// step is seldom moved.
size_t GrownPort(size_t bytes, size_t capacity) {
  return capacity == 0 ? bytes : std::max(bytes, capacity + capacity / 2);
}

// Rows that there is room for in memory that grows.
int64_t Roomy(int64_t rows) { return rows + std::max<int64_t>(rows / 2, 64); }

}  // namespace

absl::StatusOr<size_t> PortRef::Find(std::span<const TensorSpec> ports,
                                     std::string_view what) const {
  if (name_.empty()) {
    if (index_ >= 0 && index_ < static_cast<int64_t>(ports.size()))
      return static_cast<size_t>(index_);
    return absl::NotFoundError(
        fmt::format("there is no {} {} (the program has {})", what, index_, ports.size()));
  }
  std::string names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name_) return i;
    names += (i == 0 ? "" : ", ") + ports[i].name;
  }
  return absl::NotFoundError(fmt::format("there is no {} '{}' (expected {})", what, name_, names));
}

IoBinding::IoBinding(const Program& program)
    : program_(program),
      inputs_(program.inputs().size()),
      outputs_(program.outputs().size()),
      input_views_(inputs_.size()),
      output_views_(outputs_.size()) {}

absl::Status IoBinding::BindInput(PortRef input, Tensor tensor) {
  TENON_ASSIGN_OR_RETURN(const size_t i, input.Find(program_.inputs(), "input"));
  const TensorSpec& spec = program_.inputs()[i];
  if (!tensor || tensor.dtype() != spec.dtype) {
    return absl::InvalidArgumentError(fmt::format("input '{}' is {} (expected {})", spec.name,
                                                  tensor ? tensor.type_text() : "null",
                                                  Name(spec.dtype)));
  }
  inputs_[i].Release();
  inputs_[i].tensor = std::move(tensor);
  inputs_[i].checked = false;
  return absl::OkStatus();
}

absl::Status IoBinding::BindOutput(PortRef output, Tensor tensor) {
  TENON_ASSIGN_OR_RETURN(const size_t i, output.Find(program_.outputs(), "output"));
  TENON_RETURN_IF_ERROR(BindOutput(i));
  outputs_[i].tensor = std::move(tensor);
  outputs_[i].fixed = true;
  return absl::OkStatus();
}

absl::Status IoBinding::OpenDevice() {
  if (device_ != nullptr) return absl::OkStatus();
  if (program_.versions_->Current()->options.gpu == nullptr) {
    return absl::FailedPreconditionError(
        "the program was compiled for the CPU (expected CompileOptions::gpu)");
  }
  TENON_ASSIGN_OR_RETURN(device_, DeviceSession::Open(program_.versions_->Current()->options.gpu));
  return absl::OkStatus();
}

absl::StatusOr<IoBinding::Port> IoBinding::PortOf(const TensorSpec& spec, std::string_view what,
                                                  DeviceTensor tensor) {
  TENON_RETURN_IF_ERROR(OpenDevice());
  Port port;
  port.on_device = true;
  port.tensor = Tensor::Borrow(tensor.dtype, tensor.shape, tensor.data, std::move(tensor.owner));
  if (tensor.dtype == spec.dtype) return port;
  return absl::InvalidArgumentError(fmt::format("{} '{}' is {} (expected {})", what, spec.name,
                                                port.tensor.type_text(), Name(spec.dtype)));
}

absl::Status IoBinding::BindInput(PortRef input, DeviceTensor tensor) {
  TENON_ASSIGN_OR_RETURN(const size_t i, input.Find(program_.inputs(), "input"));
  TENON_ASSIGN_OR_RETURN(Port port, PortOf(program_.inputs()[i], "input", std::move(tensor)));
  port.partner = inputs_[i].partner;
  inputs_[i] = std::move(port);
  return absl::OkStatus();
}

absl::Status IoBinding::BindOutput(PortRef output, DeviceTensor tensor) {
  TENON_ASSIGN_OR_RETURN(const size_t i, output.Find(program_.outputs(), "output"));
  TENON_ASSIGN_OR_RETURN(Port port, PortOf(program_.outputs()[i], "output", std::move(tensor)));
  TENON_RETURN_IF_ERROR(BindOutput(i));
  outputs_[i] = std::move(port);
  outputs_[i].fixed = true;
  return absl::OkStatus();
}

absl::Status IoBinding::BindOutput(PortRef output) {
  TENON_ASSIGN_OR_RETURN(const size_t i, output.Find(program_.outputs(), "output"));
  if (outputs_[i].partner != kNone) inputs_[outputs_[i].partner].partner = kNone;
  outputs_[i] = Port();
  return absl::OkStatus();
}

absl::Status IoBinding::Carry(PortRef output, PortRef input) {
  TENON_ASSIGN_OR_RETURN(const size_t o, output.Find(program_.outputs(), "output"));
  TENON_ASSIGN_OR_RETURN(const size_t i, input.Find(program_.inputs(), "input"));
  const TensorSpec &from = program_.outputs()[o], &to = program_.inputs()[i];
  if (from.dtype != to.dtype || from.dims.size() != to.dims.size()) {
    return absl::InvalidArgumentError(
        fmt::format("output '{}' cannot become input '{}': they differ in element type or rank",
                    from.name, to.name));
  }
  if (inputs_[i].partner != kNone && inputs_[i].partner != static_cast<int>(o)) {
    return absl::InvalidArgumentError(fmt::format("input '{}' already comes from output '{}'",
                                                  to.name,
                                                  program_.outputs()[inputs_[i].partner].name));
  }
  TENON_RETURN_IF_ERROR(BindOutput(o));
  outputs_[o].partner = static_cast<int>(i);
  inputs_[i].partner = static_cast<int>(o);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> IoBinding::output(PortRef output) const {
  TENON_ASSIGN_OR_RETURN(const size_t i, output.Find(program_.outputs(), "output"));
  const Port& own = outputs_[i];
  const Port& port = own.partner == kNone ? own : inputs_[own.partner];
  if (port.tensor) return Dense(port);
  return absl::FailedPreconditionError(
      fmt::format("output '{}' has no value before the first run", program_.outputs()[i].name));
}

absl::StatusOr<Tensor> IoBinding::input(PortRef input) const {
  TENON_ASSIGN_OR_RETURN(const size_t i, input.Find(program_.inputs(), "input"));
  if (inputs_[i].tensor) return Dense(inputs_[i]);
  return absl::FailedPreconditionError(
      fmt::format("input '{}' is not bound", program_.inputs()[i].name));
}

void IoBinding::Port::Release() {
  tensor = Tensor();
  capacity = 0;
  pitch = 0;
  on_device = false;
}

// With all of the memory that either may come to fill.
bool IoBinding::Port::Overlaps(const Port& other) const {
  if (!tensor || !other.tensor) return false;
  const size_t bytes = std::max(capacity, tensor.num_bytes());
  const size_t other_bytes = std::max(other.capacity, other.tensor.num_bytes());
  if (bytes == 0 || other_bytes == 0) return false;
  const auto* const from = static_cast<const std::byte*>(tensor.data());
  const auto* const other_from = static_cast<const std::byte*>(other.tensor.data());
  return from < other_from + other_bytes && other_from < from + bytes;
}

absl::Status IoBinding::CheckAgainstInput(size_t output, size_t input) {
  Port& to = outputs_[output];
  const Port& from = inputs_[input];
  const bool grows = to.partner == static_cast<int>(input) && to.pitch != 0 && from.pitch != 0;
  if (grows || !to.Overlaps(from)) return absl::OkStatus();
  if (!to.fixed) {  // somebody bound a result as an input: it keeps the memory
    to.Release();
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("output '{}' overlaps input '{}'",
                                                program_.outputs()[output].name,
                                                program_.inputs()[input].name));
}

absl::Status IoBinding::Check() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].tensor) {
      return absl::FailedPreconditionError(
          fmt::format("input '{}' is not bound", program_.inputs()[i].name));
    }
    if (inputs_[i].checked) continue;
    for (size_t o = 0; o < outputs_.size(); ++o) TENON_RETURN_IF_ERROR(CheckAgainstInput(o, i));
    // The same for a result that is an input now, and would be written to by the run after.
    for (Port& other : inputs_) {
      if (other.capacity != 0 && other.Overlaps(inputs_[i])) other.capacity = 0;
    }
  }
  for (size_t o = 0; o < outputs_.size(); ++o) {
    if (outputs_[o].checked) continue;
    for (size_t i = 0; i < inputs_.size(); ++i) TENON_RETURN_IF_ERROR(CheckAgainstInput(o, i));
    for (size_t other = 0; other < outputs_.size(); ++other) {
      if (other == o || !outputs_[o].Overlaps(outputs_[other])) continue;
      return absl::InvalidArgumentError(fmt::format("output '{}' overlaps output '{}'",
                                                    program_.outputs()[std::max(o, other)].name,
                                                    program_.outputs()[std::min(o, other)].name));
    }
  }
  for (Port& input : inputs_) input.checked = true;
  for (Port& output : outputs_) output.checked = true;
  return absl::OkStatus();
}

absl::Status IoBinding::Fit(size_t i, std::span<const int64_t> shape, bool on_device) {
  Port& port = outputs_[i];
  if (port.fixed) return absl::OkStatus();
  // Memory that grows is the binding's alone; users get at what this run writes.
  if (port.pitch != 0 || port.on_device != on_device) port.Release();
  const DType dtype = program_.outputs()[i].dtype;
  size_t bytes = SizeOf(dtype);
  for (int64_t extent : shape) bytes *= static_cast<size_t>(extent);
  if (port.capacity == 0 || bytes > port.capacity) {
    const size_t capacity = GrownPort(std::max<size_t>(bytes, 1), port.capacity);
    if (on_device) TENON_RETURN_IF_ERROR(OpenDevice());
    TENON_ASSIGN_OR_RETURN(
        std::shared_ptr<std::byte> memory,
        on_device ? DeviceSession::Allocate(device_, capacity) : AllocateAligned(capacity));
    void* data = memory.get();
    port.tensor = Tensor::Borrow(dtype, shape, data, std::move(memory));
    port.capacity = capacity;
    port.on_device = on_device;
  } else {
    port.tensor.set_shape(shape);
  }
  return absl::OkStatus();
}

absl::Status IoBinding::Grow(size_t input, size_t output, std::span<const int64_t> shape) {
  const Port& from = inputs_[input];
  Port& to = outputs_[output];
  const DType dtype = program_.outputs()[output].dtype;
  const int64_t rows = shape[2];
  const size_t row_bytes = static_cast<size_t>(shape[0] * shape[1] * shape[3]) * SizeOf(dtype);
  // Memory that no input lies in has room for other numbers of rows when other extents change.
  if (from.pitch == 0 && to.pitch != 0) {
    to.pitch = row_bytes == 0 ? 0 : static_cast<int64_t>(to.capacity / row_bytes);
  }
  if (to.pitch >= rows && to.pitch > 0) {
    to.tensor.set_shape(shape);
    return absl::OkStatus();
  }
  to.Release();
  const int64_t pitch = Roomy(rows);
  const size_t capacity = std::max<size_t>(static_cast<size_t>(pitch) * row_bytes, 1);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, AllocateLasting(capacity));
  void* data = memory.get();
  to.tensor = Tensor::Borrow(dtype, shape, data, std::move(memory));
  to.capacity = capacity;
  to.pitch = pitch;
  return absl::OkStatus();
}

absl::Status IoBinding::MakeDense(size_t input) {
  Port& port = inputs_[input];
  TENON_ASSIGN_OR_RETURN(port.tensor, Dense(port));
  port.capacity = port.tensor.num_bytes();
  port.pitch = 0;
  port.on_device = false;
  if (port.partner == kNone) return absl::OkStatus();
  outputs_[port.partner].Release();
  return absl::OkStatus();
}

absl::StatusOr<Tensor> IoBinding::Dense(const Port& port) const {
  if (port.pitch == 0 && !port.on_device) return port.tensor;
  const std::span<const int64_t> shape = port.tensor.shape();
  TENON_ASSIGN_OR_RETURN(Tensor dense, Tensor::TryMake(port.tensor.dtype(), shape));
  if (dense.num_bytes() == 0) return dense;
  if (port.on_device) {
    TENON_RETURN_IF_ERROR(device_->Read(dense.data(), port.tensor.data(), dense.num_bytes()));
    return dense;
  }
  const int64_t heads = shape[0] * shape[1];
  const size_t head_bytes = dense.num_bytes() / static_cast<size_t>(heads);
  const size_t row_bytes = head_bytes / static_cast<size_t>(shape[2]);
  for (size_t head = 0; head < static_cast<size_t>(heads); ++head) {
    std::memcpy(dense.as<std::byte>() + head * head_bytes,
                port.tensor.as<std::byte>() + head * static_cast<size_t>(port.pitch) * row_bytes,
                head_bytes);
  }
  return dense;
}

void IoBinding::SetViews() {
  for (size_t i = 0; i < inputs_.size(); ++i) input_views_[i] = inputs_[i].tensor.view();
  for (size_t i = 0; i < outputs_.size(); ++i) output_views_[i] = outputs_[i].tensor.view();
}

void IoBinding::CarryOver() {
  for (Port& output : outputs_) {
    if (output.partner == kNone) continue;
    Port& input = inputs_[output.partner];
    std::swap(output.tensor, input.tensor);
    std::swap(output.capacity, input.capacity);
    std::swap(output.pitch, input.pitch);
    std::swap(output.on_device, input.on_device);
    if (input.pitch == 0) {
      if (output.capacity == 0) output.Release();  // somebody else's, and not to be written to
      continue;
    }
    output.tensor = input.tensor;
    output.capacity = input.capacity;
    output.pitch = input.pitch;
  }
}

}  // namespace tenon
