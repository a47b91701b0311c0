#include "frontends/c/runs.h"

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "executor/io_binding.h"
#include "executor/session.h"
#include "frontends/c/convert.h"
#include "frontends/c/objects.h"
#include "frontends/c/tensor_views.h"
#include "kernels/tensor_view.h"

namespace c = tenon::c;

using tenon::Tensor;
using tenon::kernels::TensorView;

struct TenonSession {
  tenon::Session session;
  size_t num_outputs;
};

struct TenonBinding {
  tenon::IoBinding binding;
};

namespace {

// Answers a call that runs `run` with options whose error place the answer has.
template <typename Run>
TenonStatus* Ran(const TenonRunOptions* options, Run run) {
  std::string place;
  const absl::Status status = c::Guarded("running", [&]() -> absl::Status {
    TenonRunOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    tenon::RunOptions known;
    if (given.cancel != nullptr) known.cancel = &given.cancel->token;
    known.seed = given.seed;
    known.error_place = &place;
    return run(known);
  });
  return c::ToC(status, place);
}

// Runs `run` on tensors over the memory of the caller, and hands its results over.
template <typename Run>
TenonStatus* RunToTensors(size_t num_results, const TenonTensorView* inputs, size_t num_inputs,
                          const TenonRunOptions* options, TenonTensor** outputs, size_t num_outputs,
                          Run run) {
  return Ran(options, [&](const tenon::RunOptions& known) -> absl::Status {
    if (num_outputs != num_results)
      return c::Wrong("{} outputs (expected {})", num_outputs, num_results);
    if (num_outputs > 0) TENON_RETURN_IF_ERROR(c::NotNull(outputs, "outputs"));
    std::vector<TensorView> views;
    TENON_RETURN_IF_ERROR(c::ReadViews(inputs, num_inputs, "inputs", views));
    std::vector<Tensor> tensors;
    for (const TensorView& view : views) tensors.push_back(c::BorrowedTensor(view));
    TENON_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                           run(std::span<const Tensor>(tensors), known));
    std::vector<std::unique_ptr<TenonTensor>> made;
    for (Tensor& result : results)
      made.push_back(std::make_unique<TenonTensor>(TenonTensor{std::move(result)}));
    for (size_t i = 0; i < made.size(); ++i) outputs[i] = made[i].release();
    return absl::OkStatus();
  });
}

}  // namespace

// ---- tensors

TenonTensorView tenonTensorView(const TenonTensor* tensor) {
  if (tensor == nullptr) return {nullptr, TENON_DTYPE_INVALID, nullptr, 0};
  const Tensor& known = tensor->tensor;
  return {known.data(), static_cast<TenonDType>(known.dtype()), known.shape().data(),
          known.shape().size()};
}

int64_t tenonTensorNumElements(const TenonTensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.numel();
}

size_t tenonTensorNumBytes(const TenonTensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.num_bytes();
}

void tenonTensorDestroy(TenonTensor* tensor) { delete tensor; }

// ---- runs

TenonStatus* tenonProgramRun(const TenonProgram* program, const TenonTensorView* inputs,
                             size_t num_inputs, const TenonRunOptions* options,
                             TenonTensor** outputs, size_t num_outputs) {
  if (program == nullptr) return c::ToC(c::NotNull(program, "program"));
  return RunToTensors(program->outputs.size(), inputs, num_inputs, options, outputs, num_outputs,
                      [&](std::span<const Tensor> tensors, const tenon::RunOptions& known) {
                        return program->program.Run(tensors, known);
                      });
}

TenonStatus* tenonSessionCreate(const TenonProgram* program, TenonSession** session) {
  return c::Answer("making a session", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    TENON_RETURN_IF_ERROR(c::NotNull(session, "session"));
    *session = new TenonSession{program->program.NewSession(), program->outputs.size()};
    return absl::OkStatus();
  });
}

void tenonSessionDestroy(TenonSession* session) { delete session; }

TenonStatus* tenonSessionRun(TenonSession* session, const TenonTensorView* inputs,
                             size_t num_inputs, const TenonRunOptions* options,
                             TenonTensor** outputs, size_t num_outputs) {
  if (session == nullptr) return c::ToC(c::NotNull(session, "session"));
  return RunToTensors(session->num_outputs, inputs, num_inputs, options, outputs, num_outputs,
                      [&](std::span<const Tensor> tensors, const tenon::RunOptions& known) {
                        return session->session.Run(tensors, known);
                      });
}

TenonStatus* tenonSessionRunInto(TenonSession* session, const TenonTensorView* inputs,
                                 size_t num_inputs, const TenonRunOptions* options,
                                 const TenonTensorView* outputs, size_t num_outputs) {
  return Ran(options, [&](const tenon::RunOptions& known) -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(session, "session"));
    std::vector<TensorView> from, to;
    TENON_RETURN_IF_ERROR(c::ReadViews(inputs, num_inputs, "inputs", from));
    TENON_RETURN_IF_ERROR(c::ReadViews(outputs, num_outputs, "outputs", to));
    return session->session.Run(from, to, known);
  });
}

