#include "tools/ir-opt/processor.h"

#include <algorithm>

#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/files/export_onnx.h"
#include "frontends/cpp/rules/explain.h"
#include "frontends/cpp/rules/given_rules.h"
#include "frontends/cpp/rules/rule_names.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/trace.h"
#include "frontends/debug/verify_semantics.h"
#include "frontends/onnx/importer.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"
#include "pass/rewrite_step.h"
#include "pass/stopwatch.h"
#include "tools/command_line/model_options.h"
#include "tools/command_line/progress.h"
#include "tools/ir-opt/expected_diagnostics.h"
#include "tools/ir-opt/files.h"
#include "tools/ir-opt/reproducer.h"
#include "tools/ir-opt/roundtrip.h"
#include "tools/ir-opt/viewer.h"
#include "transforms/rules/rule_cache.h"

namespace tenon::ir_opt {
namespace {

using tools::kBadInput;
using tools::kDone;
using tools::kFailed;
using tools::kUnsupported;
using tools::PrintError;

// Why nodes were not imported, by their names, which --inspect tells.
using Reasons = std::map<std::string, std::string>;

// Takes the remark on a node without counterpart; false for any other diagnostic.
bool AddReason(const Context& context, const Diagnostic& diagnostic, Reasons& reasons) {
  if (diagnostic.severity != Severity::kRemark ||
      !diagnostic.message.starts_with(onnx::kOpaqueRemark))
    return false;
  reasons.emplace(DescribeLocation(context, diagnostic.location),
                  diagnostic.message.substr(onnx::kOpaqueRemark.size()));
  return true;
}

HostRules HostRulesOf(const Model& model) {
  const Extension* const extension = model.extension().get();
  return std::make_shared<const std::vector<drr::Rule>>(
      extension == nullptr ? std::vector<drr::Rule>() : extension->rules);
}

class Processor {
 public:
  Processor(const Options& options, const PassRegistry& registry)
      : options_(options),
        registry_(registry),
        file_(options.input == "-" ? std::string(kStandardInput) : options.input) {}

  Outcome Run(std::optional<std::string_view> bytes) {
    Outcome outcome;
    outcome.status = Transform(bytes, outcome);
    if (!options_.verify_diagnostics || !bytes.has_value()) return outcome;
    absl::StatusOr<std::vector<ExpectedDiagnostic>> expected = ParseExpected(*bytes);
    if (!expected.ok()) {
      PrintError(fmt::format("{}: {}", file_, std::string(expected.status().message())));
      outcome.status = kBadInput;
      return outcome;
    }
    const std::vector<std::string> problems = CompareDiagnostics(file_, *expected, *seen_);
    for (const std::string& problem : problems) PrintError(problem);
    outcome.status = problems.empty() ? kDone : kFailed;
    return outcome;
  }

