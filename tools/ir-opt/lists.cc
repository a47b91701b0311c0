#include "tools/ir-opt/lists.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "drr/automaton/automaton.h"
#include "drr/check/check.h"
#include "drr/compile/compiled.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/rules/explain.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "patterns/families.h"
#include "tools/command_line/option_table.h"
#include "transforms/rules/rule_cache.h"

namespace tenon::ir_opt {

namespace {

absl::Status RegisterAll(const Extension* extension, Context& context) {
  RegisterAllDialects(context);
  return extension == nullptr ? absl::OkStatus() : RegisterExtension(*extension, context);
}

// The rules of a plugin.
pattern::RuleSet RulesOf(const LoadedPlugin& plugin, const Extension& extension) {
  const auto begin = extension.rules.begin() + static_cast<ptrdiff_t>(plugin.rules.begin);
  return {begin, begin + static_cast<ptrdiff_t>(plugin.rules.count)};
}

}  // namespace

absl::StatusOr<std::string> OpListText(const Extension* extension) {
  Context context;
  TENON_RETURN_IF_ERROR(RegisterAll(extension, context));
  std::string text;
  for (const std::string& dialect : context.DialectNames()) {
    for (const OpInfo* info : context.OpsOf(dialect)) {
      text += fmt::format("{:<24}  {}\n", info->name(), info->def().summary);
    }
  }
  return text;
}

namespace {

// Rules that belong together: a family, or those of one file.
struct RuleGroup {
  std::string name;   // "norm", or that of a plugin; of a file, none
  std::string title;  // "norm (fuse)"
  std::string summary;
  pattern::RuleSet rules;
  bool built_in = true;
};

// The built-in rules, then those of the plugins and of the files in order. `context` must know all
// operations.
absl::StatusOr<std::vector<RuleGroup>> RuleGroups(const std::vector<std::string>& files,
                                                  const Extension* extension, Context& context) {
  std::vector<RuleGroup> groups;
  for (const pattern::Family& family : pattern::Families()) {
    const bool asked = family.when == pattern::Family::When::kOnRequest;
    groups.push_back({std::string(family.name), fmt::format("{} ({})", family.name, family.phase),
                      fmt::format("{}{}", family.summary, asked ? "; on request" : ""),
                      pattern::RulesOf(family)});
  }
  pattern::RuleSet given;
  if (extension != nullptr) {
    given = extension->rules;
    for (const LoadedPlugin& plugin : extension->plugins) {
      if (plugin.rules.count == 0) continue;
      groups.push_back({plugin.name, plugin.name, "rules of the plugin " + plugin.file,
                        RulesOf(plugin, *extension), /*built_in=*/false});
    }
  }
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(pattern::RuleSet rules, ReadRules(file, context));
    given.insert(given.end(), rules.begin(), rules.end());
    groups.push_back({"", file, "rules of a file", std::move(rules), /*built_in=*/false});
  }
  TENON_RETURN_IF_ERROR(CheckRuleNames(given));
  return groups;
}

// The rule after a comment with where it belongs.
std::string TextOf(const RuleGroup& group, const drr::Rule& rule) {
  return fmt::format("// {}, {}\n{}", group.title, rule.place(), drr::ToString(rule));
}

}  // namespace

