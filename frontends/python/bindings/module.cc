// The extension module tenon._core: what the Python files of the package are made from.
#include <nanobind/nanobind.h>

#include "frontends/cpp/version.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/extend/extension.h"
#include "frontends/python/bindings/extend/passes.h"
#include "frontends/python/bindings/model.h"
#include "frontends/python/bindings/pictures.h"
#include "frontends/python/bindings/program.h"
#include "frontends/python/bindings/rules.h"
#include "frontends/python/bindings/tensors.h"
#include "frontends/python/bindings/testing.h"

NB_MODULE(_core, module) {
  module.doc() = "The C++ side of the package tenon; use the package.";
  module.attr("version") = TENON_VERSION;
  // Objects that live until the interpreter ends are no mistake of the user.
  nanobind::set_leak_warnings(false);
  tenon::python::BindErrors(module);
  tenon::python::BindTensors(module);
  tenon::python::BindProgram(module);
  tenon::python::BindPictures(module);
  tenon::python::BindExtension(module);
  tenon::python::BindModel(module);
  tenon::python::BindPasses(module);
  tenon::python::BindRules(module);
  tenon::python::BindTesting(module);
}