 private:
  int Transform(std::optional<std::string_view> bytes, Outcome& outcome) {
    LoadOptions load;
    load.extension = options_.added.extension;
    load.allow_unregistered_dialects = options_.allow_unregistered_dialect;
    load.limits = options_.limits.library;
    load.keep_names = !options_.print.generic;  // the generic form shows no names
    tools::SetExternalData(options_.external_data, load);
    load.edit = options_.edit;
    load.edit.keep_microsoft = options_.KeepsMicrosoft();
    load.on_diagnostic = [seen = seen_, file = file_, print = !options_.verify_diagnostics,
                          reasons = options_.inspect ? reasons_ : nullptr](
                             const Context& context, const Diagnostic& diagnostic) {
      RecordDiagnostic(context, diagnostic, file, *seen);
      if (reasons != nullptr && AddReason(context, diagnostic, *reasons)) return;
      if (print) PrintError(FormatDiagnostic(context, diagnostic));
    };
    tools::Progress::Begin("reading " + file_);
    absl::StatusOr<Model> model = [&] {
      const Stopwatch watch(outcome.around.read_seconds);
      return bytes.has_value() ? LoadFromBytes(*bytes, file_, load) : Load(options_.input, load);
    }();
    if (!model.ok()) {
      Report(model.status());
      return kBadInput;
    }
    if (absl::Status status = options_.outputs.CheckFiles(model->files()); !status.ok()) {
      Report(status);
      return kBadInput;
    }
    if (absl::Status status = viewer_.ReadProfile(); !status.ok()) {
      Report(status);
      return kBadInput;
    }
    PassManager manager(registry_);
    if (absl::Status status = BuildPipeline(options_, manager); !status.ok()) {
      PrintError(fmt::format("ir-opt: {}", std::string(status.message())));
      return kBadInput;
    }
    if (options_.dump_pass_pipeline) tools::PrintErrorText(manager.Text() + "\n");
    ExplainQuery query;
    // The program has checked them before it read its input.
    const auto cache = std::make_shared<RuleCache>();
    absl::StatusOr<GivenRuleReport> given =
        CheckGivenRules(*HostRulesOf(*model), options_.rules, manager, model->context(),
                        cache.get(), drr::CompiledRules::Together::kKnown);
    if (!given.ok()) {
      PrintError(fmt::format("ir-opt: {}", std::string(given.status().message())));
      return kBadInput;
    }
    if (!options_.explain.empty()) {
      absl::StatusOr<ExplainQuery> asked = ParseExplainQuery(options_.explain, given->names);
      if (!asked.ok()) {
        PrintError(fmt::format("ir-opt: {}", std::string(asked.status().message())));
        return kBadInput;
      }
      query = *std::move(asked);
    }
    absl::StatusOr<RuleLog> log = LogFor(query, model->module());
    if (!log.ok()) {
      PrintError(fmt::format("ir-opt: {}", std::string(log.status().message())));
      return kBadInput;
    }
    if (absl::Status status = manager.CheckOrder(*model->module()); !status.ok()) {
      Report(status);
      return kBadInput;
    }
    if (absl::Status status = CheckVerifyInputs(
            model->module(), {.inputs = options_.inputs, .limits = options_.limits.library});
        !status.ok()) {
      Report(status);
      return kBadInput;
    }
    if (absl::Status status = RunPasses(manager, *model, *log, query, given->names, cache, outcome);
        !status.ok()) {
      Report(status);
      if (IsLostOutput(status)) return kBadInput;
      return absl::IsUnimplemented(status) ? kUnsupported : kFailed;
    }
    if (!view_status_.ok()) {
      Report(view_status_);
      return kBadInput;
    }
    if (options_.verify_roundtrip) {
      LoadOptions again = load;
      again.external_data_root.clear();
      again.parameter_files.clear();
      again.replaceable.clear();
      again.edit = {};
      const std::vector<std::string> differences = RoundtripDifferences(*model, again);
      for (const std::string& difference : differences) tools::PrintErrorText(difference + "\n");
      if (!differences.empty()) return kFailed;
    }
    if (options_.inspect) {
      absl::StatusOr<Inspection> inspection = Inspect(*model, *reasons_);
      if (!inspection.ok()) {
        Report(inspection.status());
        return kBadInput;
      }
      outcome.inspection = *std::move(inspection);
    }
    if (!options_.WritesIr()) return kDone;
    if (options_.WritesOnnx()) {
      tools::Progress::Begin("writing " + options_.output);
      const Stopwatch watch(outcome.around.write_seconds);
      const absl::Status written = ExportOnnx(*model, options_.output,
                                              {.opset = options_.onnx_opset,
                                               .ops = options_.onnx_ops,
                                               .external_data = options_.external_data_out});
      if (written.ok()) return kDone;
      // Passes of the export are none that the user named.
      if (!HasToldError()) Report(written);
      return absl::IsUnimplemented(written) ? kUnsupported : kBadInput;
    }
    outcome.model = *std::move(model);
    return kDone;
  }