absl::Status DescribeRules(const std::string& name, const std::vector<std::string>& files,
                           const Extension* extension, Context& context,
                           std::vector<std::string>& known, std::vector<std::string>& found) {
  TENON_ASSIGN_OR_RETURN(const std::vector<RuleGroup> groups,
                         RuleGroups(files, extension, context));
  for (const RuleGroup& group : groups) {
    if (!group.name.empty()) known.push_back(group.name);
    if (group.name == name) {
      std::string text = fmt::format("{}: family of {} rules\n  {}\n  Rules:\n", group.title,
                                     group.rules.size(), group.summary);
      for (const drr::Rule& rule : group.rules)
        text += fmt::format("    {:<36}  {}\n", rule.name(), rule.summary());
      found.push_back(std::move(text));
    }
    for (const drr::Rule& rule : group.rules) {
      known.push_back(rule.name());
      if (rule.name() == name)
        found.push_back(drr::DeclarationsFor({&rule, 1}, context) + TextOf(group, rule));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RuleListText(const std::vector<std::string>& files,
                                         const Extension* extension) {
  Context context;
  TENON_RETURN_IF_ERROR(RegisterAll(extension, context));
  TENON_ASSIGN_OR_RETURN(const std::vector<RuleGroup> groups,
                         RuleGroups(files, extension, context));
  std::string text;
  for (const RuleGroup& group : groups) {
    // Tests check the built-in ones against each other, which takes most of a second.
    if (!group.built_in)
      TENON_RETURN_IF_ERROR(drr::CompiledRules::Create(group.rules, context).status());
    text += fmt::format("{}: {}\n", group.title, group.summary);
    for (const drr::Rule& rule : group.rules) {
      const std::string assumptions = rule.assumptions();
      text += fmt::format("  {:<36}  {}{}  [{}]\n", rule.name(), rule.summary(),
                          assumptions.empty() ? "" : " (" + assumptions + " without a proof)",
                          rule.place());
    }
  }
  return text;
}

absl::StatusOr<std::string> OpaqueRuleText(const std::vector<std::string>& files,
                                           const Extension* extension) {
  Context context;
  TENON_RETURN_IF_ERROR(RegisterAll(extension, context));
  TENON_ASSIGN_OR_RETURN(const std::vector<RuleGroup> groups,
                         RuleGroups(files, extension, context));
  std::string text;
  size_t opaque = 0, all = 0;
  for (const RuleGroup& group : groups) {
    for (const drr::Rule& rule : group.rules) {
      ++all;
      const std::vector<std::string> reasons = rule.OpaqueReasons();
      if (reasons.empty()) continue;
      ++opaque;
      text +=
          fmt::format("{:<36}  {}  [{}]\n", rule.name(), fmt::join(reasons, "; "), rule.place());
    }
  }
  return text + fmt::format("{} of {} rules have parts that only C++ says\n", opaque, all);
}

absl::StatusOr<std::string> RuleTexts(const std::string& what,
                                      const std::vector<std::string>& files,
                                      const Extension* extension) {
  Context context;
  TENON_RETURN_IF_ERROR(RegisterAll(extension, context));
  TENON_ASSIGN_OR_RETURN(const std::vector<RuleGroup> groups,
                         RuleGroups(files, extension, context));
  std::vector<std::string> names;
  for (const RuleGroup& group : groups) {
    for (const drr::Rule& rule : group.rules) names.push_back(rule.name());
  }
  TENON_ASSIGN_OR_RETURN(const ExplainQuery query, ParseExplainQuery(what, names));
  std::string text;
  pattern::RuleSet told;
  for (const RuleGroup& group : groups) {
    for (const drr::Rule& rule : group.rules) {
      if (!query.rules.contains(rule.name())) continue;
      text += (text.empty() ? "" : "\n") + TextOf(group, rule);
      told.push_back(rule);
    }
  }
  if (const std::string ops = drr::DeclarationsFor(told, context); !ops.empty())
    text = ops + "\n" + text;
  if (!query.node.empty() || text.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "--list-rules is '{}' (expected a rule, a family, the start of names or a pattern)", what));
  }
  return text;
}

absl::StatusOr<std::string> RuleAutomata(const std::string& name, const Extension* extension) {
  Context context;
  TENON_RETURN_IF_ERROR(RegisterAll(extension, context));
  pattern::RuleSet rules;
  std::vector<std::string> known;
  for (const pattern::Family& family : pattern::Families()) {
    known.emplace_back(family.name);
    if (family.name == name) rules = pattern::RulesOf(family);
  }
  if (extension != nullptr) {
    for (const LoadedPlugin& plugin : extension->plugins) {
      known.push_back(plugin.name);
      if (plugin.name == name) rules = RulesOf(plugin, *extension);
    }
  }
  if (name.ends_with(".drr")) {
    TENON_ASSIGN_OR_RETURN(rules, ReadRules(name, context));
  } else if (rules.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("--rule-automaton: there is no family '{}' (expected FILE.drr or one of {})",
                    name, absl::StrJoin(known, ", ")));
  }
  TENON_ASSIGN_OR_RETURN(
      const drr::CompiledRules compiled,
      drr::CompiledRules::Create(std::move(rules), context, drr::CompiledRules::Together::kKnown));
  std::string text;
  for (const std::string& dialect : context.DialectNames()) {
    for (const OpInfo* info : context.OpsOf(dialect)) {
      const drr::Automaton* automaton = compiled.AutomatonAt(info->id());
      if (automaton == nullptr) continue;
      text += automaton->ToDot(context, compiled.list());
    }
  }
  return text;
}

