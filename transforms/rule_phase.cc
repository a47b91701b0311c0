#include "transforms/rule_phase.h"

#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon {
namespace {

constexpr size_t kExplainLimit = 10;

// "rule" or "rule@node".
std::pair<std::string_view, std::string_view> SplitExplain(std::string_view text) {
  size_t at = text.find('@');
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool Has(const drr::CompiledRules& rules, std::string_view name) {
  for (const drr::CompiledRule& rule : rules.rules()) {
    if (rule.rule->name() == name) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<PassResult> RulePhase::Run(Operation* op, PassContext& context) {
  if (compiled_for_ != &op->context()) {
    compiled_.clear();
    for (const pattern::Family* family : families_) {
      TENON_ASSIGN_OR_RETURN(drr::CompiledRules rules,
                             drr::CompiledRules::Create(pattern::RulesOf(*family), op->context()));
      compiled_.push_back(std::move(rules));
    }
    compiled_for_ = &op->context();
  }
  PassResult result;
  const auto [name, node] = SplitExplain(context.explain_rule);
  const std::string_view explained = name;
  for (const drr::CompiledRules& rules : compiled_) {
    const bool explain = context.report && !explained.empty() && Has(rules, explained);
    auto fired = [&] {
      if (context.rule_counts == nullptr) return int64_t{0};
      auto it = context.rule_counts->find(explained);
      return it == context.rule_counts->end() ? int64_t{0} : it->second;
    };
    const int64_t before = explain ? fired() : 0;
    TENON_ASSIGN_OR_RETURN(drr::DriverResult applied, drr::ApplyRules(rules, op, context));
    result.changed |= applied.changed;
    if (explain) {
      context.report(fmt::format("{}: fired {} times; what is left:", explained, fired() - before));
      drr::Explain(rules, explained, node, op, context.target, kExplainLimit, context.report);
    }
  }
  return result;
}

}  // namespace tenon
