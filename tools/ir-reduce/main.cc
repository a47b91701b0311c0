// ir-reduce: makes a program as small as possible while a test succeeds. See --help.
#include <chrono>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/debug/reduce/reduce.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"
#include "ir/core/text/printer.h"
#include "ir/serialize/binary_module.h"
#include "tools/command_line/help.h"
#include "tools/command_line/program.h"
#include "tools/command_line/progress.h"
#include "tools/command_line/temporary_folder.h"
#include "tools/ir-reduce/options.h"
#include "tools/ir-reduce/test_command.h"

namespace tenon::ir_reduce {
namespace {

absl::StatusOr<Model> LoadProgram(const Options& options, std::vector<std::string>& errors) {
  LoadOptions load;
  load.extension = options.added.extension;
  load.limits = options.limits.library;
  load.allow_unregistered_dialects = options.allow_unregistered_dialect;
  tools::SetExternalData(options.external_data, load);
  load.on_diagnostic = [&errors](const Context& context, const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kError)
      errors.push_back(FormatDiagnostic(context, diagnostic));
  };
  TENON_ASSIGN_OR_RETURN(Model model, Load(options.model, load));
  TENON_RETURN_IF_ERROR(options.outputs.CheckFiles(model.files()));
  return model;
}

// One reduction, with a folder for its files.
class Reduction {
 public:
  Reduction(const Options& options, const std::string& folder)
      : options_(options),
        file_(folder + "/program.mlir"),
        test_(options.test, file_, folder + "/output", options.timeout) {
    print_.generic = options.generic;
  }

  absl::StatusOr<OwnedOp> Run(const Model& model, ReduceReport& report) {
    PassRegistry registry;
    TENON_RETURN_IF_ERROR(RegisterAllPasses(registry, model.extension().get()));
    ReduceOptions reduce;
    reduce.most_tries = options_.most_tries;
    reduce.shrink_dims = options_.shrink_dims;
    reduce.registry = &registry;
    for (const std::string& file : options_.rule_files) {
      reduce.pipelines.push_back(fmt::format("apply-rules{{file=\"{}\"}}", file));
    }
    reduce.pipelines.insert(reduce.pipelines.end(), options_.pipelines.begin(),
                            options_.pipelines.end());
    reduce.on_smaller = [this](const Operation& module, int64_t tries) { Keep(module, tries); };
    absl::StatusOr<OwnedOp> small = Reduce(
        *model.module(), [this](const Operation& m) { return Holds(m); }, reduce, &report);
    TENON_RETURN_IF_ERROR(error_);
    return small;
  }

  // Ran before, and failed for the program as it is.
  bool failed_at_once() const { return tests_ == 1 && !first_.Holds(); }
  std::string WhyAtOnce() const {
    const std::string last = test_.LastLine();
    return fmt::format(
        "the test {} for the program as it is{} (expected exit status 0)",
        first_.timed_out ? fmt::format("takes longer than {} s", options_.timeout)
                         : fmt::format("ends with status {}", first_.status),
        last.empty() ? "" : fmt::format(", its last line is '{}'", ShownMessage(last)));
  }
  int64_t timeouts() const { return timeouts_; }

  absl::Status Write(const Operation& module) const {
    if (options_.output.empty() || options_.output == "-") {
      tools::PrintText(tenon::Print(module, print_));
      return absl::OkStatus();
    }
    const bool binary = tools::IsBinaryName(options_.output);
    return WriteFile(options_.output, [&](TextSink sink) {
      return binary ? WriteBinaryModule(module, sink) : tenon::Print(module, print_, sink);
    });
  }

 private:
  bool Holds(const Operation& module) {
    if (!error_.ok()) return false;
    error_ = WriteFile(file_, [&](TextSink sink) { return tenon::Print(module, print_, sink); });
    if (!error_.ok()) return false;
    const absl::StatusOr<TestCommand::Outcome> outcome = test_.Run();
    error_ = outcome.status();
    if (!error_.ok()) return false;
    if (++tests_ == 1) first_ = *outcome;
    timeouts_ += outcome->timed_out ? 1 : 0;
    return outcome->Holds();
  }

