// Python objects that C++ keeps alive, from any thread.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_PYTHON_OWNER_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_PYTHON_OWNER_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace tenon::python {

// Returns an owner that calls `release` with the interpreter's lock. After the end of the
// interpreter it calls nothing: the memory is that of a process that ends.
template <typename Release>
std::shared_ptr<const void> OwnerThatCalls(Release release) {
  // Anything but null serves as the address.
  static constexpr char kAddress = 0;
  return std::shared_ptr<const void>(&kAddress,
                                     [release = std::move(release)](const void*) mutable {
                                       if (!Py_IsInitialized()) return;
                                       const nanobind::gil_scoped_acquire lock;
                                       release();
                                     });
}

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_PYTHON_OWNER_H_
