#include "frontends/python/bindings/tensors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "frontends/python/bindings/dlpack.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/memory.h"

namespace tenon::python {
namespace {

// A tensor of the memory, and whether it is the memory itself.
struct Taken {
  Tensor tensor;
  bool shared = false;
};

// Copies the elements from axis `axis` on to `to`, which moves behind them.
void CopyStrided(const Strided& from, size_t axis, const std::byte* at, std::byte*& to) {
  const size_t size = SizeOf(from.dtype);
  if (axis == from.shape.size()) {
    std::memcpy(to, at, size);
    to += size;
    return;
  }
  for (int64_t i = 0; i < from.shape[axis]; ++i)
    CopyStrided(from, axis + 1, at + i * from.strides[axis], to);
}

// Kernels rely on booleans of 0 and 1.
bool HasOddBooleans(const Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return false;
  const std::span<const uint8_t> bytes(tensor.as<uint8_t>(), tensor.num_bytes());
  uint8_t all = 0;
  for (const uint8_t byte : bytes) all |= byte;
  return all > 1;
}

Taken TensorOf(const Strided& memory, const TensorSpec& spec) {
  // The address of an empty array means nothing, and may be null.
  if (memory.Empty()) return {ValueOf(Tensor::TryMake(memory.dtype, memory.shape))};
  Tensor tensor;
  if (memory.Dense() && memory.Aligned()) {
    tensor = Tensor::Borrow(memory.dtype, memory.shape, memory.data, memory.owner);
    if (!HasOddBooleans(tensor)) return {std::move(tensor), true};
  }
  absl::StatusOr<Tensor> copy = Tensor::TryMake(memory.dtype, memory.shape);
  if (!copy.ok()) RefuseTensor(spec, std::string(copy.status().message()));
  auto* to = copy->as<std::byte>();
  CopyStrided(memory, 0, static_cast<const std::byte*>(memory.data), to);
  if (memory.dtype == DType::kBool) {
    const std::span<uint8_t> bytes(copy->as<uint8_t>(), copy->num_bytes());
    for (uint8_t& byte : bytes) byte = byte != 0;
  }
  return {*std::move(copy)};
}

// The contents of a tenon.Tensor that has been initialized; null for other objects.
const PyTensor* OwnTensor(nb::handle object) {
  if (!nb::isinstance<PyTensor>(object) || !nb::inst_ready(object)) return nullptr;
  return nb::inst_ptr<PyTensor>(object);
}

// The tensor in any object. With Use::kWrite it is read-only if the object is.
PyTensor SharedFrom(nb::handle object, const TensorSpec& spec, Use use) {
  if (const PyTensor* own = OwnTensor(object); own != nullptr) return *own;
  std::optional<Strided> memory = MemoryOf(object, spec, use);
  if (!memory.has_value()) memory = AdaptedMemoryOf(object, spec);
  if (!memory.has_value()) {
    throw nb::type_error(
        fmt::format("'{}': the object is no tensor (expected an array)", spec.name).c_str());
  }
  Taken taken = TensorOf(*memory, spec);
  return {std::move(taken.tensor), taken.shared && !memory->writable};
}

// ---- the class Tensor

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const PyTensor* own = OwnTensor(self);
  if (own == nullptr) {
    PyErr_SetString(PyExc_BufferError, "the tensor was never initialized");
    return -1;
  }
  const Tensor& tensor = own->tensor;
  if (own->read_only && (flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, "the tensor is read-only");
    return -1;
  }
  const char* format = FormatOf(tensor.dtype());
  if (format == nullptr) {
    PyErr_Format(PyExc_BufferError, "buffers have no elements of %s (DLPack may have them)",
                 NumpyName(tensor.dtype()));
    return -1;
  }
  const size_t rank = tensor.shape().size();
  auto* numbers = new Py_ssize_t[2 * rank + 1];
  auto stride = static_cast<Py_ssize_t>(SizeOf(tensor.dtype()));
  view->itemsize = stride;
  for (size_t i = rank; i-- > 0;) {
    numbers[i] = tensor.shape()[i];
    numbers[rank + i] = stride;
    stride *= std::max<int64_t>(tensor.shape()[i], 1);
  }
  view->buf = tensor.data();
  view->len = static_cast<Py_ssize_t>(tensor.num_bytes());
  view->readonly = own->read_only ? 1 : 0;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->ndim = static_cast<int>(rank);
  view->shape = (flags & PyBUF_ND) != 0 ? numbers : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? numbers + rank : nullptr;
  view->suboffsets = nullptr;
  view->internal = numbers;
  view->obj = self;
  Py_INCREF(self);
  return 0;
}

void ReleaseBuffer(PyObject* /*self*/, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

PyType_Slot kTensorSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(ReleaseBuffer)},
    {0, nullptr},
};

