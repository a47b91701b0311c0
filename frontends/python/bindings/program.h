// Programs, sessions and bindings that Python holds.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_PROGRAM_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_PROGRAM_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "executor/io_binding.h"
#include "executor/program.h"
#include "executor/session.h"

namespace tenon::python {

namespace nb = nanobind;

// A program and what Compile said about it.
struct ProgramHandle {
  ProgramHandle(Program compiled, std::vector<std::string> lines)
      : program(std::move(compiled)), notes(std::move(lines)) {}
  Program program;                 // keeps all that it needs, also after its model is gone
  std::vector<std::string> notes;  // of CompileOptions::on_fallback
};

// Returns the tensors for the inputs of a call `f(*args, **kwargs)`: the arguments by position and
// then by name. TypeError for too many, unknown, repeated or missing ones.
std::vector<Tensor> InputsOf(std::span<const TensorSpec> specs, const nb::tuple& args,
                             const nb::dict& kwargs);

// Adds Program, Session, Binding, CancelToken and Spec to the module.
void BindProgram(nb::module_& module);
// Adds Binding, which is a file of its own.
void BindBinding(nb::module_& module);

// A binding that one thread at a time changes or runs with. Every call holds the mutex.
struct BindingHandle {
  explicit BindingHandle(const Program& of) : program(of), binding(of) {}
  Program program;    // for names and types
  std::mutex mutex;   // held by each call; taken without the interpreter's lock
  IoBinding binding;  // the inputs and outputs
};

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_PROGRAM_H_
