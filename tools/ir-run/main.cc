// ir-run: runs a model as it is and optimised, compares and times both. See --help.
#include <cstdio>
#include <string>
#include <vector>

#include "frontends/api/write_file.h"
#include "tools/ir-run/onnx_test.h"
#include "tools/ir-run/options.h"
#include "tools/ir-run/report.h"
#include "tools/ir-run/runner.h"

namespace tenon::ir_run {
namespace {

enum ExitStatus { kOk = 0, kMismatch = 1, kBadInput = 2, kUnsupported = 3, kNoDevice = 4 };

// Diagnostics first; the Status only where none of them says the same.
int Fail(const absl::Status& status, const std::vector<std::string>& errors = {}) {
  bool said = false;
  const std::string message(status.message());
  const std::string core =
      message.substr(message.rfind(": ") == std::string::npos ? 0 : message.rfind(": "));
  for (const std::string& error : errors) {
    std::fprintf(stderr, "%s\n", error.c_str());
    said |= error.find(core) != std::string::npos;
  }
  if (!said) std::fprintf(stderr, "ir-run: %s\n", message.c_str());
  if (absl::IsUnavailable(status)) return kNoDevice;
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
      PrintText("ir-run (Tenon) " TENON_VERSION "\n");
      return kOk;
    case Options::Action::kOnnxTest:
      return RunOnnxTests(*options);
    case Options::Action::kRun:
      break;
  }
  std::vector<std::string> errors;
  const absl::StatusOr<Report> report = RunModel(*options, errors);
  if (!report.ok()) return Fail(report.status(), errors);
  if (options->json == "-") {
    PrintText(JsonReport(*report, *options));
  } else {
    PrintText(TextReport(*report, *options));
    if (!options->json.empty()) {
      if (absl::Status status = WriteFile(options->json, JsonReport(*report, *options));
          !status.ok())
        return Fail(status);
    }
  }
  return report->pass() ? kOk : kMismatch;
}

}  // namespace
}  // namespace tenon::ir_run

int main(int argc, char** argv) {
  return tenon::ir_run::Main(std::vector<std::string>(argv + 1, argv + argc));
}
