#include "tools/ir-opt/lists.h"

#include <vector>

#include "fmt/format.h"
#include "ir/core/context.h"
#include "ir/core/suggest.h"
#include "ir/dialect/dialects.h"
#include "patterns/families.h"

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

std::string RuleListText() {
  std::string text;
  for (const pattern::Family& family : pattern::Families()) {
    text += fmt::format("{} ({}): {}\n", family.name, family.phase, family.summary);
    for (const drr::Rule& rule : pattern::RulesOf(family)) {
      text += fmt::format("  {:<36}  {}  [{}]\n", rule.name(), rule.summary(), rule.place());
    }
  }
  return text;
}

absl::Status CheckRuleName(std::string_view explain, const PassRegistry& registry) {
  const std::string_view name = explain.substr(0, explain.find('@'));
  std::vector<std::string> names;
  for (const auto& [pass, info] : registry.passes()) {
    if (!info.explains) continue;
    if (pass == name) return absl::OkStatus();
    names.push_back(pass);
  }
  for (const drr::Rule& rule : pattern::AllRules()) {
    if (rule.name() == name) return absl::OkStatus();
    names.push_back(rule.name());
  }
  return absl::InvalidArgumentError(fmt::format("there is no rule '{}'{} (--list-rules shows all)",
                                                name, DidYouMean(name, names)));
}

}  // namespace tenon::ir_opt
