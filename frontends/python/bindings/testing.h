// What tenon.testing needs of C++: cases, comparisons, and checks of passes, rules and kernels.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_TESTING_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_TESTING_H_

#include <nanobind/nanobind.h>

namespace tenon::python {

// Adds the functions testing_* to the module.
void BindTesting(nanobind::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_TESTING_H_
