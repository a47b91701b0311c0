#include "frontends/cpp/rules/given_rules.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

// Why no pass applies a rule of this stage; empty where one does.
std::string_view WhyNot(drr::RuleStage stage, const PassManager& manager) {
  if (!manager.OptionsOf("final-rules").empty()) return "";
  if (stage == drr::RuleStage::kFinal) return "it waits for final-rules, which -O2 and -O3 have";
  return manager.OptionsOf("fuse").empty() ? "it needs fuse or final-rules, which -O2 and -O3 have"
                                           : "";
}

}  // namespace

absl::StatusOr<GivenRuleReport> CheckGivenRules(const std::vector<drr::Rule>& host,
                                                const std::vector<std::string>& files,
                                                const PassManager& manager, Context& context,
                                                RuleCache* cache,
                                                drr::CompiledRules::Together together) {
  using Together = drr::CompiledRules::Together;
  GivenRuleReport report;
  std::vector<drr::Rule> all = host;
  for (const std::string& file : files) {
    TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> read, ReadRules(file, context));
    std::move(read.begin(), read.end(), std::back_inserter(all));
  }
  const auto given = static_cast<ptrdiff_t>(all.size());
  std::vector<std::string> known = files;
  for (const PassOptionValues* values : manager.OptionsOf("apply-rules")) {
    std::string file = values->GetString("file");
    if (std::find(known.begin(), known.end(), file) != known.end()) continue;
    TENON_ASSIGN_OR_RETURN(std::vector<drr::Rule> read, ReadRules(file, context));
    if (together == Together::kChecked)
      TENON_RETURN_IF_ERROR(drr::CompiledRules::Create(read, context).status());
    all.insert(all.end(), read.begin(), read.end());
    known.push_back(std::move(file));
  }
  TENON_RETURN_IF_ERROR(CheckRuleNames(all));
  for (const drr::Rule& rule : all) report.names.push_back(rule.name());
  for (const drr::Rule& rule : std::span(all).first(static_cast<size_t>(given))) {
    if (const std::string_view why = WhyNot(rule.stage(), manager); !why.empty()) {
      report.warnings.push_back(
          fmt::format("rule '{}' ({}) is not applied: {}", rule.name(), rule.place(), why));
    }
  }
  if (given == 0) return report;
  all.erase(all.begin() + given, all.end());
  drr::CompiledRules compiled;
  if (together == Together::kKnown) {
    compiled = drr::CompiledRules::OnDemand(std::make_shared<const drr::RuleList>(std::move(all)),
                                            context);
  } else {
    TENON_ASSIGN_OR_RETURN(compiled, drr::CompiledRules::Create(std::move(all), context));
  }
  if (cache != nullptr && host.empty())
    cache->PutGiven(nullptr, files, std::move(compiled), context);
  return report;
}

}  // namespace tenon
