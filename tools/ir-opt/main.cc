// ir-opt: reads a program, runs passes on it, writes it. See --help.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/files/looks_like_text.h"
#include "frontends/cpp/parameters/parameters.h"
#include "frontends/cpp/rules/explain.h"
#include "frontends/cpp/rules/given_rules.h"
#include "frontends/cpp/rules/rule_names.h"
#include "frontends/cpp/tenon.h"
#include "frontends/cpp/version.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"
#include "ir/core/context/context.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "ir/serialize/binary_module.h"
#include "pass/pass_times.h"
#include "pass/stopwatch.h"
#include "tools/command_line/help.h"
#include "tools/command_line/option_table.h"
#include "tools/command_line/program.h"
#include "tools/command_line/progress.h"
#include "tools/ir-opt/describe.h"
#include "tools/ir-opt/files.h"
#include "tools/ir-opt/lists.h"
#include "tools/ir-opt/options.h"
#include "tools/ir-opt/processor.h"
#include "tools/ir-opt/reproducer.h"

namespace tenon::ir_opt {
namespace {

using tools::kBadInput;
using tools::kDone;
using tools::kFailed;
using tools::PrintText;

// With the exit status that the place of the error says.
int Fail(int exit_status, const absl::Status& status) {
  tools::Fail("ir-opt", status);
  return exit_status;
}

// The IR as text that ends in a new line.
absl::Status PrintModel(const Model& model, const PrintOptions& options, TextSink sink) {
  char last = '\n';
  TENON_RETURN_IF_ERROR(Print(*model.module(), options, [&](std::string_view text) {
    if (!text.empty()) last = text.back();
    return sink(text);
  }));
  return last == '\n' ? absl::OkStatus() : sink("\n");
}

struct Outcomes {
  Outcome all;       // without a model where there are parts
  std::string text;  // of the parts
};

void PrintTimes(const Options& options, const Outcome& outcome) {
  if (!outcome.times.has_value()) return;
  tools::PrintErrorText(options.passes.timing_json ? TimingJson(*outcome.times, &outcome.around)
                                                   : TimingReport(*outcome.times, &outcome.around));
}

absl::StatusOr<Outcomes> ProcessParts(const Options& options, const PassRegistry& registry,
                                      std::string_view bytes) {
  Outcomes outcomes;
  bool first = true;
  for (const std::string& part : SplitInput(bytes)) {
    // An empty part is an empty module, as one of white space is.
    Outcome outcome = Process(options, registry, part.empty() ? std::string_view("\n") : part);
    outcomes.all.status = std::max(outcomes.all.status, outcome.status);
    outcomes.all.report += outcome.report;
    outcomes.all.fusion_report += outcome.fusion_report;
    outcomes.all.trace = std::move(outcome.trace);
    if (!first) outcomes.text += "// -----\n";
    first = false;
    if (outcome.model.has_value()) {
      const Stopwatch watch(outcome.around.write_seconds);
      TENON_RETURN_IF_ERROR(PrintModel(*outcome.model, options.print, [&](std::string_view text) {
        outcomes.text += text;
        return absl::OkStatus();
      }));
    }
    PrintTimes(options, outcome);
  }
  return outcomes;
}

// The input in one go, or part by part.
absl::StatusOr<Outcomes> ProcessInput(const Options& options, const PassRegistry& registry) {
  if (!options.split_input_file && !options.verify_diagnostics)
    return Outcomes{Process(options, registry, std::nullopt), ""};
  absl::StatusOr<std::string> bytes = ReadInput(options.input, options.limits.library);
  if (!bytes.ok()) return bytes.status();
  if (!LooksLikeText(*bytes, options.input)) {
    tools::PrintError(
        fmt::format("ir-opt: warning: --{} has no effect on what is not IR text",
                    options.split_input_file ? "split-input-file" : "verify-diagnostics"));
  }
  if (!options.split_input_file || !LooksLikeText(*bytes, options.input))
    return Outcomes{Process(options, registry, *bytes), ""};
  return ProcessParts(options, registry, *bytes);
}

// Whether a pass of the pipeline applies rules.
bool AppliesRules(const PassManager& manager) {
  for (const std::string_view pass : {"canonicalize", "fuse", "final-rules", "apply-rules"}) {
    if (!manager.OptionsOf(pass).empty()) return true;
  }
  return false;
}

// Writes the IR of what has been processed, if it is asked for. Returns the exit status.
int WriteResult(const Options& options, const Outcomes& outcomes) {
  const Outcome& outcome = outcomes.all;
  if (outcome.status != kDone && !options.split_input_file) return outcome.status;
  if (!options.WritesIr() || options.WritesOnnx()) return outcome.status;
  if (!options.save_params.empty() && outcome.model.has_value()) {
    Operation& module = *outcome.model->module();
    const absl::Status saved = SaveParameters(module, options.save_params);
    if (!saved.ok()) return Fail(kBadInput, saved);
    DropParameterValues(module);
  }
  const absl::Status written = WriteOutput(options.output, [&](TextSink sink) {
    if (!outcome.model.has_value()) return sink(outcomes.text);
    return options.WritesBinary() ? WriteBinaryModule(*outcome.model->module(), sink)
                                  : PrintModel(*outcome.model, options.print, sink);
  });
  return written.ok() ? outcome.status : Fail(kBadInput, written);
}

// A folder for a tree of files must be new or empty: what lies there could be taken for results.
absl::Status CheckTreeDir(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(folder, error)) return absl::OkStatus();
  if (std::filesystem::is_directory(folder, error) && std::filesystem::is_empty(folder, error))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("--print-ir-tree-dir: {} is there (expected a new or an empty folder)", folder));
}