  absl::Status RunPasses(PassManager& manager, Model& model, RuleLog& log,
                         const ExplainQuery& query, const std::vector<std::string>& given_names,
                         const std::shared_ptr<RuleCache>& cache, Outcome& outcome) {
    const Extension* const extension = model.extension().get();
    const HostRules host = HostRulesOf(model);
    const std::shared_ptr<const kernels::KernelRegistry> kernels =
        extension == nullptr ? MakeKernelRegistry() : MakeKernelRegistry(extension->kernels);
    ReferenceEvaluator evaluator(kernels, {.all = ReferenceEvaluator::kCompilingSteps});
    KernelTarget target(kernels);
    std::map<std::string, int64_t, std::less<>> rule_counts;
    PassContext context;
    context.evaluator = &evaluator;
    context.target = &target;
    context.rule_counts = &rule_counts;
    context.explain_rule = options_.explain;
    context.report = [&outcome](std::string_view line) {
      outcome.report.append(line).append("\n");
    };
    context.rule_files = options_.rules;
    context.rule_cache = cache;
    context.fast_math = options_.fast_math;
    TENON_ASSIGN_OR_RETURN(context.disabled_rules,
                           ReadDisabledRules(options_.disabled_rules, given_names));
    log.disabled = context.disabled_rules;
    const auto asked = log.wanted;
    const bool reports_all = !options_.fusion_report.empty() || !options_.view.empty();
    if (reports_all) log.wanted = [](std::string_view) { return true; };
    // Only explanations tell of places where little matches.
    log.only_near = query.rules.empty();
    if (!query.rules.empty() || reports_all) context.rule_log = &log;
    RewriteObservers observers;
    ChangeRecorder changes(log);
    if (!query.rules.empty()) {
      TENON_RETURN_IF_ERROR(ExplainWritten(model.module(), context, host));
      observers.Add(&changes);
    }
    // What several threads do at a time has no one pass that runs.
    if (options_.passes.threads == 1) observers.Add(tools::Progress::Observer());
    Trace trace;
    TraceRecorder recorder(trace);
    if (!options_.trace.empty()) observers.Add(&recorder);
    observers.Add(viewer_.Begin(*model.module()));
    if (!observers.empty()) context.observer = &observers;
    PassManagerOptions options = options_.passes;
    options.sink = tools::PrintErrorText;
    options.on_times = [&outcome](const PassTimes& times) { outcome.times = times; };
    std::string last_step;
    if (options_.bisect_limit >= 0) {
      context.allow_rewrite = [&](const RewriteStep& step) {
        if (step.number > options_.bisect_limit) return false;
        if (step.number == options_.bisect_limit) last_step = StepText(step);
        return true;
      };
    }
    std::optional<SemanticsVerifier> verifier;
    if (options_.verify_semantics) {
      verifier.emplace(
          model.shared_context(), context,
          VerifySemanticsOptions{.inputs = options_.inputs, .limits = options_.limits.library});
      options.check = [&](const PassRun& run) { return verifier->Check(run); };
    }
    Operation* module = model.module();
    absl::Status status;
    if (!options_.steps.empty()) status = RunWithReproducer(manager, module, context, options);
    if (verifier) {
      const std::vector<std::string> lines = verifier->Summary();
      for (const std::string& line : lines) PrintError("verify-semantics: " + line);
      if (lines.empty())
        PrintError("verify-semantics: no pass changed a function, nothing was run");
    }
    if (!last_step.empty()) {
      PrintError(fmt::format("opt-bisect-limit: step {} is {}", options_.bisect_limit, last_step));
    } else if (options_.bisect_limit > context.steps) {
      PrintError(
          fmt::format("opt-bisect-limit: the run has {} steps, all were made", context.steps));
    }
    if (!options_.trace.empty()) {
      trace.input = file_;
      trace.asked = context.steps;
      outcome.trace = options_.trace.ends_with(".json") ? TraceJson(trace) : TracePage(trace);
    }
    if (!options_.fusion_report.empty() && status.ok()) {
      const bool json = options_.fusion_report.ends_with(".json");
      outcome.fusion_report = json ? FusionReportJson(log) : FusionReportText(log);
    }
    if (!options_.view.empty() && status.ok()) {
      absl::StatusOr<std::string> picture = viewer_.Draw(*module, log);
      view_status_ = picture.status();
      if (picture.ok()) outcome.view = *std::move(picture);
    }
    if (reports_all) log.wanted = asked;
    if (!query.rules.empty() && status.ok()) {
      status = ExplainUntried(module, context, host);
      outcome.report += ExplainText(log, query.title);
    }
    if (options.statistics && !options.statistics_json && !rule_counts.empty()) {
      PrintError("rules");
      for (const auto& [rule, count] : rule_counts)
        PrintError(fmt::format("  {:8} {}", count, rule));
    }
    return status;
  }

  // Leaves a file that repeats the run if it does not end well.
  absl::Status RunWithReproducer(PassManager& manager, Operation* module, PassContext& context,
                                 PassManagerOptions& options) {
    if (options_.reproducer.empty()) return manager.Run(module, context, options).status();
    Reproducer reproducer(options_.reproducer, options_.run_arguments);
    if (options_.local_reproducer) {
      options.before_pass = [&](const std::string& pipeline, Operation* whole) {
        return reproducer.Write(pipeline, *whole);
      };
    }
    TENON_RETURN_IF_ERROR(reproducer.Write(manager.Text(), *module));
    absl::Status status = manager.Run(module, context, options).status();
    if (status.ok()) {
      reproducer.Remove();
    } else {
      PrintError("ir-opt: " + reproducer.Note());
    }
    return status;
  }

  bool HasToldError() const {
    return std::any_of(seen_->begin(), seen_->end(), [](const SeenDiagnostic& seen) {
      return seen.severity == Severity::kError;
    });
  }

  // A status that no diagnostic has told yet, or that says more (the pass).
  void Report(const absl::Status& status) {
    const std::string message(status.message());
    const bool told = HasToldError() && message.rfind("pass '", 0) != 0;
    if (told || options_.verify_diagnostics) return;
    PrintError(fmt::format("ir-opt: {}", message));
  }

  const Options& options_;
  const PassRegistry& registry_;
  const std::string file_;
  Viewer viewer_{options_, file_};
  absl::Status view_status_;  // what is wrong with the picture
  // The context of a model that outlives this has it too.
  const std::shared_ptr<std::vector<SeenDiagnostic>> seen_ =
      std::make_shared<std::vector<SeenDiagnostic>>();
  const std::shared_ptr<Reasons> reasons_ = std::make_shared<Reasons>();
};

}  // namespace

Outcome Process(const Options& options, const PassRegistry& registry,
                std::optional<std::string_view> bytes) {
  return Processor(options, registry).Run(bytes);
}

}  // namespace tenon::ir_opt
