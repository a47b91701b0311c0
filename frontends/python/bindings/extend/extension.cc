#include "frontends/python/bindings/extend/extension.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <utility>

#include "drr/text/text.h"
#include "fmt/format.h"
#include "frontends/cpp/files/load_ops.h"
#include "frontends/python/bindings/errors.h"
#include "ir/dialect/dialects.h"

namespace tenon::python {
namespace {

std::string_view DialectOf(std::string_view op) { return op.substr(0, op.find('.')); }

// Tenon's operations and those of the extension, without its kernels.
std::shared_ptr<Context> DeclaredIn(const PyExtension& self) {
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  Extension declarations;
  declarations.dialects = self.extension.dialects;
  declarations.op_files = self.extension.op_files;
  declarations.op_texts = self.extension.op_texts;
  RaiseIfError(RegisterExtension(declarations, *context));
  return context;
}

// Declares an operation and returns its name. `results`: names of the results; empty: those of the
// declaration. `shape`: None, or a function.
std::string Declare(PyExtension& self, const std::string& text, const std::string& file,
                    const std::vector<std::string>& results, const nb::object& shape) {
  Context context;
  RegisterAllDialects(context);
  const absl::StatusOr<const OpInfo*> read =
      drr::ParseOp(text, file, context,
                   shape.is_none() ? drr::DeclaredResult::kInText : drr::DeclaredResult::kFunction);
  if (!read.ok()) Raise(read.status());
  OpDef def = (*read)->def();
  std::string op = def.name;
  if (DeclaredIn(self)->FindOp(op) != nullptr)
    Raise(absl::AlreadyExistsError(fmt::format("the extension has an operation '{}'", op)));
  if (!shape.is_none()) {
    const TypeConstraint any = def.results[0].constraint;
    def.results.clear();
    for (const std::string& name : results) def.results.push_back({name, Arity::kSingle, any});
    def.infer = ShapeFunction(PythonFunction(shape), results.size());
  }
  std::vector<Dialect>& dialects = self.extension.dialects;
  for (Dialect& dialect : dialects) {
    if (dialect.name != DialectOf(op)) continue;
    dialect.ops.push_back(std::move(def));
    return op;
  }
  Dialect& dialect = dialects.emplace_back();
  dialect.name = DialectOf(op);
  dialect.summary = "Operations that a program in Python declares.";
  dialect.ops.push_back(std::move(def));
  return op;
}

void LoadFile(PyExtension& self, const std::string& path) {
  RaiseIfError(LoadOps(path, *DeclaredIn(self)));
  self.extension.op_files.push_back(path);
}

void LoadText(PyExtension& self, const std::string& name, const std::string& json) {
  RaiseIfError(LoadOpsFromJson(json, name, *DeclaredIn(self)));
  self.extension.op_texts.push_back({name, json});
}

void AddKernel(PyExtension& self, const std::string& op, const std::string& name, int priority,
               nb::object function) {
  for (const kernels::Kernel& other : self.extension.kernels) {
    if (name == other.name)
      Raise(absl::AlreadyExistsError(fmt::format("the extension has a kernel '{}'", name)));
  }
  Context tenon;
  RegisterAllDialects(tenon);
  const bool ours = tenon.FindOp(op) != nullptr;
  const std::shared_ptr<Context> context = DeclaredIn(self);
  const OpDef* def = self.Find(op);
  if (def == nullptr && context->FindOp(op) != nullptr) def = &context->FindOp(op)->def();
  if (def == nullptr) {
    Raise(absl::InvalidArgumentError(fmt::format(
        "there is no operation '{}' (expected one of Tenon's, or of the extension)", op)));
  }
  self.extension.kernels.push_back(
      ValueOf(PythonKernel(*def, !ours, name, priority, PythonFunction(std::move(function)))));
}

}  // namespace

const OpDef* PyExtension::Find(const std::string& op) const {
  for (const Dialect& dialect : extension.dialects) {
    for (const OpDef& def : dialect.ops)
      if (def.name == op) return &def;
  }
  return nullptr;
}

void BindExtension(nb::module_& module) {
  nb::class_<PyExtension>(module, "Extension", "See tenon.Extension.")
      .def(nb::init<>())
      .def("declare", Declare, nb::arg("text"), nb::arg("file"), nb::arg("results"),
           nb::arg("shape").none())
      .def("load_file", LoadFile, nb::arg("path"))
      .def("load_text", LoadText, nb::arg("name"), nb::arg("json"))
      .def(
          "has_op",
          [](const PyExtension& self, const std::string& op) {
            return DeclaredIn(self)->FindOp(op) != nullptr;
          },
          nb::arg("op"))
      .def("add_kernel", AddKernel, nb::arg("op"), nb::arg("name"), nb::arg("priority"),
           nb::arg("function"));
}

}  // namespace tenon::python
