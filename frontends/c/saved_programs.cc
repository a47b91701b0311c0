#include "frontends/c/saved_programs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/c/convert.h"
#include "frontends/c/errors.h"
#include "frontends/c/objects.h"
#include "frontends/c/tensor_views.h"
#include "frontends/cpp/files/saved_program.h"

namespace c = tenon::c;

namespace {

absl::Status ReadRuns(const TenonSaveProgramOptions& given,
                      std::vector<std::vector<tenon::Tensor>>& runs) {
  if (given.num_runs == 0) return absl::OkStatus();
  if (given.num_inputs > SIZE_MAX / sizeof(TenonTensorView) / given.num_runs)
    return c::Wrong("{} runs of {} inputs", given.num_runs, given.num_inputs);
  std::vector<tenon::kernels::TensorView> views;
  TENON_RETURN_IF_ERROR(
      c::ReadViews(given.inputs, given.num_runs * given.num_inputs, "inputs", views));
  for (size_t run = 0; run < given.num_runs; ++run) {
    std::vector<tenon::Tensor>& inputs = runs.emplace_back();
    for (size_t i = 0; i < given.num_inputs; ++i)
      inputs.push_back(c::BorrowedTensor(views[run * given.num_inputs + i]));
  }
  return absl::OkStatus();
}

absl::Status ReadLoadProgramOptions(const TenonLoadProgramOptions& given,
                                    std::shared_ptr<void> state,
                                    tenon::LoadProgramOptions& options) {
  options.threads = given.threads;
  options.verify_weights = given.verify_weights;
  options.limits = c::FromC(given.limits);
  if (given.extension != nullptr)
    options.extension = std::make_shared<const tenon::Extension>(given.extension->extension);
  options.on_diagnostic = c::HandlerOf(given.on_diagnostic, std::move(state));
  options.on_fallback = c::LinesTo(given.on_fallback, given.fallback_state);
  TENON_ASSIGN_OR_RETURN(options.gpu, c::OpenDevice(given.device, given.device_number));
  return absl::OkStatus();
}

}  // namespace

TenonStatus* tenonModelSaveProgram(const TenonModel* model, TenonString path,
                                   const TenonSaveProgramOptions* options) {
  if (model == nullptr) return c::ToC(c::NotNull(model, "model"));
  return c::AnswerIn(model->model.context(), "saving a program", [&]() -> absl::Status {
    TenonSaveProgramOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    std::string file;
    TENON_RETURN_IF_ERROR(c::ReadPath(path, "path", file));
    tenon::SaveProgramOptions save;
    save.threads = given.threads;
    save.limits = c::FromC(given.limits);
    TENON_RETURN_IF_ERROR(ReadRuns(given, save.runs));
    TENON_ASSIGN_OR_RETURN(save.gpu, c::OpenDevice(given.device, given.device_number));
    // Others may read the model at the same time, which Verify does not allow.
    const TenonModel copy{model->model.Clone()};
    TENON_RETURN_IF_ERROR(c::CheckModel(&copy));
    return tenon::SaveProgram(copy.model, file, save);
  });
}

TenonStatus* tenonProgramLoad(TenonString path, const TenonLoadProgramOptions* options,
                              TenonProgram** program) {
  return c::Answer("loading a program", [&]() -> absl::Status {
    TenonLoadProgramOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    // First, so that the state of the handler is destroyed whatever else is wrong.
    std::shared_ptr<void> state =
        c::OwnState(given.diagnostic_state, given.destroy_diagnostic_state);
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    std::string file;
    TENON_RETURN_IF_ERROR(c::ReadPath(path, "path", file));
    tenon::LoadProgramOptions load;
    TENON_RETURN_IF_ERROR(ReadLoadProgramOptions(given, std::move(state), load));
    tenon::LoadProgramReport report;
    TENON_ASSIGN_OR_RETURN(tenon::Program loaded, tenon::LoadProgram(file, load, &report));
    *program = new TenonProgram(std::move(loaded));
    if (given.lowered_again != nullptr) *given.lowered_again = !report.lowered_again.empty();
    return absl::OkStatus();
  });
}
