#include "tools/ir-opt/options.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/passes.h"
#include "frontends/onnx/export/export_onnx.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"
#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "tools/command_line/help.h"
#include "tools/command_line/model_options.h"
#include "tools/command_line/option_table.h"
#include "tools/command_line/progress.h"

namespace tenon::ir_opt {
namespace {

using tools::Given;
using tools::Set;
using tools::Takes;
using tools::WithDashes;

absl::Status AddNames(const Given& given, std::vector<std::string>& names) {
  for (std::string_view name : tools::SplitList(given.value)) names.emplace_back(name);
  return absl::OkStatus();
}

using Action = Options::Action;

constexpr tools::Option<Options> kTable[] = {
    tools::Heading<Options>("Input and output", "files"),
    {{"o", "", Takes::kOutput, "FILE",
      "write text; binary to FILE.tnb, a model to FILE.onnx (default: \"-\")"},
     [](Options& o, const Given& g) { return Set(o.output, g.value); }},
    {{"save-params", "", Takes::kOutput, "FILE",
      "move the values of parameters to FILE, as safetensors", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.save_params, g.value); }},
    {{"onnx-opset", "", Takes::kValue, "N",
      "version of ONNX's operators in FILE.onnx, 13 to 28 (default: that of the model)",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) {
       return tools::ReadInteger(g, onnx::kOldestOpset, onnx::kNewestOpset, o.onnx_opset);
     }},
    {{"onnx-ops", "", Takes::kValue, "standard|functions|ort",
      "operators in FILE.onnx: ONNX's own, with fused ones as functions of the model, or those of "
      "ONNX Runtime too (default: standard)",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) {
       if (g.value == "standard") return Set(o.onnx_ops, OnnxOps::kStandard);
       if (g.value == "functions") return Set(o.onnx_ops, OnnxOps::kFunctions);
       if (g.value == "ort") return Set(o.onnx_ops, OnnxOps::kOnnxRuntime);
       return absl::InvalidArgumentError(
           fmt::format("--onnx-ops is '{}' (expected standard, functions or ort)", g.value));
     }},
    {{"external-data-out", "", Takes::kOutput, "FILE",
      "write the weights of FILE.onnx to this file beside it (default: over 2 GiB, FILE.onnx.data)",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.external_data_out, g.value); }},
    {{"extract", "", Takes::kValue, "FROM:TO",
      "read only a part of an ONNX model, by names of values or nodes"},
     [](Options& o, const Given& g) { return Set(o.edit.part, g.value); }},
    {{"shape", "dim", Takes::kValue, "a=1,x=2,3",
      "fix dimensions or whole shapes of inputs of an ONNX model", tools::Times::kAny},
     [](Options& o, const Given& g) { return tools::ReadShapes(g, o.edit.sizes); }},
    {{"print-generic", "mlir-print-op-generic", Takes::kFlag, "",
      "write the form that mlir-opt reads"},
     [](Options& o, const Given& g) { return Set(o.print.generic, g.on); }},
    {{"print-locations", "mlir-print-debuginfo", Takes::kFlag, "",
      "write the origin of each operation", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.print.locations, g.on); }},
    {{"elide-resources", "", Takes::kFlag, "", "leave out the bytes of large constants"},
     [](Options& o, const Given& g) { return Set(o.print.elide_resources, g.on); }},
    {{"allow-unregistered-dialect", "", Takes::kFlag, "", "accept operations of unknown dialects",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.allow_unregistered_dialect, g.on); }},
    tools::LoadOpsRow<Options>(),
    tools::LoadPluginRow<Options>(),
    tools::ExternalDataRow<Options>(),
    tools::ExternalDataLinksRow<Options>(),
    tools::ParamsRow<Options>(),
    {{"split-input-file", "", Takes::kFlag, "",
      "treat the parts between lines '// -----' as separate inputs", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.split_input_file, g.on); }},

    tools::Heading<Options>("Optimization", "passes"),
    tools::LevelsRow<Options>("run the pipeline of an optimization level (default: none)"),
    {{"pass-pipeline", "", Takes::kValue, "TEXT", "run a pipeline, such as 'O1,fuse{rules=linear}'",
      tools::Times::kAny},
     [](Options& o, const Given& g) {
       o.steps.push_back({"", std::string(g.value)});
       return absl::OkStatus();
     }},
    {{"rules", "", Takes::kInput, "FILE",
      "also apply the rules of FILE in fuse and final-rules; repeatable", tools::Times::kAny},
     [](Options& o, const Given& g) {
       o.rules.emplace_back(g.value);
       return absl::OkStatus();
     }},
    tools::FastMathRow<Options>(),
    tools::DisableRulesRow<Options>(),
    {{"opt-bisect-limit", "", Takes::kValue, "N",
      "make only the first N steps: rewrites, folds, passes (default: all)", tools::Times::kOnce,
      true},
     [](Options& o, const Given& g) {
       return tools::ReadInteger(g, 0, std::numeric_limits<int64_t>::max(), o.bisect_limit);
     }},

    tools::Heading<Options>("Looking at the model and the IR", "debug"),
    {{"inspect", "", Takes::kFlag, "",
      "report inputs, FLOPs, what is unsupported (IR only with -o)"},
     [](Options& o, const Given& g) { return Set(o.inspect, g.on); }},
    {{"json", "", Takes::kOutput, "FILE",
      "write the report of --inspect to FILE as JSON; \"-\" prints only the JSON",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.json, g.value); }},
    {{"print-ir-before-all", "mlir-print-ir-before-all", Takes::kFlag, "",
      "print the IR before every pass", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.passes.print_before_all, g.on); }},
    {{"print-ir-after-all", "mlir-print-ir-after-all", Takes::kFlag, "",
      "print the IR after every pass"},
     [](Options& o, const Given& g) { return Set(o.passes.print_after_all, g.on); }},
    {{"print-ir-after-change", "mlir-print-ir-after-change", Takes::kFlag, "",
      "print the IR when a pass changes it"},
     [](Options& o, const Given& g) { return Set(o.passes.print_after_change, g.on); }},
    {{"print-ir-after-failure", "mlir-print-ir-after-failure", Takes::kFlag, "",
      "print the IR when a pass fails", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.passes.print_after_failure, g.on); }},
    {{"print-ir-before", "mlir-print-ir-before", Takes::kValue, "PASSES",
      "print the IR before these passes", tools::Times::kAny, true},
     [](Options& o, const Given& g) { return AddNames(g, o.passes.print_before); }},
    {{"print-ir-after", "mlir-print-ir-after", Takes::kValue, "PASSES",
      "print the IR after these passes", tools::Times::kAny, true},
     [](Options& o, const Given& g) { return AddNames(g, o.passes.print_after); }},

    {{"print-ir-diff", "", Takes::kFlag, "", "print what a pass changes, as a unified diff"},
     [](Options& o, const Given& g) { return Set(o.passes.print_diff, g.on); }},
    {{"print-ir-module-scope", "mlir-print-ir-module-scope", Takes::kFlag, "",
      "print the whole module where a pass runs on a function", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.passes.print_module_scope, g.on); }},
    {{"print-ir-tree-dir", "mlir-print-ir-tree-dir", Takes::kOutput, "DIR",
      "print the IR of these options to files of DIR, a folder for each operation",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.passes.print_tree_dir, g.value); }},

    tools::Heading<Options>("Rules and results", "rules"),
    {{"explain", "", Takes::kValue, "RULE[@NODE]",
      "show where a rule fired, or what stopped it (IR only with -o)"},
     [](Options& o, const Given& g) { return Set(o.explain, g.value); }},
    {{"fusion-report", "", Takes::kOutput, "FILE",
      "explain all rules in FILE; FILE.json gets JSON (IR only with -o)"},
     [](Options& o, const Given& g) { return Set(o.fusion_report, g.value); }},

    {{"trace", "", Takes::kOutput, "FILE",
      "write every step with its operations to FILE.html or FILE.json"},
     [](Options& o, const Given& g) {
       if (!g.value.ends_with(".html") && !g.value.ends_with(".json")) {
         return absl::InvalidArgumentError(
             fmt::format("--trace is '{}' (expected FILE.html or FILE.json)", g.value));
       }
       return Set(o.trace, g.value);
     }},

    {{"view", "", Takes::kOutput, "FILE",
      "draw before and after in FILE.html, .svg or .dot (IR only with -o)"},
     [](Options& o, const Given& g) {
       if (!g.value.ends_with(".html") && !g.value.ends_with(".svg") &&
           !g.value.ends_with(".dot")) {
         return absl::InvalidArgumentError(
             fmt::format("--view is '{}' (expected FILE.html, FILE.svg or FILE.dot)", g.value));
       }
       return Set(o.view, g.value);
     }},
    {{"view-profile", "", Takes::kInput, "FILE",
      "show the times that ir-run --profile=FILE wrote in the picture of --view",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.view_profile, g.value); }},

    {{"check-rules", "", Takes::kOptional, "FILE",
      "check rules by running both sides; repeatable (default: built-in)", tools::Times::kAny},
     [](Options& o, const Given& g) {
       o.action = Action::kCheckRules;
       if (g.has_value) o.check_rules.emplace_back(g.value);
       return absl::OkStatus();
     }},
    {{"rule-automaton", "", Takes::kValue, "NAME",
      "print the automaton of a family or of FILE.drr for Graphviz", tools::Times::kOnce, true},
     [](Options& o, const Given& g) {
       o.action = Action::kRuleAutomaton;
       return Set(o.list_rules, g.value);
     }},
    {{"verify-semantics", "", Takes::kFlag, "",
      "compare results before and after every pass (IR only with -o)"},
     [](Options& o, const Given& g) { return Set(o.verify_semantics, g.on); }},
    {{"inputs", "", Takes::kInput, "DIR",
      "verify with input_N.pb or input_N.npy of DIR (default: samples)", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.inputs, g.value); }},
    {{"verify-each", "", Takes::kFlag, "",
      "verify the IR after passes that change it (default: on)", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.passes.verify_each, g.on); }},
    {{"verify-diagnostics", "", Takes::kFlag, "",
      "compare diagnostics with comments '// expected-error@+1 {{text}}'", tools::Times::kOnce,
      true},
     [](Options& o, const Given& g) { return Set(o.verify_diagnostics, g.on); }},
    {{"verify-roundtrip", "", Takes::kFlag, "",
      "write the result as text and binary, read both, and compare", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.verify_roundtrip, g.on); }},
    {{"pass-pipeline-crash-reproducer", "mlir-pass-pipeline-crash-reproducer", Takes::kOutput,
      "FILE", "leave a program and its options in FILE if the passes fail or crash",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.reproducer, g.value); }},
    {{"pass-pipeline-local-reproducer", "mlir-pass-pipeline-local-reproducer", Takes::kFlag, "",
      "write that file anew before every pass, with this pass only", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.local_reproducer, g.on); }},
    {{"run-reproducer", "", Takes::kFlag, "", "run the passes and options that such a file holds",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.run_reproducer, g.on); }},

    tools::Heading<Options>("Performance", "performance"),
    {{"threads", "j", Takes::kValue, "N",
      "threads for passes on functions, 1 to 1024, also as -jN (default: 1)", tools::Times::kOnce,
      true},
     [](Options& o, const Given& g) {
       return tools::ReadCount(g, 1, kMaxThreads, o.passes.threads);
     }},
    {{"timing", "mlir-timing", Takes::kFlag, "",
      "report the time of reading, every pass and writing on standard error", tools::Times::kOnce,
      true},
     [](Options& o, const Given& g) { return Set(o.passes.timing, g.on); }},
    {{"timing-json", "", Takes::kFlag, "", "report the same as JSON", tools::Times::kOnce, true},
     [](Options& o, const Given& g) {
       o.passes.timing = o.passes.timing || g.on;
       return Set(o.passes.timing_json, g.on);
     }},
    {{"pass-statistics", "mlir-pass-statistics", Takes::kFlag, "", "report the counters of passes",
      tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.passes.statistics, g.on); }},
    {{"pass-statistics-json", "", Takes::kFlag, "",
      "report the counters of passes and rules as JSON", tools::Times::kOnce, true},
     [](Options& o, const Given& g) {
       o.passes.statistics = o.passes.statistics || g.on;
       return Set(o.passes.statistics_json, g.on);
     }},

    tools::Heading<Options>("Limits", "limits"),
    tools::MaxMemoryRow<Options>(),
    tools::MaxInputRow<Options>(),
    tools::MaxTripsRow<Options>(),
    tools::MaxNestingRow<Options>(),
    tools::MaxMessageRow<Options>(),

    tools::Heading<Options>("General", "general"),
    {{"list-passes", "", Takes::kNothing, "", "list passes and pipelines with their options"},
     [](Options& o, const Given&) { return Set(o.action, Action::kListPasses); }},
    {{"list-rules", "", Takes::kOptional, "RULE",
      "list the rules, also of --rules, or show those of a name or pattern"},
     [](Options& o, const Given& g) {
       o.list_rules = std::string(g.value);
       return Set(o.action, Action::kListRules);
     }},
    {{"describe", "", Takes::kValue, "NAME",
      "show a pass, operation, rule, family, pipeline, dialect or kernel"},
     [](Options& o, const Given& g) {
       o.action = Action::kDescribe;
       return Set(o.list_rules, g.value);
     }},
    {{"list-ops", "", Takes::kNothing, "", "list the operations", tools::Times::kOnce, true},
     [](Options& o, const Given&) { return Set(o.action, Action::kListOps); }},
    {{"dump-pass-pipeline", "", Takes::kFlag, "",
      "print the pipeline with all options on standard error", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.dump_pass_pipeline, g.on); }},
    tools::QuietRow<Options>(),
    tools::HelpRow<Options>(),
    tools::VersionRow<Options>(),
};

