#include "executor/io_binding.h"

#include <algorithm>
#include <cstring>

#include "executor/lasting_memory.h"
#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon {
namespace {

// Memory of an output that grows gets half as much again, so that a past that grows by a token a
// step is seldom moved.
size_t Grown(size_t bytes, size_t capacity) {
  return capacity == 0 ? bytes : std::max(bytes, capacity + capacity / 2);
}

// Rows that there is room for in memory that grows.
int64_t Roomy(int64_t rows) { return rows + std::max<int64_t>(rows / 2, 64); }

bool Overlap(const Tensor& a, const Tensor& b) {
  if (!a || !b || a.num_bytes() == 0 || b.num_bytes() == 0) return false;
  const auto* from_a = static_cast<const std::byte*>(a.data());
  const auto* from_b = static_cast<const std::byte*>(b.data());
  return from_a < from_b + b.num_bytes() && from_b < from_a + a.num_bytes();
}

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
  inputs_[i].tensor = std::move(tensor);
  inputs_[i].capacity = 0;
  inputs_[i].pitch = 0;
  checked_ = false;
  return absl::OkStatus();
}

absl::Status IoBinding::BindOutput(PortRef output, Tensor tensor) {
  TENON_ASSIGN_OR_RETURN(const size_t i, output.Find(program_.outputs(), "output"));
  TENON_RETURN_IF_ERROR(BindOutput(i));
  outputs_[i].tensor = std::move(tensor);
  outputs_[i].fixed = true;
  return absl::OkStatus();
}

absl::Status IoBinding::BindOutput(PortRef output) {
  TENON_ASSIGN_OR_RETURN(const size_t i, output.Find(program_.outputs(), "output"));
  if (outputs_[i].partner != kNone) inputs_[outputs_[i].partner].partner = kNone;
  outputs_[i] = Port();
  checked_ = false;
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
  const Port& port = outputs_[i];
  return port.partner == kNone ? port.tensor : Dense(inputs_[port.partner]);
}

absl::StatusOr<Tensor> IoBinding::input(PortRef input) const {
  TENON_ASSIGN_OR_RETURN(const size_t i, input.Find(program_.inputs(), "input"));
  return Dense(inputs_[i]);
}

absl::Status IoBinding::Check() {
  if (checked_) return absl::OkStatus();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].tensor) continue;
    return absl::FailedPreconditionError(
        fmt::format("input '{}' is not bound", program_.inputs()[i].name));
  }
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const std::string& name = program_.outputs()[o].name;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (outputs_[o].pitch != 0 && outputs_[o].partner == static_cast<int>(i)) continue;
      if (!Overlap(outputs_[o].tensor, inputs_[i].tensor)) continue;
      if (!outputs_[o].fixed) {  // somebody bound a result as an input: it keeps the memory
        outputs_[o].tensor = Tensor();
        outputs_[o].capacity = 0;
        break;
      }
      return absl::InvalidArgumentError(
          fmt::format("output '{}' overlaps input '{}'", name, program_.inputs()[i].name));
    }
    for (size_t other = 0; other < o; ++other) {
      if (!Overlap(outputs_[o].tensor, outputs_[other].tensor)) continue;
      return absl::InvalidArgumentError(
          fmt::format("output '{}' overlaps output '{}'", name, program_.outputs()[other].name));
    }
  }
  checked_ = true;
  return absl::OkStatus();
}

absl::Status IoBinding::Fit(size_t i, std::span<const int64_t> shape) {
  Port& port = outputs_[i];
  if (port.fixed) return absl::OkStatus();
  const DType dtype = program_.outputs()[i].dtype;
  size_t bytes = SizeOf(dtype);
  for (int64_t extent : shape) bytes *= static_cast<size_t>(extent);
  if (port.capacity == 0 || bytes > port.capacity) {
    const size_t capacity = Grown(std::max<size_t>(bytes, 1), port.capacity);
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, AllocateAligned(capacity));
    void* data = memory.get();
    port.tensor = Tensor::Borrow(dtype, shape, data, std::move(memory));
    port.capacity = capacity;
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
  if (from.pitch == 0) {
    to.pitch = row_bytes == 0 ? 0 : static_cast<int64_t>(to.capacity / row_bytes);
  }
  if (to.pitch >= rows && to.pitch > 0) {
    to.tensor.set_shape(shape);
    return absl::OkStatus();
  }
  const int64_t pitch = Roomy(rows);
  const size_t capacity = std::max<size_t>(static_cast<size_t>(pitch) * row_bytes, 1);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, AllocateLasting(capacity));
  void* data = memory.get();
  to.tensor = Tensor::Borrow(dtype, shape, data, std::move(memory));
  to.capacity = capacity;
  to.pitch = pitch;
  return absl::OkStatus();
}

absl::Status IoBinding::StopGrowing(size_t input) {
  Port& port = inputs_[input];
  TENON_ASSIGN_OR_RETURN(port.tensor, Dense(port));
  port.capacity = port.tensor.num_bytes();
  port.pitch = 0;
  if (port.partner == kNone) return absl::OkStatus();
  Port& output = outputs_[port.partner];
  output.tensor = Tensor();
  output.capacity = 0;
  output.pitch = 0;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> IoBinding::Dense(const Port& port) const {
  if (port.pitch == 0) return port.tensor;
  const std::span<const int64_t> shape = port.tensor.shape();
  TENON_ASSIGN_OR_RETURN(Tensor dense, Tensor::TryMake(port.tensor.dtype(), shape));
  if (dense.num_bytes() == 0) return dense;
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
    if (input.pitch == 0) {
      // What the next run writes is what somebody may have bound as another input.
      checked_ = false;
      continue;
    }
    output.tensor = input.tensor;
    output.capacity = input.capacity;
    output.pitch = input.pitch;
  }
}

}  // namespace tenon
