#include "tools/ir-opt/processor.h"

#include <cstdio>

#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/api/tenon.h"
#include "tools/ir-opt/expected_diagnostics.h"
#include "tools/ir-opt/files.h"

namespace tenon::ir_opt {
namespace {

void PrintError(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fputc('\n', stderr);
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
    const std::vector<std::string> problems = CompareDiagnostics(file_, *expected, seen_);
    for (const std::string& problem : problems) PrintError(problem);
    outcome.status = problems.empty() ? kDone : kFailed;
    return outcome;
  }

 private:
  int Transform(std::optional<std::string_view> bytes, Outcome& outcome) {
    LoadOptions load;
    load.allow_unregistered_dialects = options_.allow_unregistered_dialect;
    load.on_diagnostic = [this](const Context& context, const Diagnostic& diagnostic) {
      RecordDiagnostic(context, diagnostic, file_, seen_);
      if (!options_.verify_diagnostics) PrintError(FormatDiagnostic(context, diagnostic));
    };
    absl::StatusOr<Model> model =
        bytes.has_value() ? LoadFromBytes(*bytes, file_, load) : Load(options_.input, load);
    if (!model.ok()) {
      Report(model.status());
      return kBadInput;
    }
    PassManager manager(registry_);
    if (absl::Status status = BuildPipeline(options_, manager); !status.ok()) {
      PrintError(fmt::format("ir-opt: {}", std::string(status.message())));
      return kBadInput;
    }
    if (options_.dump_pass_pipeline) PrintError(manager.Text());
    if (!options_.steps.empty()) {
      if (absl::Status status = RunPasses(manager, model->module(), outcome); !status.ok()) {
        Report(status);
        return absl::IsUnimplemented(status) ? kUnsupported : kFailed;
      }
    }
    outcome.text = Print(*model->module(), options_.print);
    if (!outcome.text.empty() && outcome.text.back() != '\n') outcome.text += '\n';
    return kDone;
  }

  absl::Status RunPasses(PassManager& manager, Operation* module, Outcome& outcome) {
    const std::shared_ptr<const kernels::KernelRegistry> kernels = MakeKernelRegistry();
    ReferenceEvaluator evaluator(kernels);
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
    PassManagerOptions options = options_.passes;
    options.sink = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
    const absl::Status status = manager.Run(module, context, options).status();
    if (options.statistics && !rule_counts.empty()) {
      PrintError("rules");
      for (const auto& [rule, count] : rule_counts)
        PrintError(fmt::format("  {:8} {}", count, rule));
    }
    return status;
  }

  // A status that no diagnostic has told yet, or that says more (the pass).
  void Report(const absl::Status& status) {
    const std::string message(status.message());
    const bool told = !seen_.empty() && message.rfind("pass '", 0) != 0;
    if (told || options_.verify_diagnostics) return;
    PrintError(fmt::format("ir-opt: {}", message));
  }

  const Options& options_;
  const PassRegistry& registry_;
  const std::string file_;
  std::vector<SeenDiagnostic> seen_;
};

}  // namespace

Outcome Process(const Options& options, const PassRegistry& registry,
                std::optional<std::string_view> bytes) {
  return Processor(options, registry).Run(bytes);
}

}  // namespace tenon::ir_opt
