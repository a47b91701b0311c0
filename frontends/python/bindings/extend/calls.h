// Calls from C++ into Python: exceptions become a status, and the status an exception again.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_CALLS_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_CALLS_H_

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/attr_map.h"

namespace tenon::python {

namespace nb = nanobind;

// A function of Python that C++ keeps. Copies share it; the last one may go in any thread.
class PythonFunction {
 public:
  // Needs the interpreter's lock.
  explicit PythonFunction(nb::object function);
  // The function. Needs the lock, which keeps it alive.
  nb::handle get() const { return function_; }

 private:
  nb::handle function_;
  std::shared_ptr<const void> owner_;
};

// Calls `call` with the interpreter's lock. An exception becomes a status: its message begins with
// `what` and ends with the traceback. The code is that of a tenon.Error, and Aborted for others.
// Raise() of the same thread makes it the cause of the exception for that status, and raises it
// again if it is no Exception, such as KeyboardInterrupt. Unavailable after the interpreter's end,
// ResourceExhausted for calls inside of 50 others.
absl::Status CallPython(std::string_view what, const std::function<absl::Status()>& call);

// The attribute `name` of a map in Python; an invalid object if there is none. Needs the lock.
nb::object FromAttrMap(const kernels::AttrMap& map, std::string_view name);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_EXTEND_CALLS_H_
