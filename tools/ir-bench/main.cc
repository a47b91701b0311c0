// ir-bench: times a model, alone or in turns with other engines. See --help.
#include <string>
#include <vector>

#include "frontends/cpp/version.h"
#include "tools/command_line/help.h"
#include "tools/command_line/program.h"
#include "tools/ir-bench/bench.h"
#include "tools/ir-bench/options.h"
#include "tools/ir-bench/report.h"

namespace tenon::ir_bench {
namespace {

int Fail(const absl::Status& status, const std::vector<std::string>& errors = {}) {
  return tools::Fail("ir-bench", status, errors);
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseCommandLine(arguments);
  if (!options.ok()) return Fail(options.status());
  tools::ApplyLimits(options->limits, options->cuda);
  switch (options->action) {
    case Options::Action::kHelp:
      return tools::PrintHelp("ir-bench", options->help, HelpText(options->help),
                              options->added.extension.get());
    case Options::Action::kVersion:
      tools::PrintText("ir-bench (Tenon) " TENON_VERSION "\n");
      return tools::kDone;
    case Options::Action::kRun:
      break;
  }
  const absl::Status writable = tools::CheckReportFile(options->json, tools::OutputFormat::kJson);
  if (!writable.ok()) return Fail(writable);
  std::vector<std::string> errors;
  const absl::StatusOr<Report> report = RunBench(*options, errors);
  if (!report.ok()) return Fail(report.status(), errors);
  const absl::Status printed = tools::PrintReport(TextReport(*report, *options),
                                                  JsonReport(*report, *options), options->json);
  if (!printed.ok()) return Fail(printed);
  for (const EngineReport& engine : report->engines) {
    if (!engine.failure.empty()) tools::PrintError("ir-bench: " + engine.failure);
  }
  if (!report->agree()) return tools::kFailed;
  return report->complete() ? tools::kDone : tools::kNotThere;
}

}  // namespace
}  // namespace tenon::ir_bench

int main(int argc, char** argv) {
  return tenon::tools::RunMain("ir-bench", argc, argv, tenon::ir_bench::Main);
}
