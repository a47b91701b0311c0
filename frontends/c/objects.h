// What is behind the pointers that C owns. Internal.
#ifndef TENON_FRONTENDS_C_OBJECTS_H_
#define TENON_FRONTENDS_C_OBJECTS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/program.h"
#include "executor/run_options.h"
#include "executor/tensor.h"
#include "frontends/c/models.h"
#include "frontends/c/programs.h"
#include "frontends/c/runs.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/tenon.h"

struct TenonModel {
  tenon::Model model;
};

struct TenonExtension {
  tenon::Extension extension;
};

struct TenonCancelToken {
  tenon::CancelToken token;
};

struct TenonProgram {
  explicit TenonProgram(tenon::Program compiled);
  TenonProgram(const TenonProgram&) = delete;
  TenonProgram& operator=(const TenonProgram&) = delete;

  tenon::Program program;
  // Refer to the specs of the program, and to `dims`.
  std::vector<TenonPort> inputs, outputs, parameters;
  std::vector<std::vector<TenonString>> dims;

 private:
  void Describe(std::span<const tenon::TensorSpec> specs, std::vector<TenonPort>& ports);
};

struct TenonTensor {
  tenon::Tensor tensor;
};

namespace tenon::c {

Limits FromC(const TenonLimits& limits);

// The handler of a context that passes messages to `handler`, which may be null.
std::function<void(const Context&, const Diagnostic&)> HandlerOf(TenonDiagnosticFn handler,
                                                                 std::shared_ptr<void> state);
// A function that passes lines to `receive`, which may be null.
std::function<void(std::string_view)> LinesTo(TenonLineFn receive, void* state);

// Opens the device of a call; null for the CPU.
absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenDevice(TenonDevice device, int number);

// Verifies the model of a call that changes it.
absl::Status CheckModel(const TenonModel* model);

}  // namespace tenon::c

#endif  // TENON_FRONTENDS_C_OBJECTS_H_
