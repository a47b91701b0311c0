#include "frontends/python/bindings/program.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>

#include "executor/run_options.h"
#include "fmt/format.h"
#include "frontends/python/bindings/dlpack.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/tensors.h"

namespace tenon::python {
namespace {

// A session that one thread at a time runs.
struct SessionHandle {
  explicit SessionHandle(const Program& of) : program(of), session(program.NewSession()) {}
  Program program;
  Session session;
};

std::string NameList(std::span<const TensorSpec> specs) {
  std::string text;
  for (const TensorSpec& spec : specs) text += (text.empty() ? "" : ", ") + spec.name;
  return text;
}

[[noreturn]] void RefuseCall(const std::string& message) { throw nb::type_error(message.c_str()); }

std::string_view KeyText(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

RunOptions RunOptionsOf(const CancelToken* cancel, uint64_t seed) {
  RunOptions options;
  options.cancel = cancel;
  options.seed = seed;
  return options;
}

// The results of `run`, which is called without the interpreter's lock, as a tuple.
template <typename Run>
nb::object RunAll(bool numpy, Run run) {
  absl::StatusOr<std::vector<Tensor>> outputs = std::vector<Tensor>();
  {
    const nb::gil_scoped_release unlocked;
    outputs = run();
  }
  if (!outputs.ok()) Raise(outputs.status());
  nb::object results = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(outputs->size())));
  if (!results.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < outputs->size(); ++i) {
    nb::object result =
        numpy ? ToNumpy(std::move((*outputs)[i])) : TensorObject(std::move((*outputs)[i]));
    PyTuple_SetItem(results.ptr(), static_cast<Py_ssize_t>(i), result.release().ptr());
  }
  return results;
}

nb::list SpecList(std::span<const TensorSpec> specs) {
  nb::list list;
  for (const TensorSpec& spec : specs) list.append(nb::cast(spec));
  return list;
}

void ReplaceParameters(ProgramHandle& handle, const nb::dict& values) {
  std::vector<ParameterValue> list;
  for (const auto [name, value] : values) {
    TensorSpec spec;
    spec.name = nb::cast<std::string>(name);
    for (const TensorSpec& parameter : handle.program.parameters()) {
      if (parameter.name == spec.name) spec = parameter;
    }
    // A copy: the program keeps it, and its bytes must not change.
    const Tensor tensor = TensorFrom(value, spec);
    list.push_back({spec.name, Tensor::Copy(tensor.dtype(), tensor.shape(), tensor.data())});
  }
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = handle.program.ReplaceParameters(list);
  }
  RaiseIfError(status);
}

nb::object ParameterOf(const ProgramHandle& handle, const std::string& name) {
  const Tensor tensor = ValueOf(handle.program.Parameter(name));
  return ToNumpy(Tensor::Copy(tensor.dtype(), tensor.shape(), tensor.data()));
}

nb::dict StatsOf(const SessionHandle& handle) {
  const Session::Stats& stats = handle.session.stats();
  nb::dict dict;
  dict["shapes_prepared"] = stats.shapes_prepared;
  dict["plans_made"] = stats.plans_made;
  dict["dynamic_runs"] = stats.dynamic_runs;
  dict["arena_bytes"] = stats.arena_bytes;
  dict["arena_bound_bytes"] = stats.arena_bound_bytes;
  dict["buffer_bytes"] = stats.buffer_bytes;
  dict["device_arena_bytes"] = stats.device_arena_bytes;
  return dict;
}

}  // namespace

std::vector<Tensor> InputsOf(std::span<const TensorSpec> specs, const nb::tuple& args,
                             const nb::dict& kwargs) {
  const Py_ssize_t given = PyTuple_Size(args.ptr());
  if (given < 0) throw nb::python_error();
  if (static_cast<size_t>(given) > specs.size()) {
    RefuseCall(fmt::format("{} inputs were given (expected {}: {})", given, specs.size(),
                           NameList(specs)));
  }
  std::vector<Tensor> inputs(specs.size());
  for (Py_ssize_t i = 0; i < given; ++i)
    inputs[i] = TensorFrom(PyTuple_GetItem(args.ptr(), i), specs[i]);
  if (kwargs.size() > 0) {
    for (const auto [name, value] : kwargs) {
      const std::string_view text = KeyText(name);
      size_t i = 0;
      while (i < specs.size() && specs[i].name != text) ++i;
      if (i == specs.size())
        RefuseCall(fmt::format("there is no input '{}' (expected {})", text, NameList(specs)));
      if (inputs[i]) RefuseCall(fmt::format("the input '{}' is given twice", text));
      inputs[i] = TensorFrom(value, specs[i]);
    }
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!inputs[i])
      RefuseCall(
          fmt::format("the input '{}' is missing (expected {})", specs[i].name, NameList(specs)));
  }
  return inputs;
}