constexpr std::span<const tools::Option<Options>> kOptions(kTable);

absl::Status Unknown(std::string_view name, const PassRegistry& registry) {
  std::vector<std::string> names = tools::NamesOf(kOptions);
  for (const auto& [pass, info] : registry.passes()) names.push_back(pass);
  for (const auto& [pipeline, row] : registry.pipelines()) names.push_back(pipeline);
  return tools::UnknownOption(name, names);
}

absl::Status RegisterPasses(const Extension* extension, PassRegistry& registry) {
  const absl::Status status = RegisterAllPasses(registry, extension);
  if (status.ok() || extension == nullptr) return status;
  // A plugin's pass has the name of another one: this names the plugin.
  Context context;
  RegisterAllDialects(context);
  TENON_RETURN_IF_ERROR(RegisterExtension(*extension, context));
  return status;
}

// The first option that is neither in the table nor a pass or pipeline.
absl::Status CheckFlags(const std::vector<std::string>& names, const PassRegistry& registry) {
  for (const std::string& name : names) {
    if (registry.Find(name) == nullptr && registry.pipelines().count(name) == 0)
      return Unknown(name, registry);
  }
  return absl::OkStatus();
}

absl::Status CheckPassNames(const std::vector<std::string>& names, const PassRegistry& registry) {
  std::vector<std::string> known;
  for (const auto& [pass, info] : registry.passes()) known.push_back(pass);
  for (const std::string& name : names) {
    if (registry.Find(name) != nullptr) continue;
    return absl::InvalidArgumentError(fmt::format(
        "there is no pass '{}' to print before or after{}", name, DidYouMean(name, known)));
  }
  return absl::OkStatus();
}

