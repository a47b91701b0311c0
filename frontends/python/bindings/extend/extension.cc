#include "frontends/python/bindings/extend/extension.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <utility>

#include "drr/text/text.h"
#include "fmt/format.h"
#include "frontends/cpp/files/load_ops.h"
#include "frontends/python/bindings/errors.h"
#include "ir/core/context/declared_ops.h"
#include "ir/dialect/dialects.h"
#include "patterns/facts/facts.h"

namespace tenon::python {
namespace {

std::string_view DialectOf(std::string_view op) { return op.substr(0, op.find('.')); }

// Reads a declaration `op NAME(…) …` in the notation of rules, in a Context of its own.
OpDef ReadDeclaration(const std::string& text, const std::string& op, const std::string& file) {
  Context context;
  RegisterAllDialects(context);
  const absl::StatusOr<std::vector<drr::Rule>> read =
      drr::ParseRules(text, file, context, pattern::Facts());
  if (!read.ok()) Raise(read.status());
  const OpInfo* info = context.FindOp(op);
  if (info == nullptr || !IsDeclared(*info) || !read->empty()) {
    Raise(absl::InvalidArgumentError(
        fmt::format("{}: this declares no operation '{}' (expected one declaration)", file, op)));
  }
  return info->def();
}

// `results`: names of the results; empty: those of the declaration. `shape`: None, or a function.
void Declare(PyExtension& self, const std::string& text, const std::string& op,
             const std::string& file, const std::vector<std::string>& results,
             const nb::object& shape) {
  OpDef def = ReadDeclaration(text, op, file);
  if (self.Find(op) != nullptr)
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
    return;
  }
  Dialect& dialect = dialects.emplace_back();
  dialect.name = DialectOf(op);
  dialect.summary = "Operations that a program in Python declares.";
  dialect.ops.push_back(std::move(def));
}

void LoadFile(PyExtension& self, const std::string& path) {
  Context context;
  RegisterAllDialects(context);
  for (const std::string& file : self.extension.op_files) RaiseIfError(LoadOps(file, context));
  RaiseIfError(LoadOps(path, context));
  self.extension.op_files.push_back(path);
}

void AddKernel(PyExtension& self, const std::string& op, const std::string& name, int priority,
               nb::object function) {
  for (const kernels::Kernel& other : self.extension.kernels) {
    if (name == other.name)
      Raise(absl::AlreadyExistsError(fmt::format("the extension has a kernel '{}'", name)));
  }
  Context context;
  RegisterAllDialects(context);
  const bool ours = context.FindOp(op) != nullptr;
  for (const std::string& file : self.extension.op_files) RaiseIfError(LoadOps(file, context));
  const OpDef* def = self.Find(op);
  if (def == nullptr && context.FindOp(op) != nullptr) def = &context.FindOp(op)->def();
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
      .def("declare_text", Declare, nb::arg("text"), nb::arg("op"), nb::arg("file"),
           nb::arg("results"), nb::arg("shape").none())
      .def("load_file", LoadFile, nb::arg("path"))
      .def("add_kernel", AddKernel, nb::arg("op"), nb::arg("name"), nb::arg("priority"),
           nb::arg("function"));
}

}  // namespace tenon::python