// A capsule's tensor with everything that it points to.
template <typename Managed>
struct Exported {
  Managed managed;
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

// A consumer renames the capsule, and calls the deleter itself.
template <typename Managed>
void DeleteCapsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed>
std::unique_ptr<Exported<Managed>> Export(const Tensor& tensor, DlType type) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->tensor = tensor;
  exported->shape.assign(tensor.shape().begin(), tensor.shape().end());
  exported->strides.resize(exported->shape.size());
  int64_t stride = 1;
  for (size_t i = exported->shape.size(); i-- > 0;) {
    exported->strides[i] = stride;
    stride *= std::max<int64_t>(exported->shape[i], 1);
  }
  DlTensor& out = exported->managed.tensor;
  out.data = exported->tensor.data();
  out.rank = static_cast<int32_t>(exported->shape.size());
  out.dtype = type;
  out.shape = exported->shape.data();
  out.strides = exported->strides.data();
  exported->managed.context = exported.get();
  exported->managed.deleter = [](Managed* managed) {
    delete static_cast<Exported<Managed>*>(managed->context);
  };
  return exported;
}

nb::object CapsuleWith(void* managed, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(managed, name, destructor);
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

[[noreturn]] void RefuseExport(const std::string& message) {
  throw nb::buffer_error(message.c_str());
}

// `stream` says nothing about memory of the CPU.
nb::object ToDlpack(const PyTensor& self, const nb::object& /*stream*/,
                    const std::optional<nb::tuple>& max_version,
                    const std::optional<nb::tuple>& device, std::optional<bool> copy) {
  const DlType type = DlTypeOf(self.tensor.dtype());
  if (type.bits == 0) {
    RefuseExport(fmt::format("DLPack has no dense elements of {}", NumpyName(self.tensor.dtype())));
  }
  if (device.has_value() && nb::cast<int>((*device)[0]) != kDlCpu)
    RefuseExport("the tensor is in memory of the CPU (expected dl_device=(1, 0), or none)");
  const bool copies = copy.value_or(false);
  const bool read_only = self.read_only && !copies;
  const bool versioned = max_version.has_value() && nb::cast<int>((*max_version)[0]) >= 1;
  if (read_only && !versioned)
    RefuseExport("the tensor is read-only (expected max_version=(1, 0), or copy=True)");
  const Tensor& own = self.tensor;
  const Tensor tensor = copies ? Tensor::Copy(own.dtype(), own.shape(), own.data()) : own;
  if (!versioned) {
    auto exported = Export<DlManagedTensor>(tensor, type);
    nb::object capsule = CapsuleWith(&exported->managed, "dltensor", [](PyObject* object) {
      DeleteCapsule<DlManagedTensor>(object, "dltensor");
    });
    (void)exported.release();
    return capsule;
  }
  auto exported = Export<DlManagedTensorVersioned>(tensor, type);
  exported->managed.flags = (read_only ? kDlReadOnly : 0) | (copies ? kDlCopied : 0);
  nb::object capsule = CapsuleWith(&exported->managed, "dltensor_versioned", [](PyObject* object) {
    DeleteCapsule<DlManagedTensorVersioned>(object, "dltensor_versioned");
  });
  (void)exported.release();
  return capsule;
}

nb::tuple ShapeOf(const Tensor& tensor) {
  nb::list shape;
  for (const int64_t extent : tensor.shape()) shape.append(extent);
  return nb::tuple(shape);
}

}  // namespace

Tensor TensorFrom(nb::handle object, const TensorSpec& spec) {
  return SharedFrom(object, spec, Use::kRead).tensor;
}

