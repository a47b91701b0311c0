// ir-run: runs a model as it is and optimized, compares and times both. See --help.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/cpp/version.h"
#include "tools/command_line/help.h"
#include "tools/command_line/program.h"
#include "tools/command_line/progress.h"
#include "tools/ir-run/compare.h"
#include "tools/ir-run/onnx_test.h"
#include "tools/ir-run/options.h"
#include "tools/ir-run/report.h"
#include "tools/ir-run/runner.h"

namespace tenon::ir_run {
namespace {

int Fail(const absl::Status& status, const std::vector<std::string>& errors = {}) {
  return tools::Fail("ir-run", status, errors);
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseCommandLine(arguments);
  if (!options.ok()) return Fail(options.status());
  tools::ApplyLimits(options->limits, options->cuda);
  switch (options->action) {
    case Options::Action::kHelp:
      return tools::PrintHelp("ir-run", options->help, HelpText(options->help),
                              options->added.extension.get());
    case Options::Action::kVersion:
      tools::PrintText("ir-run (Tenon) " TENON_VERSION "\n");
      return tools::kDone;
    case Options::Action::kOnnxTest:
      return RunOnnxTests(*options);
    case Options::Action::kRun:
      break;
  }
  for (const std::string& file : {options->json, options->profile_file}) {
    const absl::Status status = tools::CheckReportFile(file, tools::OutputFormat::kJson);
    if (!status.ok()) return Fail(status);
  }
  std::optional<tools::Progress> progress(std::in_place, "ir-run", options->quiet);
  std::vector<std::string> errors;
  const auto finish = [&](const auto& report) {
    progress.reset();
    if (!report.ok()) return Fail(report.status(), errors);
    const absl::Status printed = tools::PrintReport(TextReport(*report, *options),
                                                    JsonReport(*report, *options), options->json);
    if (!printed.ok()) return Fail(printed);
    return report->pass() ? tools::kDone : tools::kFailed;
  };
  if (!options->compare.empty()) return finish(CompareWithEngine(*options, errors));
  return finish(RunModel(*options, errors));
}

}  // namespace
}  // namespace tenon::ir_run

int main(int argc, char** argv) {
  return tenon::tools::RunMain("ir-run", argc, argv, tenon::ir_run::Main);
}
