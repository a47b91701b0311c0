#include "frontends/python/bindings/memory.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "frontends/python/bindings/dlpack.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/python_owner.h"

namespace tenon::python {
namespace {

// The memory of an object with the buffer protocol; nothing if it has none, or none that is plain.
std::optional<Strided> BufferOf(nb::handle object, const TensorSpec& spec) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return std::nullopt;
  auto view = std::make_unique<Py_buffer>();
  bool writable = true;
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_FORMAT | PyBUF_STRIDES | PyBUF_WRITABLE) !=
      0) {
    PyErr_Clear();
    writable = false;
    if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
      PyErr_Clear();
      return std::nullopt;
    }
  }
  Strided memory;
  const char* format = view->format == nullptr ? "B" : view->format;
  memory.dtype = DTypeOf(std::string_view(format), view->itemsize);
  if (memory.dtype == DType::kInvalid) {
    const std::string name = format;
    PyBuffer_Release(view.get());
    if (name == "O") {
      throw nb::type_error(
          fmt::format("'{}': an array of Python objects (expected numbers)", spec.name).c_str());
    }
    RefuseTensor(spec,
                 fmt::format("elements of the format '{}' (expected numbers or booleans in the "
                             "order of bytes of this machine)",
                             name));
  }
  memory.data = view->buf;
  memory.writable = writable;
  memory.shape.assign(view->shape, view->shape + view->ndim);
  if (view->strides != nullptr) memory.strides.assign(view->strides, view->strides + view->ndim);
  memory.owner = OwnerThatCalls(
      [view = std::shared_ptr<Py_buffer>(std::move(view))] { PyBuffer_Release(view.get()); });
  return memory;
}

// What `object.__dlpack__` returns; null if its array has no form in DLPack. Other errors of the
// object go on.
nb::object CapsuleOf(nb::handle object, Use use) {
  const nb::object make = object.attr("__dlpack__");
  const auto call = [&](bool versioned, PyObject* otherwise) -> nb::object {
    try {
      return versioned ? make(nb::arg("max_version") = nb::make_tuple(1, 0)) : make();
    } catch (nb::python_error& error) {
      if (!error.matches(otherwise)) throw;
      return {};
    }
  };
  // Objects from before version 1 do not know the argument.
  if (use == Use::kWrite) {
    nb::object capsule = call(true, PyExc_TypeError);
    if (capsule.is_valid()) return capsule;
  }
  nb::object capsule = call(false, PyExc_BufferError);
  if (capsule.is_valid() || use == Use::kWrite) return capsule;
  // A read-only array has a form since version 1 only.
  try {
    return call(true, PyExc_BufferError);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    return {};
  }
}

// The memory of `managed`, which is one of the two forms in a capsule, and now ours.
template <typename Managed>
Strided TakeManaged(Managed* managed, nb::handle capsule, const char* used,
                    const TensorSpec& spec) {
  const DlTensor& tensor = managed->tensor;
  Strided memory;
  memory.dtype = DTypeOf(tensor.dtype);
  if (memory.dtype == DType::kInvalid) {
    RefuseTensor(spec, fmt::format("elements of DLPack's type {} with {} bits (expected numbers or "
                                   "booleans)",
                                   tensor.dtype.code, tensor.dtype.bits));
  }
  memory.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  memory.writable = true;
  const auto size = static_cast<int64_t>(SizeOf(memory.dtype));
  memory.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  memory.strides.resize(memory.shape.size());
  int64_t dense = size;
  for (size_t i = memory.shape.size(); i-- > 0;) {
    memory.strides[i] = tensor.strides == nullptr ? dense : tensor.strides[i] * size;
    dense *= memory.shape[i];
  }
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  memory.owner = OwnerThatCalls([managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
  return memory;
}

// The memory of an object with DLPack; nothing if it has none, or not for this tensor.
std::optional<Strided> DlpackOf(nb::handle object, const TensorSpec& spec, Use use) {
  if (!nb::hasattr(object, "__dlpack__") || !nb::hasattr(object, "__dlpack_device__"))
    return std::nullopt;
  const nb::object device = object.attr("__dlpack_device__")();
  const int kind = nb::cast<int>(device[nb::int_(0)]);
  if (kind != kDlCpu) {
    RefuseTensor(spec,
                 fmt::format("a tensor in memory of a device (DLPack's kind {}; expected one in "
                             "memory of the CPU)",
                             kind));
  }
  // NumPy has arrays that DLPack has not; arrays.py knows more about them.
  const nb::object capsule = CapsuleOf(object, use);
  if (!capsule.is_valid()) return std::nullopt;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    auto* managed = static_cast<DlManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1) {
      RefuseTensor(spec, fmt::format("a tensor of DLPack {}.{} (expected version 1)",
                                     managed->major, managed->minor));
    }
    Strided memory = TakeManaged(managed, capsule, "used_dltensor_versioned", spec);
    memory.writable = (managed->flags & kDlReadOnly) == 0;
    return memory;
  }
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  return TakeManaged(managed, capsule, "used_dltensor", spec);
}

}  // namespace

bool Strided::Dense() const {
  int64_t expected = static_cast<int64_t>(SizeOf(dtype));
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool Strided::Aligned() const { return reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0; }

bool Strided::Empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

void RefuseTensor(const TensorSpec& spec, std::string_view message) {
  Raise(absl::InvalidArgumentError(
      spec.name.empty() ? std::string(message) : fmt::format("'{}': {}", spec.name, message)));
}

std::optional<Strided> MemoryOf(nb::handle object, const TensorSpec& spec, Use use) {
  std::optional<Strided> memory = BufferOf(object, spec);
  return memory.has_value() ? memory : DlpackOf(object, spec, use);
}

std::optional<Strided> AdaptedMemoryOf(nb::handle object, const TensorSpec& spec) {
  // (object with a buffer, name of the element type or None)
  const nb::object pair =
      nb::module_::import_("tenon.arrays").attr("adapt")(object, NumpyName(spec.dtype), spec.name);
  std::optional<Strided> memory = BufferOf(pair[nb::int_(0)], spec);
  const nb::object name = pair[nb::int_(1)];
  if (memory.has_value() && !name.is_none()) {
    const DType dtype = DTypeNamed(nb::cast<std::string>(name));
    if (SizeOf(dtype) != SizeOf(memory->dtype)) return std::nullopt;
    memory->dtype = dtype;
  }
  return memory;
}

}  // namespace tenon::python