std::string_view NameOf(Action action) {
  switch (action) {
    case Action::kListPasses:
      return "list-passes";
    case Action::kListRules:
      return "list-rules";
    case Action::kListOps:
      return "list-ops";
    case Action::kDescribe:
      return "describe";
    case Action::kCheckRules:
      return "check-rules";
    case Action::kRuleAutomaton:
      return "rule-automaton";
    default:
      return "";
  }
}

// Options that decide what passes do, for reproducers. Those with paths.
constexpr std::string_view kPathsOfRuns[] = {"rules", "load-ops", "inputs"};
constexpr std::string_view kSettingsOfRuns[] = {"fast-math",        "disable-rules",
                                                "opt-bisect-limit", "allow-unregistered-dialect",
                                                "verify-semantics", "verify-each"};

bool IsOneOf(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsOfRuns(std::string_view name) {
  return IsOneOf(kPathsOfRuns, name) || IsOneOf(kSettingsOfRuns, name) || name.starts_with("max-");
}

// The arguments that decide what passes do, with absolute paths. The line has been read before.
std::vector<std::string> ArgumentsOfRun(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i].empty() || arguments[i] == "-" || arguments[i][0] != '-') continue;
    Given given = tools::SplitArgument(arguments[i]);
    const tools::Option<Options>* const option = tools::FindOption(kOptions, given.option);
    if (option == nullptr) continue;
    bool used_next = false;
    const std::string* const next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
    if (!tools::TakeValue(option->form, next, used_next, given).ok()) continue;
    i += used_next;
    const std::string_view name = option->form.name;
    if (!IsOfRuns(name)) continue;
    const bool is_path = IsOneOf(kPathsOfRuns, name);
    std::string argument = WithDashes(name);
    std::error_code error;
    if (is_path) {
      argument += "=" + std::filesystem::absolute(given.value, error).string();
    } else if (option->form.takes == Takes::kFlag) {
      argument += given.on ? "" : "=false";
    } else {
      argument += fmt::format("={}", given.value);
    }
    kept.push_back(std::move(argument));
  }
  return kept;
}

