#include "tools/ir-opt/viewer.h"

#include "fmt/format.h"
#include "frontends/view/view.h"
#include "ir/base/check.h"
#include "tools/command_line/program.h"
#include "tools/ir-opt/files.h"

namespace tenon::ir_opt {

absl::Status Viewer::ReadProfile() {
  if (options_.view_profile.empty()) return absl::OkStatus();
  TENON_ASSIGN_OR_RETURN(const std::string json,
                         ReadInput(options_.view_profile, options_.limits.library));
  absl::StatusOr<view::Times> times = view::ReadTimes(json);
  if (!times.ok()) {
    return absl::InvalidArgumentError(fmt::format("--view-profile: {}: {}", options_.view_profile,
                                                  std::string(times.status().message())));
  }
  times_ = *std::move(times);
  return absl::OkStatus();
}

RewriteObserver* Viewer::Begin(const Operation& module) {
  if (options_.view.empty()) return nullptr;
  shown_.before = view::ReadProgram(module);
  return &origins_;
}

absl::StatusOr<std::string> Viewer::Draw(const Operation& module, const RuleLog& log) {
  shown_.input = file_;
  if (!options_.steps.empty()) {
    for (const PipelineStep& step : options_.steps) {
      if (!shown_.pipeline.empty()) shown_.pipeline += ",";
      shown_.pipeline += step.pass.empty()   ? step.text
                         : step.text.empty() ? step.pass
                                             : fmt::format("{}{{{}}}", step.pass, step.text);
    }
    shown_.after = view::ReadProgram(module);
    view::Compare(origins_, shown_);
    view::AddMisses(log, shown_);
  }
  if (times_.has_value()) {
    view::AddTimes(*times_, shown_);
    if (shown_.shown_ms == 0) {
      tools::PrintError(fmt::format(
          "ir-opt: warning: --view-profile: {} has no time of an operation of this program "
          "(expected the profile of the same model and passes)",
          options_.view_profile));
    }
  }
  if (options_.view.ends_with(".svg")) return view::ViewSvg(shown_);
  if (options_.view.ends_with(".dot")) return view::ViewDot(shown_);
  return view::ViewPage(shown_);
}

}  // namespace tenon::ir_opt
