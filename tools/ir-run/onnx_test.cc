#include "tools/ir-run/onnx_test.h"

#include <algorithm>
#include <filesystem>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "tools/command_line/program.h"
#include "tools/ir-run/runner.h"

namespace tenon::ir_run {
namespace {

namespace fs = std::filesystem;

void Collect(const fs::path& folder, std::vector<fs::path>& cases) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) {
    cases.push_back(folder);
    return;
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) Collect(entry.path(), cases);
  }
}

// Why a model cannot be run, in short: what the importer said of the first operation that it did
// not know, or else what the executor says.
std::string SkipReason(const absl::Status& status, const std::vector<std::string>& errors) {
  constexpr std::string_view kOpaque = "imported as an opaque op: ";
  for (const std::string& error : errors) {
    const size_t at = error.find(kOpaque);
    if (at != std::string::npos) return error.substr(at + kOpaque.size());
  }
  return std::string(status.message());
}

// What fails first, or an empty text. `errors`: the Status names the first.
absl::StatusOr<std::string> RunOne(const Options& options, const fs::path& folder,
                                   std::vector<std::string>& errors) {
  TENON_ASSIGN_OR_RETURN(const Programs programs,
                         Prepare(options, (folder / "model.onnx").string(), errors));
  TENON_ASSIGN_OR_RETURN(
      const std::vector<Case> cases,
      ReadTestCases(folder.string(), programs.optimized_program, options.limits.library));
  for (const Case& c : cases) {
    TENON_ASSIGN_OR_RETURN(const CaseReport report, RunCase(options, programs, c));
    for (const OutputReport& output : report.outputs) {
      if (output.pass()) continue;
      const bool original = !output.original.pass;
      const Difference& d = original ? output.original : output.optimized;
      return fmt::format("{}: output {} of the {} program: {}", c.name, output.name,
                         original ? "original" : "optimized", d.problem);
    }
  }
  return std::string();
}

}  // namespace

int RunOnnxTests(const Options& options) {
  std::vector<fs::path> folders;
  for (const std::string& root : options.onnx_tests) Collect(root, folders);
  if (folders.empty()) {
    return tools::Fail("ir-run",
                       absl::InvalidArgumentError(fmt::format(
                           "no cases in {} (expected folders with model.onnx and test_data_set_0)",
                           fmt::join(options.onnx_tests, ", "))));
  }
  std::sort(folders.begin(), folders.end());
  int passed = 0, failed = 0, skipped = 0;
  for (const fs::path& folder : folders) {
    const std::string name = ShownName(folder.filename().string());
    std::vector<std::string> errors;
    const absl::StatusOr<std::string> result = RunOne(options, folder, errors);
    if (result.ok() && result->empty()) {
      ++passed;
      tools::PrintText(fmt::format("PASS {}\n", name));
    } else if (!result.ok() && absl::IsUnimplemented(result.status())) {
      ++skipped;
      tools::PrintText(
          ShownMessage(fmt::format("SKIP {}: {}\n", name, SkipReason(result.status(), errors))));
    } else {
      ++failed;
      const std::string problem = result.ok() ? *result : std::string(result.status().message());
      tools::PrintText(ShownMessage(fmt::format("FAIL {}: {}\n", name, problem)));
    }
    std::fflush(stdout);
  }
  tools::PrintText(fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, skipped));
  return failed > 0 ? tools::kFailed : tools::kDone;
}

}  // namespace tenon::ir_run