// An option that would change nothing is an error. So is what a list does not look at.
absl::Status RefuseIgnored(const Options& options, bool has_input) {
  if (const std::string_view action = NameOf(options.action); !action.empty()) {
    // These three know operations of files.
    const bool takes_ops = options.action == Action::kListOps ||
                           options.action == Action::kCheckRules ||
                           options.action == Action::kRuleAutomaton;
    if (options.action == Action::kListRules) {
      TENON_RETURN_IF_ERROR(
          tools::RefuseBeside(options.given, action, {}, {"rules", "load-ops", "load-plugin"}));
      TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, !options.rules.empty(), "load-ops",
                                                "beside --list-rules without --rules"));
    } else if (options.action == Action::kDescribe) {
      TENON_RETURN_IF_ERROR(
          tools::RefuseBeside(options.given, action, {}, {"rules", "load-ops", "load-plugin"}));
    } else {
      TENON_RETURN_IF_ERROR(
          takes_ops ? tools::RefuseBeside(options.given, action, {}, {"load-ops", "load-plugin"})
                    : tools::RefuseBeside(options.given, action, {}, {"load-plugin"}));
    }
    const std::string other =
        has_input ? fmt::format("'{}'", options.input)
        : options.steps.empty()
            ? ""
            : WithDashes(options.steps[0].pass.empty() ? "pass-pipeline" : options.steps[0].pass);
    if (other.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{} has no effect beside {}", other, WithDashes(action)));
  }
  const PassManagerOptions& passes = options.passes;
  const bool prints = passes.print_before_all || passes.print_after_all ||
                      passes.print_after_change || passes.print_after_failure ||
                      passes.print_diff || !passes.print_before.empty() ||
                      !passes.print_after.empty();
  for (const std::string_view name :
       {"timing", "timing-json", "pass-statistics", "pass-statistics-json", "print-ir-before-all",
        "print-ir-after-all", "print-ir-after-change", "print-ir-after-failure", "print-ir-before",
        "print-ir-after", "print-ir-diff", "opt-bisect-limit", "disable-rules", "threads", "trace",
        "verify-semantics", "explain", "fusion-report", "pass-pipeline-crash-reproducer"}) {
    TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, !options.steps.empty(), name,
                                              "without passes (expected some, like -O2)"));
  }
  for (const std::string_view name : {"print-ir-tree-dir", "print-ir-module-scope"}) {
    TENON_RETURN_IF_ERROR(tools::RefuseUnless(
        options.given, prints, name, "where no IR is printed (expected --print-ir-after-change)"));
  }
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, !options.split_input_file,
                                            "print-ir-tree-dir", "beside --split-input-file"));
  for (const std::string_view name : {"pass-pipeline-crash-reproducer", "run-reproducer"}) {
    TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, !options.split_input_file, name,
                                              "beside --split-input-file"));
  }
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, !options.reproducer.empty(),
                                            "pass-pipeline-local-reproducer",
                                            "without --pass-pipeline-crash-reproducer"));
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(
      options.given, !options.given.contains("opt-bisect-limit"), "pass-pipeline-local-reproducer",
      "beside --opt-bisect-limit, which counts the steps of all passes"));
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, !options.split_input_file, "view",
                                            "beside --split-input-file"));
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(options.given, !options.view.empty(), "view-profile", "without --view"));
  for (const std::string_view name : {"print-generic", "print-locations", "elide-resources"}) {
    const bool writes_text = options.WritesIr() && !options.WritesOnnx() && !options.WritesBinary();
    TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, writes_text || prints, name,
                                              "where no IR is printed (expected -o FILE)"));
  }
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(
      options.given, options.WritesIr() && !options.WritesOnnx() && !options.split_input_file,
      "save-params", "where no IR of one input is written (expected -o FILE)"));
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(options.given, options.inspect, "json", "without --inspect"));
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(options.given, !options.inspect, "split-input-file", "beside --inspect"));
  for (const std::string_view name : {"onnx-opset", "onnx-ops", "external-data-out"}) {
    TENON_RETURN_IF_ERROR(
        tools::RefuseUnless(options.given, options.WritesOnnx(), name,
                            "where no ONNX model is written (expected -o FILE.onnx)"));
  }
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(options.given, !options.WritesOnnx(), "split-input-file",
                          "where an ONNX model is written (expected -o FILE.mlir)"));
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(options.given, !options.WritesBinary(), "split-input-file",
                          "where a binary module is written (expected -o FILE.mlir)"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments,
                                         PassRegistry& registry) {
  Options options;
  bool has_input = false;
  std::vector<std::string> passes;  // in order: plugins, which may stand behind, bring some
  const auto input = [&](Options& o, const std::string& argument) {
    if (has_input) {
      return absl::InvalidArgumentError(
          fmt::format("a second input '{}' (the first is '{}')", argument, o.input));
    }
    has_input = true;
    return Set(o.input, argument);
  };
  const auto pass = [&](Options& o, const Given& given) {
    passes.push_back(given.option);
    if (given.has_value && given.value.empty())
      return absl::InvalidArgumentError(
          fmt::format("{}= needs a value (its options)", WithDashes(given.option)));
    o.steps.push_back({given.option, std::string(given.value)});
    return absl::OkStatus();
  };
  const absl::Status read = tools::ReadCommandLine(kOptions, arguments, options, input, pass);
  if (read.ok()) TENON_RETURN_IF_ERROR(tools::MakeExtension(options.added));
  TENON_RETURN_IF_ERROR(RegisterPasses(options.added.extension.get(), registry));
  TENON_RETURN_IF_ERROR(CheckFlags(passes, registry));
  TENON_RETURN_IF_ERROR(read);
  TENON_RETURN_IF_ERROR(CheckPassNames(options.passes.print_before, registry));
  TENON_RETURN_IF_ERROR(CheckPassNames(options.passes.print_after, registry));
  if (options.action == Action::kHelp || options.action == Action::kVersion) return options;
  if (options.action == Action::kCheckRules && has_input) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' beside --check-rules (expected --check-rules={})", options.input, options.input));
  }
  if (!options.inputs.empty()) {
    if (!options.verify_semantics)
      return absl::InvalidArgumentError("--inputs goes with --verify-semantics");
    std::error_code error;
    if (!std::filesystem::is_directory(options.inputs, error))
      return absl::InvalidArgumentError(
          fmt::format("--inputs: {} is not a folder", options.inputs));
  }
  options.run_arguments = ArgumentsOfRun(arguments);
  if (options.run_reproducer && options.action == Action::kRun) {
    if (!has_input || options.input == "-") {
      return absl::InvalidArgumentError(
          "--run-reproducer reads a file twice (expected ir-opt FILE --run-reproducer)");
    }
    if (options.steps.empty()) return options;  // the passes are in the file
  }
  TENON_RETURN_IF_ERROR(RefuseIgnored(options, has_input));
  options.passes.print = options.print;
  options.passes.print.elide_resources = true;
  return options;
}

