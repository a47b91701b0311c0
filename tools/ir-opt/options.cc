#include "tools/ir-opt/options.h"

#include <charconv>
#include <functional>

#include "fmt/format.h"
#include "ir/core/suggest.h"

namespace tenon::ir_opt {
namespace {

// kFlag: nothing, or =true / =false; kOptional: nothing, or =VALUE
enum class Takes : uint8_t { kNothing, kValue, kFlag, kOptional };

struct Flag {
  const char* name;
  const char* alias;  // what mlir-opt calls it; may be null
  Takes takes;
  const char* value_name;
  const char* help;
  void (*apply)(Options& options, std::string_view value, bool on);
};

void AddNames(std::string_view list, std::vector<std::string>& names) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
}

using Action = Options::Action;

constexpr Flag kFlags[] = {
    {"o", nullptr, Takes::kValue, "FILE", "write the result there ('-': standard output)",
     [](Options& o, std::string_view v, bool) { o.output = v == "-" ? "" : std::string(v); }},
    {"pass-pipeline", nullptr, Takes::kValue, "TEXT",
     "run this pipeline: 'builtin.module(a,func.func(b,c{option=value}))'",
     [](Options& o, std::string_view v, bool) {
       o.steps.push_back({"", std::string(v)});
     }},
    {"verify-each", nullptr, Takes::kFlag, "",
     "verify after every pass that changed something (default: on)",
     [](Options& o, std::string_view, bool on) { o.passes.verify_each = on; }},
    {"timing", "mlir-timing", Takes::kFlag, "", "report the time of every pass on standard error",
     [](Options& o, std::string_view, bool on) { o.passes.timing = on; }},
    {"timing-json", nullptr, Takes::kFlag, "", "the same as JSON",
     [](Options& o, std::string_view, bool on) { o.passes.timing = o.passes.timing_json = on; }},
    {"pass-statistics", "mlir-pass-statistics", Takes::kFlag, "", "report what passes counted",
     [](Options& o, std::string_view, bool on) { o.passes.statistics = on; }},
    {"print-ir-before-all", "mlir-print-ir-before-all", Takes::kFlag, "",
     "print the IR before every pass",
     [](Options& o, std::string_view, bool on) { o.passes.print_before_all = on; }},
    {"print-ir-after-all", "mlir-print-ir-after-all", Takes::kFlag, "",
     "print the IR after every pass",
     [](Options& o, std::string_view, bool on) { o.passes.print_after_all = on; }},
    {"print-ir-after-change", "mlir-print-ir-after-change", Takes::kFlag, "",
     "print the IR after every pass that changed it",
     [](Options& o, std::string_view, bool on) { o.passes.print_after_change = on; }},
    {"print-ir-after-failure", "mlir-print-ir-after-failure", Takes::kFlag, "",
     "print the IR after a pass that failed",
     [](Options& o, std::string_view, bool on) { o.passes.print_after_failure = on; }},
    {"print-ir-before", "mlir-print-ir-before", Takes::kValue, "PASSES",
     "print the IR before these passes",
     [](Options& o, std::string_view v, bool) { AddNames(v, o.passes.print_before); }},
    {"print-ir-after", "mlir-print-ir-after", Takes::kValue, "PASSES",
     "print the IR after these passes",
     [](Options& o, std::string_view v, bool) { AddNames(v, o.passes.print_after); }},
    {"print-generic", "mlir-print-op-generic", Takes::kFlag, "",
     "print op names in quotes, as mlir-opt --allow-unregistered-dialect reads them",
     [](Options& o, std::string_view, bool on) { o.print.generic = on; }},
    {"print-locations", "mlir-print-debuginfo", Takes::kFlag, "",
     "print where operations came from",
     [](Options& o, std::string_view, bool on) { o.print.locations = on; }},
    {"elide-resources", nullptr, Takes::kFlag, "", "leave out the bytes of large constants",
     [](Options& o, std::string_view, bool on) { o.print.elide_resources = on; }},
    {"allow-unregistered-dialect", nullptr, Takes::kFlag, "",
     "accept operations of unknown dialects",
     [](Options& o, std::string_view, bool on) { o.allow_unregistered_dialect = on; }},
    {"split-input-file", nullptr, Takes::kFlag, "",
     "treat the parts between lines '// -----' as inputs of their own",
     [](Options& o, std::string_view, bool on) { o.split_input_file = on; }},
    {"verify-diagnostics", nullptr, Takes::kFlag, "",
     "compare diagnostics with comments like '// expected-error@+1 {{text}}'",
     [](Options& o, std::string_view, bool on) { o.verify_diagnostics = on; }},
    {"explain", nullptr, Takes::kValue, "RULE[@NODE]",
     "say where a rule, or a family of rules, fired, where it nearly did and what stopped it (the "
     "IR only with -o)",
     [](Options& o, std::string_view v, bool) { o.explain = std::string(v); }},
    {"fusion-report", nullptr, Takes::kValue, "FILE",
     "write the same of all rules there (JSON if it ends in .json)",
     [](Options& o, std::string_view v, bool) { o.fusion_report = std::string(v); }},
    {"rules", nullptr, Takes::kValue, "FILE",
     "fuse with the rules of this file first (docs/writing-a-rule.md says how they are written)",
     [](Options& o, std::string_view v, bool) { o.rules.emplace_back(v); }},
    {"verify-semantics", nullptr, Takes::kFlag, "",
     "run each function on sampled inputs before and after every pass; name the pass and the rule "
     "that changed a result",
     [](Options& o, std::string_view, bool on) { o.verify_semantics = on; }},
    {"inputs", nullptr, Takes::kValue, "DIR",
     "with --verify-semantics: use the input_N.pb or input_N.npy of this folder",
     [](Options& o, std::string_view v, bool) { o.inputs = std::string(v); }},
    {"opt-bisect-limit", nullptr, Takes::kValue, "N",
     "make only the first N rewrites and folds of the rule passes, and name the last",
     [](Options& o, std::string_view v, bool) {
       const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), o.bisect_limit);
       if (error != std::errc() || end != v.data() + v.size() || o.bisect_limit < 0)
         o.wrong =
             fmt::format("option '--opt-bisect-limit' has the value '{}' (expected a number)", v);
     }},
    {"check-rules", nullptr, Takes::kOptional, "FILE",
     "check the rules of this file, or the built-in ones, by executing both of their sides",
     [](Options& o, std::string_view v, bool) {
       o.action = Action::kCheckRules;
       o.check_rules = std::string(v);
     }},
    {"dump-pass-pipeline", nullptr, Takes::kFlag, "",
     "print the pipeline with all options on standard error",
     [](Options& o, std::string_view, bool on) { o.dump_pass_pipeline = on; }},
    {"list-passes", nullptr, Takes::kNothing, "", "list passes and pipelines with their options",
     [](Options& o, std::string_view, bool) { o.action = Action::kListPasses; }},
    {"list-rules", nullptr, Takes::kNothing, "", "list rewrite rules",
     [](Options& o, std::string_view, bool) { o.action = Action::kListRules; }},
    {"list-ops", nullptr, Takes::kNothing, "", "list operations",
     [](Options& o, std::string_view, bool) { o.action = Action::kListOps; }},
    {"version", nullptr, Takes::kNothing, "", "print the version",
     [](Options& o, std::string_view, bool) { o.action = Action::kVersion; }},
    {"help", "h", Takes::kNothing, "", "print this text",
     [](Options& o, std::string_view, bool) { o.action = Action::kHelp; }},
};