Tensor WritableTensorFrom(nb::handle object, const TensorSpec& spec) {
  constexpr std::string_view kReadOnly = "the array is read-only, and a run writes to it";
  if (const PyTensor* own = OwnTensor(object); own != nullptr) {
    if (own->read_only) RefuseTensor(spec, kReadOnly);
    return own->tensor;
  }
  const std::optional<Strided> memory = MemoryOf(object, spec, Use::kWrite);
  if (!memory.has_value())
    RefuseTensor(spec, "an output needs an array of its own (expected a buffer, or DLPack)");
  if (!memory->writable) RefuseTensor(spec, kReadOnly);
  if (memory->Empty()) return ValueOf(Tensor::TryMake(memory->dtype, memory->shape));
  if (!memory->Dense() || !memory->Aligned())
    RefuseTensor(spec, "the array has gaps, or is not aligned (expected a dense row-major array)");
  return Tensor::Borrow(memory->dtype, memory->shape, memory->data, memory->owner);
}

nb::object TensorObject(Tensor tensor) { return nb::cast(PyTensor{std::move(tensor)}); }

nb::object ToNumpy(Tensor tensor) {
  const bool has_format = FormatOf(tensor.dtype()) != nullptr;
  nb::object object = TensorObject(std::move(tensor));
  if (!has_format) return object;
  // Kept for the life of the process: a look-up would take a tenth of a small call.
  static PyObject* const as_array =
      nb::object(nb::module_::import_("numpy").attr("asarray")).release().ptr();
  // PyObject_CallOneArg is not in the stable ABI.
  PyObject* arguments[] = {nullptr, object.ptr()};
  PyObject* array =
      PyObject_Vectorcall(as_array, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

void BindTensors(nb::module_& module) {
  nb::class_<PyTensor>(
      module, "Tensor", nb::type_slots(kTensorSlots),
      "A dense tensor in memory of the CPU. NumPy reads it as a buffer, and others "
      "through DLPack, both without a copy.")
      .def(
          "__init__",
          [](PyTensor* self, const nb::object& array, const std::string& dtype) {
            TensorSpec spec;
            if (!dtype.empty()) {
              spec.dtype = DTypeNamed(dtype);
              if (spec.dtype == DType::kInvalid) {
                Raise(absl::InvalidArgumentError(fmt::format(
                    "there is no element type '{}' (expected one such as float32)", dtype)));
              }
            }
            new (self) PyTensor(SharedFrom(array, spec, Use::kWrite));
          },
          nb::arg("array"), nb::arg("dtype") = "",
          "Shares the memory of an array. `dtype` is for lists and numbers.")
      .def_prop_ro(
          "shape", [](const PyTensor& self) { return ShapeOf(self.tensor); },
          "The extent of each axis.")
      .def_prop_ro(
          "dtype", [](const PyTensor& self) { return std::string(NumpyName(self.tensor.dtype())); },
          "The element type in NumPy's terms, such as 'float32' or 'bfloat16'.")
      .def_prop_ro(
          "nbytes", [](const PyTensor& self) { return self.tensor.num_bytes(); },
          "The size in bytes.")
      .def_prop_ro(
          "read_only", [](const PyTensor& self) { return self.read_only; },
          "Whether it shares the memory of a read-only array.")
      .def(
          "tobytes",
          [](const PyTensor& self) {
            return nb::bytes(self.tensor.data(), self.tensor.num_bytes());
          },
          "Returns a copy of the bytes: row-major, as they lie in memory.")
      .def("__dlpack__", ToDlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | "
                   "None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = "
                   "None) -> object"),
           "Returns a capsule of DLPack that shares the memory, or a copy of it.")
      .def("__dlpack_device__", [](const PyTensor&) { return nb::make_tuple(kDlCpu, 0); })
      .def("__len__",
           [](const PyTensor& self) {
             const Tensor& tensor = self.tensor;
             if (tensor.shape().empty()) throw nb::type_error("a scalar has no length");
             return tensor.shape()[0];
           })
      .def("__repr__", [](const PyTensor& self) {
        return fmt::format("<tenon.Tensor {}>", self.tensor.type_text());
      });
}

}  // namespace tenon::python