absl::StatusOr<std::vector<std::string>> ArgumentsOfFile(const std::string& file,
                                                         const std::vector<std::string>& held,
                                                         const Options& line) {
  const auto refused = [&](std::string_view argument, std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the file holds '{}', {}", ShownName(file), ShownName(argument), why));
  };
  std::vector<std::string> kept;
  for (const std::string& argument : held) {
    const bool dashes = argument.size() > 1 && argument[0] == '-';
    Given given = dashes ? tools::SplitArgument(argument) : Given();
    const tools::Option<Options>* const option =
        dashes ? tools::FindOption(kOptions, given.option) : nullptr;
    const std::string_view name = option == nullptr ? "" : option->form.name;
    if (!IsOfRuns(name) && name != "pass-pipeline") {
      return refused(argument,
                     "and no reproducer does (expected options that decide what passes do; other "
                     "options stand on the command line)");
    }
    bool used_next = false;
    TENON_RETURN_IF_ERROR(tools::TakeValue(option->form, nullptr, used_next, given));
    if (name.starts_with("max-")) {
      if (line.given.contains(name)) continue;  // the line decides
      Options limits;
      TENON_RETURN_IF_ERROR(option->apply(limits, given));
      if (tools::IsLaxer(limits.limits)) {
        return refused(argument, fmt::format("which is laxer than the default (expected {} on the "
                                             "command line, if the file is trusted)",
                                             WithDashes(name)));
      }
    }
    kept.push_back(argument);
  }
  return kept;
}

