#include "frontends/c/programs.h"

#include <utility>

#include "executor/gpu/cuda_plugin.h"
#include "frontends/c/convert.h"
#include "frontends/c/errors.h"
#include "frontends/c/objects.h"
#include "ir/core/verify/verifier.h"

namespace c = tenon::c;

TenonProgram::TenonProgram(tenon::Program compiled) : program(std::move(compiled)) {
  dims.reserve(program.inputs().size() + program.outputs().size() + program.parameters().size());
  Describe(program.inputs(), inputs);
  Describe(program.outputs(), outputs);
  Describe(program.parameters(), parameters);
}

void TenonProgram::Describe(std::span<const tenon::TensorSpec> specs,
                            std::vector<TenonPort>& ports) {
  for (const tenon::TensorSpec& spec : specs) {
    std::vector<TenonString>& texts = dims.emplace_back();
    for (const std::string& dim : spec.dims) texts.push_back(c::ToC(std::string_view(dim)));
    TenonPort port;
    port.name = c::ToC(std::string_view(spec.name));
    port.dtype = static_cast<TenonDType>(spec.dtype);
    port.rank = texts.size();
    port.dims = texts.data();
    ports.push_back(port);
  }
}

namespace tenon::c {

std::function<void(std::string_view)> LinesTo(TenonLineFn receive, void* state) {
  if (receive == nullptr) return nullptr;
  return [receive, state](std::string_view line) { receive(ToC(line), state); };
}

absl::StatusOr<std::shared_ptr<kernels::gpu::Device>> OpenDevice(TenonDevice device, int number) {
  if (device == TENON_DEVICE_CPU) return nullptr;
  if (device != TENON_DEVICE_CUDA) return Wrong("there is no device {}", static_cast<int>(device));
  return OpenCudaDevice(number);
}

}  // namespace tenon::c

namespace {

absl::Status ReadCompileOptions(const TenonCompileOptions& given, tenon::CompileOptions& options) {
  options.threads = given.threads;
  options.reference = given.reference;
  options.verify_weights = given.verify_weights;
  options.limits = c::FromC(given.limits);
  std::string_view folder;
  TENON_RETURN_IF_ERROR(c::ReadText(given.weight_cache, "weight_cache", folder));
  options.weight_cache = folder;
  options.on_fallback = c::LinesTo(given.on_fallback, given.fallback_state);
  TENON_ASSIGN_OR_RETURN(options.gpu, c::OpenDevice(given.device, given.device_number));
  return absl::OkStatus();
}

}  // namespace

TenonStatus* tenonModelCompile(const TenonModel* model, const TenonCompileOptions* options,
                               TenonProgram** program) {
  if (model == nullptr) return c::ToC(c::NotNull(model, "model"));
  return c::AnswerIn(model->model.context(), "compiling", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    TenonCompileOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    tenon::CompileOptions compile;
    TENON_RETURN_IF_ERROR(ReadCompileOptions(given, compile));
    // Others may read the model at the same time, which Verify does not allow.
    tenon::Model copy = model->model.Clone();
    TENON_RETURN_IF_ERROR(tenon::Verify(copy.module()));
    TENON_ASSIGN_OR_RETURN(tenon::Program made, tenon::Compile(std::move(copy), compile));
    *program = new TenonProgram(std::move(made));
    return absl::OkStatus();
  });
}

void tenonProgramDestroy(TenonProgram* program) { delete program; }

size_t tenonProgramNumInputs(const TenonProgram* program) {
  return program == nullptr ? 0 : program->inputs.size();
}

const TenonPort* tenonProgramInput(const TenonProgram* program, size_t index) {
  return index < tenonProgramNumInputs(program) ? &program->inputs[index] : nullptr;
}

size_t tenonProgramNumOutputs(const TenonProgram* program) {
  return program == nullptr ? 0 : program->outputs.size();
}

const TenonPort* tenonProgramOutput(const TenonProgram* program, size_t index) {
  return index < tenonProgramNumOutputs(program) ? &program->outputs[index] : nullptr;
}

// ---- cancelling

TenonStatus* tenonCancelTokenCreate(TenonCancelToken** token) {
  return c::Answer("making a token", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(token, "token"));
    *token = new TenonCancelToken;
    return absl::OkStatus();
  });
}

void tenonCancelTokenDestroy(TenonCancelToken* token) { delete token; }

TenonStatus* tenonCancelTokenCancel(TenonCancelToken* token) {
  if (token == nullptr) return c::ToC(c::NotNull(token, "token"));
  token->token.Cancel();
  return nullptr;
}

TenonStatus* tenonCancelTokenReset(TenonCancelToken* token) {
  if (token == nullptr) return c::ToC(c::NotNull(token, "token"));
  token->token.Reset();
  return nullptr;
}

bool tenonCancelTokenIsCancelled(const TenonCancelToken* token) {
  return token != nullptr && token->token.cancelled();
}