TenonStatus* tenonSessionOutputShapes(TenonSession* session, const TenonTensorView* inputs,
                                      size_t num_inputs, TenonShapeFn visit, void* state) {
  return c::Answer("inferring shapes", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(session, "session"));
    TENON_RETURN_IF_ERROR(c::NotNull(visit, "visit"));
    std::vector<TensorView> views;
    TENON_RETURN_IF_ERROR(c::ReadViews(inputs, num_inputs, "inputs", views));
    TENON_ASSIGN_OR_RETURN(const std::vector<tenon::ResultShape> shapes,
                           session->session.OutputShapes(views));
    for (size_t i = 0; i < shapes.size(); ++i) {
      const TenonTensorView type = {nullptr, static_cast<TenonDType>(shapes[i].dtype),
                                    shapes[i].shape.data(), shapes[i].shape.size()};
      visit(i, &type, state);
    }
    return absl::OkStatus();
  });
}

// ---- parameters

size_t tenonProgramNumParameters(const TenonProgram* program) {
  return program == nullptr ? 0 : program->parameters.size();
}

const TenonPort* tenonProgramParameter(const TenonProgram* program, size_t index) {
  return index < tenonProgramNumParameters(program) ? &program->parameters[index] : nullptr;
}

TenonStatus* tenonProgramReplaceParameters(TenonProgram* program, const TenonString* names,
                                           const TenonTensorView* values, size_t count) {
  return c::Answer("replacing parameters", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    std::vector<std::string> texts;
    TENON_RETURN_IF_ERROR(c::ReadTexts(names, count, "names", texts));
    std::vector<TensorView> views;
    TENON_RETURN_IF_ERROR(c::ReadViews(values, count, "values", views));
    std::vector<tenon::ParameterValue> replaced;
    for (size_t i = 0; i < count; ++i) {
      if (views[i].data == nullptr && views[i].numel() > 0)
        return c::Wrong("values[{}] has no data", i);
      TENON_ASSIGN_OR_RETURN(Tensor copy, Tensor::TryMake(views[i].dtype, views[i].shape));
      if (copy.num_bytes() > 0) std::memcpy(copy.data(), views[i].data, copy.num_bytes());
      replaced.push_back({std::move(texts[i]), std::move(copy)});
    }
    return program->program.ReplaceParameters(replaced);
  });
}

// ---- bindings

TenonStatus* tenonBindingCreate(const TenonProgram* program, TenonBinding** binding) {
  return c::Answer("making a binding", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    TENON_RETURN_IF_ERROR(c::NotNull(binding, "binding"));
    *binding = new TenonBinding{tenon::IoBinding(program->program)};
    return absl::OkStatus();
  });
}

void tenonBindingDestroy(TenonBinding* binding) { delete binding; }

TenonStatus* tenonBindingSetInput(TenonBinding* binding, TenonString name,
                                  const TenonTensorView* tensor) {
  return c::Answer("binding an input", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(binding, "binding"));
    TENON_RETURN_IF_ERROR(c::NotNull(tensor, "tensor"));
    TensorView view;
    TENON_RETURN_IF_ERROR(c::ReadView(*tensor, "tensor", 0, view));
    return binding->binding.BindInput(c::FromC(name), c::BorrowedTensor(view));
  });
}

TenonStatus* tenonBindingSetOutput(TenonBinding* binding, TenonString name,
                                   const TenonTensorView* tensor) {
  return c::Answer("binding an output", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(binding, "binding"));
    if (tensor == nullptr) return binding->binding.BindOutput(c::FromC(name));
    TensorView view;
    TENON_RETURN_IF_ERROR(c::ReadView(*tensor, "tensor", 0, view));
    return binding->binding.BindOutput(c::FromC(name), c::BorrowedTensor(view));
  });
}

TenonStatus* tenonBindingCarry(TenonBinding* binding, TenonString output, TenonString input) {
  return c::Answer("binding", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(binding, "binding"));
    return binding->binding.Carry(c::FromC(output), c::FromC(input));
  });
}

TenonStatus* tenonSessionRunBinding(TenonSession* session, TenonBinding* binding,
                                    const TenonRunOptions* options) {
  return Ran(options, [&](const tenon::RunOptions& known) -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(session, "session"));
    TENON_RETURN_IF_ERROR(c::NotNull(binding, "binding"));
    return session->session.Run(binding->binding, known);
  });
}

TenonStatus* tenonBindingOutput(const TenonBinding* binding, TenonString name,
                                TenonTensor** tensor) {
  return c::Answer("reading an output", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(binding, "binding"));
    TENON_RETURN_IF_ERROR(c::NotNull(tensor, "tensor"));
    TENON_ASSIGN_OR_RETURN(Tensor result, binding->binding.output(c::FromC(name)));
    *tensor = new TenonTensor{std::move(result)};
    return absl::OkStatus();
  });
}