const Flag* FindFlag(std::string_view name) {
  for (const Flag& flag : kFlags) {
    if (name == flag.name || (flag.alias != nullptr && name == flag.alias)) return &flag;
  }
  return nullptr;
}

// "-O2" and "-o", "--cse".
std::string WithDashes(std::string_view name) {
  const bool level = name.size() == 2 && name[0] == 'O';
  return fmt::format("{}{}", name.size() == 1 || level ? "-" : "--", name);
}

absl::Status Unknown(std::string_view name, const PassRegistry& registry) {
  std::vector<std::string> names;
  for (const Flag& flag : kFlags) names.push_back(flag.name);
  for (const auto& [pass, info] : registry.passes()) names.push_back(pass);
  for (const auto& [pipeline, row] : registry.pipelines()) names.push_back(pipeline);
  const std::string_view nearest = Nearest(name, names);
  return absl::InvalidArgumentError(
      nearest.empty() ? fmt::format("unknown option '{}' (--help lists all)", WithDashes(name))
                      : fmt::format("unknown option '{}'; did you mean '{}'?", WithDashes(name),
                                    WithDashes(nearest)));
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

// Applies one of kFlags; `next` is the following argument or null, and `used_next` says that it was
// the value.
absl::Status Apply(const Flag& flag, bool has_value, std::string_view value,
                   const std::string* next, bool& used_next, Options& options) {
  if (flag.takes == Takes::kValue && !has_value) {
    if (next == nullptr) {
      return absl::InvalidArgumentError(fmt::format("option '{}{}' needs a value ({})",
                                                    flag.name[1] == '\0' ? "-" : "--", flag.name,
                                                    flag.value_name));
    }
    value = *next;
    used_next = true;
  }
  if (flag.takes == Takes::kNothing && has_value) {
    return absl::InvalidArgumentError(fmt::format("option '--{}' takes no value", flag.name));
  }
  bool on = true;
  if (flag.takes == Takes::kFlag && has_value) {
    on = value == "true" || value == "1";
    if (!on && value != "false" && value != "0") {
      return absl::InvalidArgumentError(fmt::format(
          "option '--{}' has the value '{}' (expected true or false)", flag.name, value));
    }
  }
  flag.apply(options, value, on);
  return options.wrong.empty() ? absl::OkStatus() : absl::InvalidArgumentError(options.wrong);
}

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments,
                                         const PassRegistry& registry) {
  Options options;
  bool has_input = false, only_inputs = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--") {
      only_inputs = true;
      continue;
    }
    if (only_inputs || argument == "-" || argument.empty() || argument[0] != '-') {
      if (has_input) {
        return absl::InvalidArgumentError(
            fmt::format("a second input '{}' (the first is '{}')", argument, options.input));
      }
      options.input = std::string(argument);
      has_input = true;
      continue;
    }
    argument.remove_prefix(argument.size() > 1 && argument[1] == '-' ? 2 : 1);
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    const std::string_view value = has_value ? argument.substr(equals + 1) : std::string_view();
    if (const Flag* flag = FindFlag(name)) {
      bool used_next = false;
      const std::string* next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
      TENON_RETURN_IF_ERROR(Apply(*flag, has_value, value, next, used_next, options));
      i += used_next;
    } else if (registry.Find(name) != nullptr || registry.pipelines().count(name) != 0) {
      options.steps.push_back({std::string(name), std::string(value)});
    } else {
      return Unknown(name, registry);
    }
  }
  TENON_RETURN_IF_ERROR(CheckPassNames(options.passes.print_before, registry));
  TENON_RETURN_IF_ERROR(CheckPassNames(options.passes.print_after, registry));
  options.passes.print = options.print;
  options.passes.print.elide_resources = true;
  return options;
}

