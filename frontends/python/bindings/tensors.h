// Tensors between Python and programs, without copies where the memory allows it.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_TENSORS_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_TENSORS_H_

#include <nanobind/nanobind.h>

#include <string>

#include "executor/program.h"
#include "executor/tensor.h"

namespace tenon::python {

namespace nb = nanobind;

// A tenon.Tensor. The memory of a read-only object stays read-only.
struct PyTensor {
  Tensor tensor;           // the memory
  bool read_only = false;  // whether others may not write to it
};
// Returns a tenon.Tensor that may be written to.
nb::object TensorObject(Tensor tensor);

// Returns the tensor in a Python object: a tenon.Tensor, anything with the buffer protocol (NumPy),
// or with DLPack (PyTorch). Everything else goes through tenon/arrays.py, which knows lists,
// numbers and the types of ml_dtypes. `spec` is the input for which it is meant, for messages.
//
// The tensor shares the memory and keeps it alive. It is a copy if the memory is not dense, not
// aligned, or holds booleans other than 0 and 1. TypeError if the object is no tensor.
// InvalidArgument for an element type without a counterpart.
Tensor TensorFrom(nb::handle object, const TensorSpec& spec);
// The same for memory that a run writes: it must be writable, dense and aligned, and is never
// copied. InvalidArgument otherwise.
Tensor WritableTensorFrom(nb::handle object, const TensorSpec& spec);

// Returns a NumPy array that shares the memory, or a tenon.Tensor if NumPy has no such type.
nb::object ToNumpy(Tensor tensor);

// Adds Tensor to the module.
void BindTensors(nb::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_TENSORS_H_
