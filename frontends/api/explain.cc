#include "frontends/api/explain.h"

#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "frontends/api/passes.h"
#include "ir/core/block.h"
#include "ir/core/check.h"
#include "ir/core/location.h"
#include "ir/core/suggest.h"
#include "ir/dialect/func_ops.h"
#include "patterns/families.h"
#include "transforms/rule_phase.h"

namespace tenon {
namespace {

// `*` is any text, `?` one character.
bool Glob(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t i = 0; i <= text.size(); ++i) {
      if (Glob(pattern.substr(1), text.substr(i))) return true;
    }
    return false;
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         Glob(pattern.substr(1), text.substr(1));
}

bool IsGlob(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

std::string_view LastPart(std::string_view name) {
  const size_t slash = name.find_last_of("/.");
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

// Ops of a pattern; those of `ten` and `core` stand in models anyway.
void AddOps(const drr::ValRef& val, std::set<const drr::ValNode*>& seen,
            std::set<std::string>& ops) {
  const drr::ValNode& node = *val.node;
  if (!seen.insert(&node).second) return;
  if (node.kind == drr::ValNode::Kind::kOp && !node.op.starts_with("ten.") &&
      !node.op.starts_with("core."))
    ops.insert(node.op);
  for (const drr::ValRef& alternative : node.alternatives) AddOps(alternative, seen, ops);
  for (const auto& group : node.operands) {
    for (const drr::OperandPattern& operand : group) AddOps(operand.val, seen, ops);
  }
}

std::set<std::string> OpsOf(const std::vector<drr::ValRef>& vals) {
  std::set<const drr::ValNode*> seen;
  std::set<std::string> ops;
  for (const drr::ValRef& val : vals) AddOps(val, seen, ops);
  return ops;
}

// The rules that make ops which the asked ones match.
void AddBelow(ExplainQuery& query) {
  const pattern::RuleSet all = pattern::AllRules();
  std::set<std::string> wanted;
  for (const drr::Rule& rule : all) {
    if (query.rules.count(rule.name()) != 0) wanted.merge(OpsOf(rule.roots()));
  }
  for (const drr::Rule& rule : all) {
    if (query.rules.count(rule.name()) != 0) continue;
    const std::set<std::string> needs = OpsOf(rule.roots());
    for (const std::string& made : OpsOf(rule.results())) {
      // Not those that only change such an op.
      if (wanted.count(made) != 0 && needs.count(made) == 0) query.below.insert(rule.name());
    }
  }
}

absl::StatusOr<ExplainQuery> SelectRules(std::string_view text,
                                         const std::vector<std::string>& more) {
  ExplainQuery query;
  const size_t at = text.find('@');
  const std::string_view what = text.substr(0, at);
  query.title = std::string(what);
  if (at != std::string_view::npos) query.node = std::string(text.substr(at + 1));
  if (what.empty() || text.ends_with('@')) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' names no rule or no node (expected RULE or RULE@NODE)", text));
  }
  std::vector<std::string> names = more, families;
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  for (const auto& [pass, info] : registry.passes()) {
    if (info.explains) names.push_back(pass);
  }
  for (const pattern::Family& family : pattern::Families()) {
    families.emplace_back(family.name);
    for (const drr::Rule& rule : pattern::RulesOf(family)) {
      if (family.name == what) query.rules.insert(rule.name());
      names.push_back(rule.name());
    }
  }
  if (!query.rules.empty()) return query;
  if (std::find(names.begin(), names.end(), what) != names.end()) {
    query.rules.insert(std::string(what));
    return query;
  }
  for (const std::string& name : names) {
    if (IsGlob(what) ? Glob(what, name) : name.starts_with(fmt::format("{}-", what)))
      query.rules.insert(name);
  }
  if (!query.rules.empty()) return query;
  names.insert(names.end(), families.begin(), families.end());
  return absl::InvalidArgumentError(fmt::format("there is no rule '{}'{} (--list-rules shows all)",
                                                what, DidYouMean(what, names)));
}

}  // namespace

absl::StatusOr<ExplainQuery> ParseExplainQuery(std::string_view text,
                                               const std::vector<std::string>& more) {
  TENON_ASSIGN_OR_RETURN(ExplainQuery query, SelectRules(text, more));
  AddBelow(query);
  return query;
}

absl::StatusOr<std::set<std::string, std::less<>>> NodesNamed(std::string_view node,
                                                              Operation* module) {
  std::set<std::string, std::less<>> all, found;
  module->Walk([&](Operation* op) {
    for (std::string& name : drr::DescribeAllLocations(op->context(), op->location()))
      all.insert(std::move(name));
  });
  if (all.count(node) != 0) return std::set<std::string, std::less<>>{std::string(node)};
  auto keep = [&](auto fits) {
    if (!found.empty()) return;
    for (const std::string& name : all) {
      if (fits(std::string_view(name))) found.insert(name);
    }
  };
  if (IsGlob(node)) {
    keep([&](std::string_view name) { return Glob(node, name); });
  } else {
    keep([&](std::string_view name) { return name.ends_with(node); });
    keep([&](std::string_view name) { return name.find(node) != std::string_view::npos; });
  }
  if (!found.empty()) return found;
  const std::vector<std::string> names(all.begin(), all.end());
  std::vector<std::string> near;
  if (std::string_view nearest = Nearest(node, names); !nearest.empty()) near.emplace_back(nearest);
  // Nodes of the same last name, those that begin like it first.
  std::vector<std::string> alike;
  for (const std::string& name : names) {
    if (LastPart(name) == LastPart(node)) alike.push_back(name);
  }
  auto common = [&](const std::string& name) {
    return std::mismatch(name.begin(), name.end(), node.begin(), node.end()).first - name.begin();
  };
  std::stable_sort(alike.begin(), alike.end(), [&](const std::string& a, const std::string& b) {
    return common(a) > common(b);
  });
  if (!alike.empty()) near = alike;
  near.resize(std::min<size_t>(near.size(), 3));
  return absl::NotFoundError(fmt::format(
      "no node of the model is named '{}'{}", node,
      near.empty() ? std::string() : fmt::format("; there is '{}'", fmt::join(near, "', '"))));
}

absl::StatusOr<RuleLog> LogFor(const ExplainQuery& query, Operation* module) {
  RuleLog log;
  log.wanted = [rules = query.rules, below = query.below](std::string_view rule) {
    return rules.count(rule) != 0 || below.count(rule) != 0;
  };
  log.below = query.below;
  if (!query.node.empty()) {
    TENON_ASSIGN_OR_RETURN(log.nodes, NodesNamed(query.node, module));
  }
  return log;
}

absl::Status ExplainUntried(Operation* module, PassContext& context, const HostRules& host) {
  RuleLog& log = *context.rule_log;
  const auto wanted = log.wanted;
  const std::set<std::string, std::less<>> tried(log.tried.begin(), log.tried.end());
  log.wanted = [&](std::string_view rule) { return wanted(rule) && tried.count(rule) == 0; };
  TENON_ASSIGN_OR_RETURN(const GivenRules* given, RuleCacheOf(context).FindGiven(
                                                      host, context.rule_files, module->context()));
  absl::Status status;
  for (Operation& op : module->region().front()) {
    if (!Isa<func::FuncOp>(op) || op.region().empty() || !status.ok()) continue;
    status = FindAllMisses(given, &op, context);
  }
  log.wanted = wanted;
  return status;
}

}  // namespace tenon