  // A long run that ends early leaves what it has found.
  void Keep(const Operation& module, int64_t tries) {
    tools::Progress::Begin(fmt::format("reducing, {} tests", tries));
    const auto now = std::chrono::steady_clock::now();
    if (options_.output.empty() || options_.output == "-" || now - written_ < kBetweenWrites)
      return;
    written_ = now;
    const absl::Status status = Write(module);
    if (error_.ok()) error_ = status;
  }

  static constexpr std::chrono::seconds kBetweenWrites{2};

  const Options& options_;
  const std::string file_;
  const TestCommand test_;
  PrintOptions print_;
  TestCommand::Outcome first_;
  int64_t tests_ = 0, timeouts_ = 0;
  absl::Status error_;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

std::string TextReport(const ReduceReport& report, int64_t timeouts, const Options& options) {
  std::string text = fmt::format("{} operation{} of {} {} left after {} tests\n", report.ops_after,
                                 report.ops_after == 1 ? "" : "s", report.ops_before,
                                 report.ops_after == 1 ? "is" : "are", report.tries);
  if (timeouts > 0)
    text += fmt::format("{} tests took longer than {} s and failed\n", timeouts, options.timeout);
  if (!report.complete)
    text += fmt::format("stopped after {} tests (--max-tries allows more)\n", report.tries);
  return text;
}

std::string JsonReport(const ReduceReport& report, int64_t timeouts) {
  return fmt::format(
      "{{\"tries\": {}, \"ops_before\": {}, \"ops_after\": {}, \"timeouts\": {}, \"complete\": "
      "{}}}\n",
      report.tries, report.ops_before, report.ops_after, timeouts,
      report.complete ? "true" : "false");
}

int RunOn(const Options& options) {
  std::vector<std::string> errors;
  const auto fail = [&](const absl::Status& status) {
    return tools::Fail("ir-reduce", status, errors);
  };
  for (const absl::Status& status :
       {tools::CheckReportFile(options.output, tools::OutputFormat::kIrText),
        tools::CheckReportFile(options.json, tools::OutputFormat::kJson)}) {
    if (!status.ok()) return fail(status);
  }
  const tools::Progress progress("ir-reduce", options.quiet);
  const absl::StatusOr<Model> model = LoadProgram(options, errors);
  if (!model.ok()) return fail(model.status());
  const absl::StatusOr<tools::TemporaryFolder> folder = tools::TemporaryFolder::Make("ir-reduce");
  if (!folder.ok()) return fail(folder.status());
  Reduction reduction(options, folder->path());
  ReduceReport report;
  const absl::StatusOr<OwnedOp> small = reduction.Run(*model, report);
  if (!small.ok() && reduction.failed_at_once()) {
    tools::PrintError("ir-reduce: " + reduction.WhyAtOnce());
    return tools::kFailed;
  }
  if (!small.ok()) return fail(small.status());
  if (const absl::Status status = reduction.Write(**small); !status.ok()) return fail(status);
  const std::string text = TextReport(report, reduction.timeouts(), options);
  const bool alone = !options.output.empty() && options.output != "-";
  if (!alone) tools::PrintErrorText(text);
  const absl::Status printed = tools::PrintReport(
      alone ? text : std::string(), JsonReport(report, reduction.timeouts()), options.json);
  return printed.ok() ? tools::kDone : fail(printed);
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseCommandLine(arguments);
  if (!options.ok()) return tools::Fail("ir-reduce", options.status());
  tools::ApplyLimits(options->limits);
  switch (options->action) {
    case Options::Action::kHelp:
      return tools::PrintHelp("ir-reduce", options->help, HelpText(options->help),
                              options->added.extension.get());
    case Options::Action::kVersion:
      tools::PrintText("ir-reduce (Tenon) " TENON_VERSION "\n");
      return tools::kDone;
    case Options::Action::kRun:
      break;
  }
  return RunOn(*options);
}

}  // namespace
}  // namespace tenon::ir_reduce

int main(int argc, char** argv) {
  return tenon::tools::RunMain("ir-reduce", argc, argv, tenon::ir_reduce::Main);
}
