#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "executor/evaluator.h"
#include "executor/passes.h"
#include "frontends/cpp/passes.h"
#include "frontends/python/bindings/ir/handles.h"
#include "frontends/python/bindings/tensors.h"
#include "ir/core/clone.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "pass/pass_manager.h"

namespace tenon::python {
namespace {

// A module; its operation is the handle to the builtin.module.
struct PyModule {
  StatePtr state;
};

void VerifyState(const PyModule& self) {
  const absl::Status status = Verify(self.state->module.get());
  if (!status.ok()) Raise(status, self.state->log->Take(), true);
}

std::string IrText(const PyModule& self, bool generic, bool locations, bool elide) {
  PrintOptions options;
  options.generic = generic;
  options.locations = locations;
  options.elide_resources = elide;
  std::string text;
  RaiseIfError(Print(*self.state->module, options, [&](std::string_view piece) {
    text.append(piece);
    return absl::OkStatus();
  }));
  return text;
}

absl::Status RunPasses(Operation* module, const std::string& pipeline) {
  PassRegistry registry;
  if (absl::Status status = RegisterAllPasses(registry); !status.ok()) return status;
  PassManager manager(registry);
  if (absl::Status status = manager.AddPipeline(pipeline); !status.ok()) return status;
  const std::shared_ptr<const kernels::KernelRegistry> kernels = MakeKernelRegistry();
  ReferenceEvaluator evaluator(kernels);
  KernelTarget target(kernels);
  PassContext context;
  context.evaluator = &evaluator;
  context.target = &target;
  return manager.Run(module, context).status();
}

void RunPipeline(const PyModule& self, const std::string& pipeline) {
  // Passes rely on IR that is well-formed. They change a copy, so that an error changes nothing.
  VerifyState(self);
  OwnedOp copy(Clone(*self.state->module));
  const absl::Status status = RunPasses(copy.get(), pipeline);
  if (!status.ok()) Raise(status, self.state->log->Take());
  self.state->ForgetAll();
  self.state->module = std::move(copy);
}

std::shared_ptr<ModelHandle> ToModel(const PyModule& self) {
  VerifyState(self);
  const Model& origin = *self.state->origin;
  return std::make_shared<ModelHandle>(
      std::make_shared<const Model>(origin.shared_context(), OwnedOp(Clone(*self.state->module)),
                                    origin.files(), origin.extension(), origin.info()),
      self.state->log);
}

PyAttribute ElementsOf(const PyModule& self, nb::handle array) {
  TensorSpec spec;
  spec.name = "array";
  const Tensor tensor = TensorFrom(array, spec);
  Context& context = self.state->context();
  const Type type = Type::Tensor(context, tensor.dtype(), tensor.shape());
  return {self.state,
          Attribute::Elements(context, type, {tensor.as<const std::byte>(), tensor.num_bytes()})};
}

}  // namespace

void BindIr(nb::module_& module, nb::class_<ModelHandle>& model) {
  BindAttributes(module);
  BindOperation(module);
  nb::class_<PyModule>(module, "Module",
                       "A module that Python changes: a copy of that of a model. Use it from one "
                       "thread at a time. Handles to its operations never dangle: those that are "
                       "gone raise FailedPrecondition.")
      .def_prop_ro(
          "operation",
          [](const PyModule& self) { return HandleOf(self.state, self.state->module.get()); },
          "The operation builtin.module.")
      .def(
          "walk",
          [](const PyModule& self) {
            std::vector<PyOperation> list;
            self.state->module->WalkPreOrder([&](Operation* op) {
              list.push_back(HandleOf(self.state, op));
              return true;
            });
            return list;
          },
          nb::sig("def walk(self) -> list[Operation]"), "Returns all operations, outer ones first.")
      .def("text", IrText, nb::kw_only(), nb::arg("generic") = false, nb::arg("locations") = false,
           nb::arg("elide") = false, "Returns the text; `elide` leaves out large constants.")
      .def("__str__", [](const PyModule& self) { return IrText(self, false, false, true); })
      .def("verify", VerifyState, "Raises InvalidModel, with diagnostics, for IR that is wrong.")
      .def("run", RunPipeline, nb::arg("pipeline"),
           "Runs passes, such as 'canonicalize,cse'. Handles to operations are gone afterward. An "
           "error changes nothing.")
      .def(
          "type",
          [](const PyModule& self, const std::string& text) {
            absl::StatusOr<Type> type = ParseType(self.state->context(), text);
            if (!type.ok()) Raise(type.status(), self.state->log->Take(), true);
            return PyType{self.state, *type};
          },
          nb::arg("text"), "Reads a type, such as 'tensor<2x?xf32>'.")
      .def(
          "attribute",
          [](const PyModule& self, const std::string& text) {
            absl::StatusOr<Attribute> attribute = ParseAttribute(self.state->context(), text);
            if (!attribute.ok()) Raise(attribute.status(), self.state->log->Take(), true);
            return PyAttribute{self.state, *attribute};
          },
          nb::arg("text"), "Reads an attribute, such as 'array<i64: 1, 2>'.")
      .def("elements", ElementsOf, nb::arg("array"),
           nb::sig("def elements(self, array: object) -> Attribute"),
           "Returns an array as the contents of a constant.")
      .def("to_model", ToModel);
  model.def("module", [](const ModelHandle& handle) {
    return PyModule{std::make_shared<IrState>(handle.Get(), handle.log())};
  });
}

}  // namespace tenon::python
