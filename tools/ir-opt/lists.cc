#include "tools/ir-opt/lists.h"

#include <map>
#include <string>
#include <vector>

#include "drr/check.h"
#include "drr/compiled.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "ir/core/check.h"
#include "ir/core/context.h"
#include "ir/dialect/dialects.h"
#include "patterns/families.h"
#include "transforms/rule_phase.h"

namespace tenon::ir_opt {

std::string OpListText() {
  Context context;
  RegisterAllDialects(context);
  std::string text;
  for (const std::string& dialect : context.DialectNames()) {
    for (const OpInfo* info : context.OpsOf(dialect)) {
      text += fmt::format("{:<24}  {}\n", info->name(), info->def().summary);
    }
  }
  return text;
}

absl::StatusOr<std::string> RuleListText() {
  Context context;
  RegisterAllDialects(context);
  std::string text;
  for (const pattern::Family& family : pattern::Families()) {
    const pattern::RuleSet rules = pattern::RulesOf(family);
    TENON_RETURN_IF_ERROR(drr::CompiledRules::Create(rules, context).status());
    text += fmt::format("{} ({}): {}\n", family.name, family.phase, family.summary);
    for (const drr::Rule& rule : rules)
      text += fmt::format("  {:<36}  {}  [{}]\n", rule.name(), rule.summary(), rule.place());
  }
  return text;
}

absl::StatusOr<std::vector<std::string>> RuleNames(const std::vector<std::string>& files) {
  Context context;
  RegisterAllDialects(context);
  std::vector<std::string> names;
  if (files.empty()) return names;
  // Reports and --explain tell rules by their names.
  std::map<std::string, std::string> places;
  for (const drr::Rule& rule : pattern::AllRules()) places.emplace(rule.name(), rule.place());
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> rules, ReadRules(file, context));
    for (const drr::Rule& rule : rules) {
      if (places.contains(rule.name())) {
        return absl::InvalidArgumentError(
            fmt::format("{}: rule '{}' has the name of the rule in {}", rule.place(), rule.name(),
                        places[rule.name()]));
      }
      names.push_back(rule.name());
    }
    for (const drr::Rule& rule : rules) places.emplace(rule.name(), rule.place());
    TENON_RETURN_IF_ERROR(drr::CompiledRules::Create(std::move(rules), context).status());
  }
  return names;
}

absl::StatusOr<RuleCheckOutcome> CheckRules(const std::string& file) {
  Context context;
  RegisterAllDialects(context);
  pattern::RuleSet rules = pattern::AllRules();
  if (!file.empty()) {
    TENON_ASSIGN_OR_RETURN(rules, ReadRules(file, context));
  }
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  RuleCheckOutcome outcome;
  int unchecked = 0;
  for (const drr::Rule& rule : rules) {
    const absl::StatusOr<drr::CheckReport> report = drr::CheckRule(rule, context, evaluator);
    if (!report.ok()) {
      ++outcome.wrong;
      outcome.text += fmt::format("{}: {}\n", rule.name(), std::string(report.status().message()));
      continue;
    }
    for (const std::string& failure : report->failures) {
      outcome.text += fmt::format("{} ({}): {}{}\n", rule.name(), rule.place(),
                                  report->wrong ? "wrong: " : "not checked: ", failure);
    }
    outcome.wrong += report->wrong ? 1 : 0;
    unchecked += !report->wrong && !report->ok() ? 1 : 0;
  }
  outcome.text += fmt::format("{} rules checked: {} wrong, {} that too few programs match\n",
                              rules.size(), outcome.wrong, unchecked);
  outcome.wrong += unchecked;
  return outcome;
}

}  // namespace tenon::ir_opt