absl::Status BuildPipeline(const Options& options, PassManager& manager) {
  for (const PipelineStep& step : options.steps) {
    const bool level = options.WritesOnnx() && step.pass.size() == 2 && step.pass[0] == 'O';
    const std::string pass = level ? "onnx-" + step.pass : step.pass;
    TENON_RETURN_IF_ERROR(pass.empty() ? manager.AddPipeline(step.text)
                                       : manager.AddPass(pass, step.text));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> HelpText(std::string_view form, const PassRegistry& registry) {
  const tools::HelpParts parts = {
      .program = "ir-opt",
      .usage = "ir-opt INPUT [-o FILE] [options] [passes]",
      .intro =
          R"(Reads a program, runs passes on it in the order of the command line, and writes the result.
INPUT is an ONNX file, IR text or a binary module. "-" is standard input.
Each pass is a flag, such as --cse or --constant-fold='max-bytes=1024'.
--list-passes lists the passes, their options and the pipelines.
)",
      .statuses = R"(  0  done
  1  a pass or a comparison failed, or a rule is wrong
  2  the command line or a file is wrong, a limit is exceeded, or an output cannot be written
  3  the program uses an operation that Tenon does not support
)",
      .examples = R"(  ir-opt model.onnx -O2 --elide-resources -o model.mlir
  ir-opt model.onnx -O2 --explain=gelu           # where the rules for GELU fired
  ir-opt model.onnx -O2 --lower -o lowered.mlir  # kernels and memory plan
  ir-opt model.onnx --simplify -o simple.onnx    # a smaller ONNX model
  ir-opt model.onnx --inspect --shape=batch=1    # sizes, FLOPs, unsupported operators
)",
      .guides =
          R"(  docs/guide/optimize-with-ir-opt.md, docs/guide/debug-passes.md, docs/guide/debug-a-rewrite.md
)",
  };
  std::vector<tools::OptionForm> passes;
  const auto add = [&](std::string_view name, std::string_view summary, bool has_options) {
    passes.push_back({.name = name,
                      .alias = {},
                      .takes = has_options ? Takes::kOptional : Takes::kNothing,
                      .value_name = "OPTIONS",
                      .help = summary,
                      .times = tools::Times::kAny});
  };
  for (const auto& [name, pass] : registry.passes()) add(name, pass.summary, !pass.options.empty());
  for (const auto& [name, row] : registry.pipelines()) {
    if (!name.starts_with("O")) add(name, row.summary, false);
  }
  return tools::HelpIn(form, parts, tools::FormsOf(kOptions), passes);
}

}  // namespace tenon::ir_opt
