#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <span>
#include <string>

#include "fmt/format.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/program.h"
#include "frontends/python/bindings/tensors.h"

namespace tenon::python {
namespace {

// The position of a port that Python names by a number or a text.
size_t PortOf(nb::handle port, std::span<const TensorSpec> ports, std::string_view what) {
  if (nb::isinstance<nb::str>(port)) {
    const std::string name = nb::cast<std::string>(port);
    return ValueOf(PortRef(name).Find(ports, what));
  }
  if (!nb::isinstance<nb::int_>(port)) throw nb::type_error("a port is a position or a name");
  int64_t index = -1;
  (void)nb::try_cast(port, index);
  if (index < 0) {
    Raise(absl::NotFoundError(
        fmt::format("there is no {} {} (expected a position from 0)", what, index)));
  }
  return ValueOf(PortRef(static_cast<size_t>(index)).Find(ports, what));
}

// Calls `change` with the mutex, and without the interpreter's lock, which its holder may need.
template <typename Change>
void Locked(BindingHandle& handle, Change change) {
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard<std::mutex> lock(handle.mutex);
    status = change(handle.binding);
  }
  RaiseIfError(status);
}

void BindInput(BindingHandle& handle, nb::handle port, nb::handle array) {
  const std::span<const TensorSpec> specs = handle.program.inputs();
  const size_t i = PortOf(port, specs, "input");
  Tensor tensor = TensorFrom(array, specs[i]);
  Locked(handle, [&](IoBinding& binding) { return binding.BindInput(i, std::move(tensor)); });
}

void BindOutput(BindingHandle& handle, nb::handle port, nb::handle array) {
  const std::span<const TensorSpec> specs = handle.program.outputs();
  const size_t i = PortOf(port, specs, "output");
  if (array.is_none()) {
    Locked(handle, [&](IoBinding& binding) { return binding.BindOutput(i); });
    return;
  }
  Tensor tensor = WritableTensorFrom(array, specs[i]);
  if (tensor.dtype() != specs[i].dtype) {
    Raise(absl::InvalidArgumentError(fmt::format("output '{}' is {} (expected {})", specs[i].name,
                                                 tensor.type_text(), Name(specs[i].dtype))));
  }
  Locked(handle, [&](IoBinding& binding) { return binding.BindOutput(i, std::move(tensor)); });
}

void CarryOutput(BindingHandle& handle, nb::handle output, nb::handle input) {
  const size_t from = PortOf(output, handle.program.outputs(), "output");
  const size_t to = PortOf(input, handle.program.inputs(), "input");
  Locked(handle, [&](IoBinding& binding) { return binding.Carry(from, to); });
}

// The next run overwrites memory of the binding, which an array in Python must not see.
nb::object CopyOf(const Tensor& tensor) {
  absl::StatusOr<Tensor> copy = Tensor::TryMake(tensor.dtype(), tensor.shape());
  if (!copy.ok()) Raise(copy.status());
  if (tensor.num_bytes() != 0) std::memcpy(copy->data(), tensor.data(), tensor.num_bytes());
  return ToNumpy(*std::move(copy));
}

nb::object OutputOf(BindingHandle& handle, nb::handle port) {
  const size_t i = PortOf(port, handle.program.outputs(), "output");
  Tensor tensor;
  Locked(handle, [&](IoBinding& binding) {
    absl::StatusOr<Tensor> output = binding.output(i);
    if (output.ok()) tensor = *std::move(output);
    return output.status();
  });
  return CopyOf(tensor);
}

}  // namespace

void BindBinding(nb::module_& module) {
  nb::class_<BindingHandle>(module, "Binding", "Bound inputs and outputs; see tenon.Binding.")
      .def("input", BindInput, nb::arg("port"), nb::arg("array"))
      .def("output", BindOutput, nb::arg("port"), nb::arg("array").none())
      .def("carry", CarryOutput, nb::arg("output"), nb::arg("input"))
      .def("value", OutputOf, nb::arg("port"));
}

}  // namespace tenon::python