void BindProgram(nb::module_& module) {
  nb::class_<CancelToken>(module, "CancelToken",
                          "Ends the runs that have it, from any thread. It stays cancelled until "
                          "reset(), and may serve several runs.")
      .def(nb::init<>())
      .def("cancel", &CancelToken::Cancel, "Ends the runs that have the token.")
      .def("reset", &CancelToken::Reset, "Lets runs begin again.")
      .def_prop_ro("cancelled", &CancelToken::cancelled, "True between cancel() and reset().");
  nb::class_<TensorSpec>(module, "Spec")
      .def_ro("name", &TensorSpec::name)
      .def_prop_ro("dtype",
                   [](const TensorSpec& spec) { return std::string(NumpyName(spec.dtype)); })
      .def_ro("dims", &TensorSpec::dims);
  nb::class_<ProgramHandle>(module, "Program", "A program; see tenon.Program.")
      .def(
          "call",
          [](const ProgramHandle& handle, const nb::tuple& args, const nb::dict& kwargs) {
            const std::vector<Tensor> inputs = InputsOf(handle.program.inputs(), args, kwargs);
            return RunAll(true, [&] { return handle.program.Run(inputs); });
          },
          nb::arg("args"), nb::arg("kwargs"))
      .def(
          "run",
          [](const ProgramHandle& handle, const nb::tuple& args, const nb::dict& kwargs,
             const CancelToken* cancel, uint64_t seed, bool numpy) {
            const std::vector<Tensor> inputs = InputsOf(handle.program.inputs(), args, kwargs);
            return RunAll(numpy,
                          [&] { return handle.program.Run(inputs, RunOptionsOf(cancel, seed)); });
          },
          nb::arg("args"), nb::arg("kwargs"), nb::arg("cancel").none(), nb::arg("seed"),
          nb::arg("numpy"))
      .def("session",
           [](const ProgramHandle& handle) {
             return std::make_shared<SessionHandle>(handle.program);
           })
      .def("binding",
           [](const ProgramHandle& handle) {
             return std::make_shared<BindingHandle>(handle.program);
           })
      .def("inputs", [](const ProgramHandle& handle) { return SpecList(handle.program.inputs()); })
      .def("outputs",
           [](const ProgramHandle& handle) { return SpecList(handle.program.outputs()); })
      .def("parameters",
           [](const ProgramHandle& handle) { return SpecList(handle.program.parameters()); })
      .def("replace_parameters", ReplaceParameters, nb::arg("values"))
      .def("parameter", ParameterOf, nb::arg("name"))
      .def_ro("notes", &ProgramHandle::notes);
  nb::class_<SessionHandle>(module, "Session", "A session; see tenon.Session.")
      .def(
          "run",
          [](SessionHandle& handle, const nb::tuple& args, const nb::dict& kwargs,
             const CancelToken* cancel, uint64_t seed, bool numpy) {
            const std::vector<Tensor> inputs = InputsOf(handle.program.inputs(), args, kwargs);
            return RunAll(numpy,
                          [&] { return handle.session.Run(inputs, RunOptionsOf(cancel, seed)); });
          },
          nb::arg("args"), nb::arg("kwargs"), nb::arg("cancel").none(), nb::arg("seed"),
          nb::arg("numpy"))
      .def(
          "run_binding",
          [](SessionHandle& handle, BindingHandle& binding, const CancelToken* cancel,
             uint64_t seed) {
            absl::Status status;
            {
              const nb::gil_scoped_release unlocked;
              const std::lock_guard<std::mutex> lock(binding.mutex);
              status = handle.session.Run(binding.binding, RunOptionsOf(cancel, seed));
            }
            RaiseIfError(status);
          },
          nb::arg("binding"), nb::arg("cancel").none(), nb::arg("seed"))
      .def("stats", StatsOf);
  BindBinding(module);
}

}  // namespace tenon::python