absl::Status BuildPipeline(const Options& options, PassManager& manager) {
  for (const PipelineStep& step : options.steps) {
    TENON_RETURN_IF_ERROR(step.pass.empty() ? manager.AddPipeline(step.text)
                                            : manager.AddPass(step.pass, step.text));
  }
  return absl::OkStatus();
}

std::string PassListText(const PassRegistry& registry) {
  constexpr size_t kColumn = 34;
  std::string text = "Passes:\n";
  const auto line = [&](size_t indent, const std::string& name, std::string_view help) {
    text += std::string(indent, ' ') + name;
    const size_t used = indent + name.size();
    text +=
        (used + 2 <= kColumn ? std::string(kColumn - used, ' ') : "\n" + std::string(kColumn, ' '));
    text += fmt::format("{}\n", help);
  };
  for (const auto& [name, info] : registry.passes()) {
    line(2, "--" + name, info.summary);
    for (const PassOption& option : info.options) {
      constexpr const char* kTypes[] = {"bool", "int", "text", "list"};
      line(6, fmt::format("{}=<{}>", option.name, kTypes[static_cast<int>(option.type)]),
           fmt::format("{}{}", option.help,
                       option.default_text.empty()
                           ? ""
                           : fmt::format(" (default: {})", option.default_text)));
    }
  }
  text += "\nPipelines:\n";
  for (const auto& [name, pipeline] : registry.pipelines()) {
    line(2, WithDashes(name), pipeline.summary);
    text += fmt::format("      = {}\n", pipeline.text);
  }
  return text;
}

std::string HelpText(const PassRegistry& registry) {
  std::string text =
      "Usage: ir-opt INPUT [-o FILE] [options] [passes]\n\n"
      "Reads a program (IR text or ONNX; '-': standard input), runs passes on it in the order of "
      "the command line, and\n"
      "writes IR text. A pass is a flag, its options the flag's value: "
      "--constant-fold='max-bytes=1024'.\n"
      "Exit status: 0 done, 1 a pass or a comparison failed, 2 wrong usage or input, "
      "3 an operation is not supported.\n\nOptions:\n";
  for (const Flag& flag : kFlags) {
    std::string left = fmt::format("  {}{}{}{}", WithDashes(flag.name),
                                   flag.takes == Takes::kValue      ? "="
                                   : flag.takes == Takes::kOptional ? "[="
                                                                    : "",
                                   flag.value_name, flag.takes == Takes::kOptional ? "]" : "");
    text += fmt::format("{:<32}  {}{}\n", left, flag.help,
                        flag.alias != nullptr && std::string_view(flag.alias) != "h"
                            ? fmt::format(" [--{}]", flag.alias)
                            : "");
  }
  return text + "\n" + PassListText(registry);
}

}  // namespace tenon::ir_opt
