// Operations and kernels that Python adds to Tenon.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_EXTENSION_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_EXTENSION_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "frontends/cpp/extension.h"
#include "frontends/python/bindings/extend/calls.h"
#include "ir/core/context/op_info.h"
#include "kernels/kernel.h"

namespace tenon::python {

// An extension that grows. Models get a copy of what it has when they are loaded. Needs the
// interpreter's lock.
struct PyExtension {
  Extension extension;

  std::shared_ptr<const Extension> Get() const {
    return std::make_shared<const Extension>(extension);
  }
  // The definition of an operation that the extension declares; null for others.
  const OpDef* Find(const std::string& op) const;
};

// A shape function that calls `function` with a tenon.TensorType for each operand and with the
// attributes by name. `count` is the number of results.
InferFn ShapeFunction(PythonFunction function, size_t count);

// A kernel that calls `function` with copies of the inputs as arrays, and copies what it returns.
// InvalidArgument for operations whose operands or attributes it could not get.
absl::StatusOr<kernels::Kernel> PythonKernel(const OpDef& def, bool declared,
                                             const std::string& name, int priority,
                                             PythonFunction function);

// Adds Extension to the module.
void BindExtension(nb::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_EXTENSION_H_
