// ir-opt: reads a program, runs passes on it, writes it. See --help.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/api/explain.h"
#include "frontends/api/looks_like_text.h"
#include "frontends/api/passes.h"
#include "frontends/api/tenon.h"
#include "ir/core/check.h"
#include "ir/core/printer.h"
#include "tools/command_line/program.h"
#include "tools/ir-opt/files.h"
#include "tools/ir-opt/lists.h"
#include "tools/ir-opt/options.h"
#include "tools/ir-opt/processor.h"

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

struct Outcomes {
  int status = kDone;
  std::vector<std::optional<Model>> models;  // of the parts, in order
  std::string report, fusion_report;

  void Add(Outcome part) {
    status = std::max(status, part.status);
    models.push_back(std::move(part.model));
    report += part.report;
    fusion_report += part.fusion_report;
  }
};

// The input in one go, or part by part.
absl::StatusOr<Outcomes> ProcessInput(const Options& options, const PassRegistry& registry) {
  Outcomes all;
  if (!options.split_input_file && !options.verify_diagnostics) {
    all.Add(Process(options, registry, std::nullopt));
    return all;
  }
  absl::StatusOr<std::string> bytes = ReadInput(options.input);
  if (!bytes.ok()) return bytes.status();
  if (!options.split_input_file || !LooksLikeText(*bytes)) {
    all.Add(Process(options, registry, *bytes));
    return all;
  }
  for (const std::string& part : SplitInput(*bytes)) all.Add(Process(options, registry, part));
  return all;
}

// The models as text, each ending in a new line, with lines of dashes in between.
absl::Status PrintModels(const std::vector<std::optional<Model>>& models,
                         const PrintOptions& options, TextSink sink) {
  for (size_t i = 0; i < models.size(); ++i) {
    if (i > 0) TENON_RETURN_IF_ERROR(sink("// -----\n"));
    if (!models[i].has_value()) continue;
    char last = '\n';
    TENON_RETURN_IF_ERROR(Print(*models[i]->module(), options, [&](std::string_view text) {
      if (!text.empty()) last = text.back();
      return sink(text);
    }));
    if (last != '\n') TENON_RETURN_IF_ERROR(sink("\n"));
  }
  return absl::OkStatus();
}

// Everything but --help and lists.
int RunOn(const Options& options, const PassRegistry& registry) {
  // What is wrong with the line is told before any input is read.
  PassManager manager(registry);
  if (absl::Status status = BuildPipeline(options, manager); !status.ok())
    return Fail(kBadInput, status);
  absl::StatusOr<std::vector<std::string>> rule_names = RuleNames(options.rules);
  if (!rule_names.ok()) return Fail(kBadInput, rule_names.status());
  if (!options.explain.empty()) {
    absl::StatusOr<ExplainQuery> query = ParseExplainQuery(options.explain, *rule_names);
    if (!query.ok()) return Fail(kBadInput, query.status());
  }
  for (const std::string& file : {options.output, options.fusion_report}) {
    if (absl::Status status = tools::CheckReportFile(file); !status.ok())
      return Fail(kBadInput, status);
  }
  if (options.input == "-" && isatty(STDIN_FILENO)) {
    return Fail(kBadInput,
                absl::InvalidArgumentError(
                    "no input (give a file, or '-' with something piped in; --help shows more)"));
  }
  absl::StatusOr<Outcomes> outcome = ProcessInput(options, registry);
  if (!outcome.ok()) return Fail(kBadInput, outcome.status());
  PrintText(outcome->report);
  std::fflush(stdout);
  if (!options.fusion_report.empty() && !outcome->fusion_report.empty()) {
    const absl::Status written = WriteOutput(
        options.fusion_report, [&](TextSink sink) { return sink(outcome->fusion_report); });
    if (!written.ok()) return Fail(kBadInput, written);
  }
  if (outcome->status != kDone && !options.split_input_file) return outcome->status;
  if (!options.WritesIr()) return outcome->status;
  const absl::Status written = WriteOutput(options.output, [&](TextSink sink) {
    return PrintModels(outcome->models, options.print, sink);
  });
  return written.ok() ? outcome->status : Fail(kBadInput, written);
}

int PrintRuleList() {
  const absl::StatusOr<std::string> text = RuleListText();
  if (!text.ok()) return Fail(kFailed, text.status());
  PrintText(*text);
  return kDone;
}

int Main(const std::vector<std::string>& arguments) {
  PassRegistry registry;
  if (const absl::Status status = RegisterAllPasses(registry); !status.ok())
    return Fail(kFailed, status);
  absl::StatusOr<Options> options = ParseCommandLine(arguments, registry);
  if (!options.ok()) return Fail(kBadInput, options.status());
  switch (options->action) {
    case Options::Action::kHelp:
      PrintText(HelpText(registry));
      return kDone;
    case Options::Action::kVersion:
      PrintText("ir-opt (Tenon) " TENON_VERSION "\n");
      return kDone;
    case Options::Action::kListPasses:
      PrintText(PassListText(registry));
      return kDone;
    case Options::Action::kListRules:
      return PrintRuleList();
    case Options::Action::kListOps:
      PrintText(OpListText());
      return kDone;
    case Options::Action::kCheckRules: {
      const absl::StatusOr<RuleCheckOutcome> outcome = CheckRules(options->check_rules);
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
  return tenon::ir_opt::Main(std::vector<std::string>(argv + 1, argv + argc));
}