absl::StatusOr<RuleCheckOutcome> CheckRules(const std::vector<std::string>& files,
                                            const Extension* extension) {
  Context context;
  TENON_RETURN_IF_ERROR(RegisterAll(extension, context));
  pattern::RuleSet rules;
  if (extension != nullptr) rules = extension->rules;
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(const pattern::RuleSet read, ReadRules(file, context));
    rules.insert(rules.end(), read.begin(), read.end());
  }
  TENON_RETURN_IF_ERROR(CheckRuleNames(rules));
  // A mistake in the text is none of what a rule computes.
  for (const drr::Rule& rule : rules)
    TENON_RETURN_IF_ERROR(drr::CompileRule(rule, context).status());
  const bool built_in = rules.empty() && files.empty();
  if (built_in) rules = pattern::AllRules();
  ReferenceEvaluator evaluator(extension == nullptr ? MakeKernelRegistry()
                                                    : MakeKernelRegistry(extension->kernels));
  RuleCheckOutcome outcome;
  int unchecked = 0, without_kernel = 0;
  for (const drr::Rule& rule : rules) {
    // A context keeps the types and constants of all programs that were made in it. The built-in
    // rules hold nothing of one, so each has its own.
    std::optional<Context> own;
    if (built_in) RegisterAllDialects(own.emplace());
    const drr::CheckReport report = drr::CheckRule(rule, own ? *own : context, evaluator);
    using Verdict = drr::CheckReport::Verdict;
    const bool is_unchecked = report.verdict == Verdict::kUnchecked;
    for (const std::string& failure : report.failures) {
      outcome.text += fmt::format("{} ({}): {}{}\n", rule.name(), rule.place(),
                                  is_unchecked ? "not checked: " : "wrong: ", failure);
    }
    outcome.wrong += !report.ok() && !is_unchecked ? 1 : 0;
    (report.no_kernel ? without_kernel : unchecked) += is_unchecked ? 1 : 0;
  }
  // Rules against each other, where each is one by itself. The built-in ones meet in their
  // families.
  if (!built_in && outcome.wrong == 0) {
    const absl::Status status = drr::CompiledRules::Create(rules, context).status();
    if (!status.ok()) outcome.text += std::string(status.message()) + "\n";
    outcome.wrong += status.ok() ? 0 : 1;
  }
  outcome.text +=
      fmt::format("{} {} checked: {} wrong, {} undecided (too few programs match)", rules.size(),
                  rules.size() == 1 ? "rule" : "rules", outcome.wrong, unchecked);
  if (without_kernel > 0)
    outcome.text += fmt::format(", {} not run (no reference kernel)", without_kernel);
  outcome.text += "\n";
  outcome.wrong += unchecked + without_kernel;
  return outcome;
}

namespace {

std::string_view ShortName(PassOption::Type type) {
  switch (type) {
    case PassOption::Type::kBool:
      return "bool";
    case PassOption::Type::kInt:
      return "int";
    case PassOption::Type::kCount:
      return "count";
    case PassOption::Type::kString:
      return "text";
    case PassOption::Type::kStringList:
      return "list";
  }
  return "";
}

}  // namespace

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
      line(6, fmt::format("{}=<{}>", option.name, ShortName(option.type)),
           fmt::format("{}{}", option.help,
                       option.default_text.empty()
                           ? ""
                           : fmt::format(" (default: {})", option.default_text)));
    }
  }
  text += "\nPipelines:\n";
  for (const auto& [name, pipeline] : registry.pipelines()) {
    line(2, tools::WithDashes(name), pipeline.summary);
    text += fmt::format("      = {}\n", pipeline.text);
  }
  return text;
}

}  // namespace tenon::ir_opt
