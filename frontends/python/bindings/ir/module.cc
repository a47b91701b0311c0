#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "executor/evaluator.h"
#include "executor/passes.h"
#include "frontends/cpp/passes.h"
#include "frontends/python/bindings/extend/extension.h"
#include "frontends/python/bindings/extend/passes.h"
#include "frontends/python/bindings/ir/handles.h"
#include "frontends/python/bindings/pictures.h"
#include "frontends/python/bindings/tensors.h"
#include "ir/core/builder.h"
#include "ir/core/clone.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "pass/pass_manager.h"

namespace tenon::python {
namespace {

void VerifyState(const PyModule& self) {
  const absl::Status status = Verify(self.state->Root());
  if (!status.ok()) Raise(status, self.state->log->Take(), true);
}

std::string IrText(const PyModule& self, bool generic, bool locations, bool elide) {
  PrintOptions options;
  options.generic = generic;
  options.locations = locations;
  options.elide_resources = elide;
  std::string text;
  RaiseIfError(Print(*self.state->Root(), options, [&](std::string_view piece) {
    text.append(piece);
    return absl::OkStatus();
  }));
  return text;
}

// A new module, without operations.
PyModule NewModule(const PyExtension* extension) {
  auto log = std::make_shared<DiagnosticLog>();
  LoadOptions options;
  if (extension != nullptr) options.extension = extension->Get();
  options.on_diagnostic = [log](const Context& context, const Diagnostic& diagnostic) {
    log->Add(RecordOf(context, diagnostic));
  };
  const std::shared_ptr<Context> context = ValueOf(MakeContext(options));
  auto model = std::make_shared<const Model>(context, CreateModule(*context),
                                             std::vector<SourceFile>(), options.extension);
  return PyModule{std::make_shared<IrState>(std::move(model), std::move(log))};
}

// Runs the pipeline on `module`, a copy. `statistics` gets the counters of all passes as JSON.
absl::StatusOr<bool> RunPasses(const IrState& state, Operation* module, const std::string& pipeline,
                               const std::vector<PassInfo>& passes, std::string& statistics) {
  const Extension* const extension = state.origin->extension().get();
  PassRegistry registry;
  if (absl::Status status = RegisterAllPasses(registry, extension); !status.ok()) return status;
  for (const PassInfo& pass : passes)
    if (absl::Status status = registry.Register(pass); !status.ok()) return status;
  PassManager manager(registry);
  if (absl::Status status = manager.AddPipeline(pipeline); !status.ok()) return status;
  const std::shared_ptr<const kernels::KernelRegistry> kernels =
      extension == nullptr ? MakeKernelRegistry() : MakeKernelRegistry(extension->kernels);
  ReferenceEvaluator evaluator(kernels);
  KernelTarget target(kernels);
  PassContext context;
  context.evaluator = &evaluator;
  context.target = &target;
  PassManagerOptions options;
  options.statistics = options.statistics_json = true;
  options.sink = [&](std::string_view text) { statistics.append(text); };
  const absl::StatusOr<PassResult> result = manager.Run(module, context, options);
  if (!result.ok()) return result.status();
  return result->changed;
}

// Returns whether the pipeline has changed the module, and the counters of the passes as JSON.
std::pair<bool, std::string> RunPipeline(const PyModule& self, const std::string& pipeline) {
  // Passes rely on IR that is well-formed. They change a copy, so that an error changes nothing.
  VerifyState(self);
  const StatePtr state = self.state;
  if (state->module == nullptr) {
    Raise(absl::FailedPreconditionError(
        "a pass has no module of its own (expected the method run of its PassContext)"));
  }
  const std::vector<PassInfo> passes =
      RegisteredPasses({state->origin, state->log, std::make_shared<PassCounts>()});
  OwnedOp copy(Clone(*state->module));
  std::string statistics;
  // Passes in Python run with the module as it was: nothing of it may change.
  state->busy = true;
  const absl::StatusOr<bool> changed = RunPasses(*state, copy.get(), pipeline, passes, statistics);
  state->busy = false;
  if (!changed.ok()) Raise(changed.status(), state->log->Take());
  state->ForgetAll();
  state->module = std::move(copy);
  state->root = state->module.get();
  return {*changed, std::move(statistics)};
}

std::shared_ptr<ModelHandle> ToModel(const PyModule& self) {
  VerifyState(self);
  if (self.state->module == nullptr)
    Raise(absl::FailedPreconditionError("the operation of a pass belongs to a model already"));
  const Model& origin = *self.state->origin;
  return std::make_shared<ModelHandle>(
      std::make_shared<const Model>(origin.shared_context(), OwnedOp(Clone(*self.state->module)),
                                    origin.files(), origin.extension(), origin.info()),
      self.state->log);
}

}  // namespace

void BindIr(nb::module_& module, nb::class_<ModelHandle>& model) {
  BindAttributes(module);
  BindOperation(module);
  nb::class_<PyModule>(module, "Module",
                       "A module that Python changes: a copy of that of a model. Use it from one "
                       "thread at a time. Handles to its operations never dangle: those that are "
                       "gone raise FailedPrecondition.")
      .def(nb::new_([](const PyExtension* extension) { return NewModule(extension); }),
           nb::arg("extension").none() = nb::none(),
           "Makes a module without operations. See tenon.ir.function.")
      .def_prop_ro(
          "operation",
          [](const PyModule& self) { return HandleOf(self.state, self.state->Root()); },
          "The operation builtin.module.")
      .def(
          "walk",
          [](const PyModule& self) {
            std::vector<PyOperation> list;
            self.state->Root()->WalkPreOrder([&](Operation* op) {
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
      .def("run_pipeline", RunPipeline, nb::arg("pipeline"))
      .def(
          "run",
          [](const PyModule& self, const std::string& pipeline) { RunPipeline(self, pipeline); },
          nb::arg("pipeline"),
          "Runs passes, such as 'canonicalize,cse'. Handles to operations are gone afterward. An "
          "error changes nothing.")
      .def(
          "type",
          [](const PyModule& self, nb::str text) {
            return PyType{self.state, TypeFrom(self.state, text)};
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
      .def(
          "elements",
          [](const PyModule& self, nb::handle array) {
            return PyAttribute{self.state, ElementsFrom(self.state, array)};
          },
          nb::arg("array"), nb::sig("def elements(self, array: object) -> Attribute"),
          "Returns an array as the contents of a constant.")
      .def(
          "view",
          [](const PyModule& self, nb::handle profile) {
            return PictureOf(*self.state->Root(), NameOfModel(self.state->origin->files()),
                             TimesOf(profile));
          },
          nb::arg("profile").none() = nb::none(),
          nb::sig("def view(self, profile: str | os.PathLike[str] | None = None) -> View"),
          "Returns a picture of the module as it is, which notebooks show. `profile` is a file "
          "that `ir-run --profile=FILE.json` has written; its times are shown.")
      .def("to_model", ToModel);
  model.def("module", [](const ModelHandle& handle) {
    return PyModule{std::make_shared<IrState>(handle.Get(), handle.log())};
  });
}

}  // namespace tenon::python