// Everything but --help and lists.
int RunOn(const Options& options, const PassRegistry& registry) {
  // What is wrong with the line is told before any input is read.
  PassManager manager(registry);
  if (absl::Status status = BuildPipeline(options, manager); !status.ok())
    return Fail(kBadInput, status);
  for (const std::vector<std::string>* names :
       {&options.passes.print_before, &options.passes.print_after}) {
    for (const std::string& name : *names) {
      if (!manager.OptionsOf(name).empty()) continue;
      return Fail(kBadInput, absl::InvalidArgumentError(fmt::format(
                                 "--print-ir-before and --print-ir-after have no effect for '{}': "
                                 "the pipeline does not run it",
                                 name)));
    }
  }
  if (absl::Status status = tools::RefuseUnless(
          options.given, AppliesRules(manager), "fast-math",
          "in a pipeline that applies no rules (expected some, like -O1 or -O2)");
      !status.ok()) {
    return Fail(kBadInput, status);
  }
  Context context;
  RegisterAllDialects(context);
  const Extension* const extension = options.added.extension.get();
  if (extension != nullptr) {
    if (const absl::Status status = RegisterExtension(*extension, context); !status.ok())
      return Fail(kBadInput, status);
  }
  absl::StatusOr<GivenRuleReport> given =
      CheckGivenRules(extension == nullptr ? std::vector<drr::Rule>() : extension->rules,
                      options.rules, manager, context);
  if (!given.ok()) return Fail(kBadInput, given.status());
  if (!options.rules.empty()) {
    for (const std::string& warning : given->warnings)
      tools::PrintError("ir-opt: warning: " + warning);
  }
  if (!options.explain.empty()) {
    absl::StatusOr<ExplainQuery> query = ParseExplainQuery(options.explain, given->names);
    if (!query.ok()) return Fail(kBadInput, query.status());
  }
  const absl::StatusOr<RuleNames> disabled =
      ReadDisabledRules(options.disabled_rules, given->names);
  if (!disabled.ok()) {
    return Fail(kBadInput, absl::InvalidArgumentError(fmt::format(
                               "--disable-rules: {}", std::string(disabled.status().message()))));
  }
  absl::Status writable =
      options.WritesOnnx() ? CheckWritable(options.output)
                           : tools::CheckReportFile(options.output, tools::OutputFormat::kIrText);
  if (writable.ok()) {
    const bool json = options.fusion_report.ends_with(".json");
    writable = tools::CheckReportFile(
        options.fusion_report, json ? tools::OutputFormat::kJson : tools::OutputFormat::kText);
  }
  if (writable.ok() && options.trace.ends_with(".json"))
    writable = tools::CheckReportFile(options.trace, tools::OutputFormat::kJson);
  if (writable.ok() && !options.trace.empty()) writable = CheckWritable(options.trace);
  if (writable.ok() && !options.view.empty()) writable = CheckWritable(options.view);
  if (writable.ok()) writable = tools::CheckReportFile(options.json, tools::OutputFormat::kJson);
  if (writable.ok() && !options.save_params.empty()) writable = CheckWritable(options.save_params);
  if (writable.ok() && !options.external_data_out.empty())
    writable = CheckWritable(options.external_data_out);
  if (writable.ok() && !options.reproducer.empty())
    writable = CheckReproducerFile(options.reproducer, options.input);
  if (writable.ok()) writable = CheckTreeDir(options.passes.print_tree_dir);
  if (!writable.ok()) return Fail(kBadInput, writable);
  if (options.input == "-" && isatty(STDIN_FILENO)) {
    return Fail(kBadInput,
                absl::InvalidArgumentError(
                    "no input (give a file, or '-' with something piped in; --help shows more)"));
  }
  std::optional<tools::Progress> progress(std::in_place, "ir-opt", options.quiet);
  absl::StatusOr<Outcomes> outcomes = ProcessInput(options, registry);
  progress.reset();
  if (!outcomes.ok()) return Fail(kBadInput, outcomes.status());
  const Outcome& outcome = outcomes->all;
  PrintText(outcome.report);
  if (outcome.inspection.has_value()) {
    const absl::Status printed = tools::PrintReport(
        InspectionText(*outcome.inspection), InspectionJson(*outcome.inspection), options.json);
    if (!printed.ok()) return Fail(kBadInput, printed);
  }
  tools::FlushText();  // what follows is not buffered
  if (!options.fusion_report.empty() && !outcome.fusion_report.empty()) {
    const absl::Status written = WriteOutput(
        options.fusion_report, [&](TextSink sink) { return sink(outcome.fusion_report); });
    if (!written.ok()) return Fail(kBadInput, written);
  }
  if (!outcome.trace.empty()) {
    const absl::Status written =
        WriteOutput(options.trace, [&](TextSink sink) { return sink(outcome.trace); });
    if (!written.ok()) return Fail(kBadInput, written);
  }
  if (!outcome.view.empty()) {
    const absl::Status written =
        WriteOutput(options.view, [&](TextSink sink) { return sink(outcome.view); });
    if (!written.ok()) return Fail(kBadInput, written);
  }
  const int status = [&] {
    const Stopwatch watch(outcomes->all.around.write_seconds);
    return WriteResult(options, *outcomes);
  }();
  PrintTimes(options, outcome);
  return status;
}

