#include "frontends/cpp/rules/explain.h"

#include <algorithm>
#include <iterator>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/rules/rule_names.h"
#include "ir/base/check.h"
#include "ir/base/suggest.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/location.h"
#include "ir/dialect/func_ops.h"
#include "pass/pass_manager.h"
#include "patterns/families.h"
#include "patterns/shared_rules.h"
#include "transforms/rules/rule_phase.h"

namespace tenon {
namespace {

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
  std::vector<std::string> names = more;
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  for (const auto& [pass, info] : registry.passes()) {
    if (info.explains) names.push_back(pass);
  }
  TENON_ASSIGN_OR_RETURN(query.rules, RulesNamed(what, names));
  return query;
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
    keep([&](std::string_view name) { return MatchesGlob(node, name); });
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

absl::Status ExplainWritten(Operation* module, PassContext& context, const HostRules& host) {
  RuleLog& log = *context.rule_log;
  TENON_ASSIGN_OR_RETURN(const GivenRules* given, RuleCacheOf(context).FindGiven(
                                                      host, context.rule_files, module->context()));
  const auto is_asked = [&](std::string_view rule) {
    return log.wanted(rule) && !log.below.contains(rule);
  };
  std::vector<const drr::CompiledRules*> lists;
  if (given != nullptr) {
    for (const drr::Rule& rule : given->all.list().rules()) {
      if (!log.wanted(rule.name())) continue;
      log.given.insert(rule.name());
      if (!rule.roots().empty() && rule.roots()[0].node->kind == drr::ValNode::Kind::kOp)
        log.roots[rule.name()] = rule.roots()[0].node->op;
    }
    if (!log.given.empty()) lists.push_back(&given->all);
  }
  for (const pattern::Family& family : pattern::Families()) {
    const std::vector<drr::Rule>& rules = pattern::SharedRulesOf(family)->rules();
    if (std::any_of(rules.begin(), rules.end(),
                    [&](const drr::Rule& rule) { return is_asked(rule.name()); }))
      lists.push_back(&RuleCacheOf(context).Find(family, module->context()));
  }
  if (lists.empty()) return absl::OkStatus();
  // Rules match shapes, which models leave to be inferred.
  const OwnedOp copy(Clone(*module));
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline("infer-shapes"));
  PassContext plain;
  {
    const ScopedDiagnosticHandler quiet(module->context(), nullptr);
    if (!manager.Run(copy.get(), plain).ok()) return absl::OkStatus();  // the run itself says why
  }
  RuleLog found;
  found.wanted = is_asked;
  found.nodes = log.nodes;
  for (Operation& op : copy->region().front()) {
    if (!Isa<func::FuncOp>(op) || op.region().empty()) continue;
    for (const drr::CompiledRules* const rules : lists)
      TENON_RETURN_IF_ERROR(drr::FindMisses(*rules, &op, context, found));
    for (auto& [key, misses] : found.misses) {
      // Also where little matches: the normal form may have even less of the rule.
      std::move(misses.begin(), misses.end(), std::back_inserter(log.written));
    }
    found.misses.clear();
  }
  log.steps += found.steps;
  return absl::OkStatus();
}

namespace {

// Each op with the nodes it comes from.
std::multiset<std::string> OpsWithNodes(Operation* op) {
  std::multiset<std::string> all;
  op->Walk([&](Operation* inner) {
    for (const std::string& node : drr::DescribeAllLocations(inner->context(), inner->location()))
      all.insert(fmt::format("{} {}", inner->name(), node));
  });
  return all;
}

}  // namespace

void ChangeRecorder::PassBegins(std::string_view text, Operation*) { pass_ = std::string(text); }

void ChangeRecorder::StepBegins(const RewriteStep& step) {
  if (log_.given.empty()) return;
  created_.clear();
  op_ = nullptr;
  ProgramChange change;
  change.pass = pass_;
  if (step.kind == RewriteStep::Kind::kPass) {
    op_ = const_cast<Operation*>(step.op);
    before_ = OpsWithNodes(op_);
    change.by = fmt::format("pass {}", step.name);
  } else {
    change.by =
        step.kind == RewriteStep::Kind::kFold ? "a fold" : fmt::format("rule {}", step.name);
    for (const Operation* op : step.ops) {
      if (op->Has(Trait::kConstantLike)) continue;
      for (std::string& node : drr::DescribeAllLocations(op->context(), op->location()))
        change.nodes.push_back(std::move(node));
    }
  }
  log_.changes.push_back(std::move(change));
}

void ChangeRecorder::StepEnds() {
  if (log_.given.empty()) return;
  ProgramChange& change = log_.changes.back();
  if (op_ != nullptr) {
    const std::multiset<std::string> after = OpsWithNodes(op_);
    std::vector<std::string> gone;
    std::set_difference(before_.begin(), before_.end(), after.begin(), after.end(),
                        std::back_inserter(gone));
    for (const std::string& op : gone) change.nodes.push_back(op.substr(op.find(' ') + 1));
    if (change.nodes.empty()) log_.changes.pop_back();
    return;
  }
  for (const Operation* made : created_) change.made.push_back(drr::DescribeOp(made));
  created_.clear();
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
