// ir-bench: times a model, alone or in turns with other engines. See --help.
#include <cstdio>
#include <string>
#include <vector>

#include "frontends/api/write_file.h"
#include "tools/ir-bench/bench.h"
#include "tools/ir-bench/options.h"
#include "tools/ir-bench/report.h"

namespace tenon::ir_bench {
namespace {

enum ExitStatus { kOk = 0, kMismatch = 1, kBadInput = 2, kUnsupported = 3, kNoPeer = 4 };

int Fail(const absl::Status& status, const std::vector<std::string>& errors = {}) {
  for (const std::string& error : errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (errors.empty()) std::fprintf(stderr, "ir-bench: %s\n", std::string(status.message()).c_str());
  return absl::IsUnimplemented(status) ? kUnsupported : kBadInput;
}

void PrintText(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseCommandLine(arguments);
  if (!options.ok()) return Fail(options.status());
  switch (options->action) {
    case Options::Action::kHelp:
      PrintText(HelpText());
      return kOk;
    case Options::Action::kVersion:
      PrintText("ir-bench (Tenon) " TENON_VERSION "\n");
      return kOk;
    case Options::Action::kRun:
      break;
  }
  std::vector<std::string> errors;
  const absl::StatusOr<Report> report = RunBench(*options, errors);
  if (!report.ok()) return Fail(report.status(), errors);
  PrintText(options->json == "-" ? JsonReport(*report, *options) : TextReport(*report, *options));
  if (!options->json.empty() && options->json != "-") {
    if (absl::Status status = WriteFile(options->json, JsonReport(*report, *options)); !status.ok())
      return Fail(status);
  }
  for (const EngineReport& engine : report->engines) {
    if (!engine.failure.empty()) std::fprintf(stderr, "ir-bench: %s\n", engine.failure.c_str());
  }
  if (!report->agree()) return kMismatch;
  return report->complete() ? kOk : kNoPeer;
}

}  // namespace
}  // namespace tenon::ir_bench

int main(int argc, char** argv) {
  return tenon::ir_bench::Main(std::vector<std::string>(argv + 1, argv + argc));
}