int PrintRuleAutomata(const Options& options) {
  const absl::StatusOr<std::string> text =
      RuleAutomata(options.list_rules, options.added.extension.get());
  if (!text.ok()) return Fail(kBadInput, text.status());
  PrintText(*text);
  return kDone;
}

int PrintRuleList(const Options& options) {
  const std::string& what = options.list_rules;
  const Extension* const extension = options.added.extension.get();
  const absl::StatusOr<std::string> text =
      what == "opaque" ? OpaqueRuleText(options.rules, extension)
      : what.empty()   ? RuleListText(options.rules, extension)
                       : RuleTexts(what, options.rules, extension);
  // Built-in rules are wrong by no fault of the caller.
  if (!text.ok()) {
    const bool built_in = what.empty() && options.rules.empty() && extension == nullptr;
    return Fail(built_in ? kFailed : kBadInput, text.status());
  }
  PrintText(*text);
  return kDone;
}

int Main(const std::vector<std::string>& arguments) {
  PassRegistry registry;
  absl::StatusOr<Options> options = ParseCommandLine(arguments, registry);
  if (!options.ok()) return Fail(kBadInput, options.status());
  if (options->run_reproducer && options->action == Options::Action::kRun) {
    if (!options->steps.empty()) {
      return Fail(kBadInput,
                  absl::InvalidArgumentError(
                      "--run-reproducer runs the passes of its file (expected no others)"));
    }
    const absl::StatusOr<std::vector<std::string>> held =
        ReproducerArguments(options->input, options->limits.library);
    if (!held.ok()) return Fail(kBadInput, held.status());
    absl::StatusOr<std::vector<std::string>> kept =
        ArgumentsOfFile(options->input, *held, *options);
    if (!kept.ok()) return Fail(kBadInput, kept.status());
    std::vector<std::string> all = *std::move(kept);
    all.insert(all.end(), arguments.begin(), arguments.end());
    registry = PassRegistry();  // the line brings its passes again
    options = ParseCommandLine(all, registry);
    if (!options.ok()) return Fail(kBadInput, options.status());
  }
  tools::ApplyLimits(options->limits);
  switch (options->action) {
    case Options::Action::kHelp:
      return tools::PrintHelp("ir-opt", options->help, HelpText(options->help, registry),
                              options->added.extension.get());
    case Options::Action::kVersion:
      PrintText("ir-opt (Tenon) " TENON_VERSION "\n");
      return kDone;
    case Options::Action::kListPasses:
      PrintText(PassListText(registry));
      return kDone;
    case Options::Action::kListRules:
      return PrintRuleList(*options);
    case Options::Action::kRuleAutomaton:
      return PrintRuleAutomata(*options);
    case Options::Action::kListOps: {
      const absl::StatusOr<std::string> text = OpListText(options->added.extension.get());
      if (!text.ok()) return Fail(kBadInput, text.status());
      PrintText(*text);
      return kDone;
    }
    case Options::Action::kDescribe: {
      const absl::StatusOr<std::string> text = DescribeText(
          options->list_rules, registry, options->rules, options->added.extension.get());
      if (!text.ok()) return Fail(kBadInput, text.status());
      PrintText(*text);
      return kDone;
    }
    case Options::Action::kCheckRules: {
      const absl::StatusOr<RuleCheckOutcome> outcome =
          CheckRules(options->check_rules, options->added.extension.get());
      if (!outcome.ok()) return Fail(kBadInput, outcome.status());
      PrintText(outcome->text);
      return outcome->wrong == 0 ? kDone : kFailed;
    }
    case Options::Action::kRun:
      return RunOn(*options, registry);
  }
  return kBadInput;
}

}  // namespace
}  // namespace tenon::ir_opt

int main(int argc, char** argv) {
  return tenon::tools::RunMain("ir-opt", argc, argv, tenon::ir_opt::Main);
}
