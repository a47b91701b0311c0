#include "frontends/c/adapters.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/c/convert.h"
#include "frontends/c/errors.h"
#include "frontends/c/objects.h"
#include "frontends/cpp/parameters/lora.h"
#include "frontends/cpp/parameters/parameters.h"

namespace c = tenon::c;

struct TenonAppliedAdapter {
  std::vector<tenon::ParameterValue> before;
};

TenonStatus* tenonProgramApplyAdapter(TenonProgram* program, TenonString path,
                                      const TenonAdapterOptions* options,
                                      TenonAppliedAdapter** applied) {
  return c::Answer("applying an adapter", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    TenonAdapterOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    std::string file;
    TENON_RETURN_IF_ERROR(c::ReadPath(path, "path", file));
    tenon::AdapterOptions read;
    TENON_RETURN_IF_ERROR(c::ReadPath(given.config, "config", read.config));
    if (!std::isfinite(given.alpha)) return c::Wrong("'alpha' is {}", given.alpha);
    if (given.alpha != 0) read.alpha = given.alpha;
    read.limits = c::FromC(given.limits);
    TENON_ASSIGN_OR_RETURN(const tenon::Adapter adapter, tenon::ReadAdapter(file, read));
    // Before anything changes: there may be no memory.
    auto kept = std::make_unique<TenonAppliedAdapter>();
    TENON_ASSIGN_OR_RETURN(kept->before, tenon::ApplyAdapter(program->program, adapter));
    if (applied != nullptr) *applied = kept.release();
    return absl::OkStatus();
  });
}

TenonStatus* tenonProgramRemoveAdapter(TenonProgram* program, const TenonAppliedAdapter* applied) {
  return c::Answer("removing an adapter", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(program, "program"));
    TENON_RETURN_IF_ERROR(c::NotNull(applied, "applied"));
    return program->program.ReplaceParameters(applied->before);
  });
}

void tenonAppliedAdapterDestroy(TenonAppliedAdapter* applied) { delete applied; }

TenonStatus* tenonModelSaveParameters(const TenonModel* model, TenonString path) {
  if (model == nullptr) return c::ToC(c::NotNull(model, "model"));
  return c::AnswerIn(model->model.context(), "saving parameters", [&]() -> absl::Status {
    std::string file;
    TENON_RETURN_IF_ERROR(c::ReadPath(path, "path", file));
    return tenon::SaveParameters(*model->model.module(), file);
  });
}
