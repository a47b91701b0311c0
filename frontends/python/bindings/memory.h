// Memory of Python objects: what the buffer protocol and DLPack say of it.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_MEMORY_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_MEMORY_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "executor/program.h"
#include "ir/base/dtype.h"

namespace tenon::python {

namespace nb = nanobind;

using Extents = absl::InlinedVector<int64_t, 6>;

// Memory of a Python object, as the object describes it.
struct Strided {
  void* data = nullptr;               // the first element; anything if there is none
  DType dtype = DType::kInvalid;      // of the elements
  Extents shape, strides;             // strides in bytes
  bool writable = false;              // false: writing to it may end the process
  std::shared_ptr<const void> owner;  // keeps the memory

  bool Dense() const;    // true if the elements lie in row-major order without gaps
  bool Aligned() const;  // true if the address suits the element type
  bool Empty() const;    // true if there are no elements
};

// What is done with memory: only DLPack since version 1 says whether it is read-only.
enum class Use : uint8_t { kRead, kWrite };

// The memory of an object with the buffer protocol or with DLPack; nothing if it has neither, or
// not for this tensor. InvalidArgument for an element type without a counterpart and for memory of
// a device, TypeError for an array of Python objects. Other errors of the object go on.
std::optional<Strided> MemoryOf(nb::handle object, const TensorSpec& spec, Use use);
// The memory of what tenon/arrays.py makes of an object: lists, numbers, arrays of ml_dtypes.
// TypeError if it is no tensor.
std::optional<Strided> AdaptedMemoryOf(nb::handle object, const TensorSpec& spec);

// Raises InvalidArgument with the name of the tensor.
[[noreturn]] void RefuseTensor(const TensorSpec& spec, std::string_view message);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_MEMORY_H_
