#include "pass/reports/pass_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "ir/core/location.h"
#include "ir/core/verify/symbol_table.h"
#include "pass/rule_log.h"

namespace tenon {
namespace {

constexpr size_t kMostMisses = 1000;  // of a function

std::string NodeOrName(const Operation* op) {
  std::string node = DescribeLocation(op->context(), op->location());
  return node.empty() ? std::string(op->name()) : node;
}

std::vector<std::string> NodesOrNames(std::span<Operation* const> ops) {
  std::vector<std::string> nodes;
  for (const Operation* op : ops) {
    std::string node = NodeOrName(op);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
      nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

std::string OpAndNode(const Operation* op) {
  const std::string node = DescribeLocation(op->context(), op->location());
  return node.empty() ? std::string(op->name())
                      : fmt::format("{} at {}", op->name(), ShownName(node));
}

PassLog::PassLog(const PassContext& context, std::string_view pass, const Operation* function)
    : pass_(pass), function_(SymbolName(*function)) {
  RuleLog* const log = context.rule_log;
  if (log == nullptr) return;
  if (std::find(log->tried.begin(), log->tried.end(), pass_) == log->tried.end())
    log->tried.push_back(pass_);
  if (!log->wanted || !log->wanted(pass_)) return;
  log_ = log;
  log_->misses.erase({function_, pass_});
}

void PassLog::Hit(std::span<Operation* const> ops, const Operation* made) {
  if (log_ != nullptr) log_->hits.push_back({pass_, NodesOrNames(ops), {OpAndNode(made)}});
}

void PassLog::Miss(std::span<Operation* const> ops, const Operation* at, std::string reason) {
  if (log_ == nullptr) return;
  RuleMiss miss;
  miss.rule = pass_;
  miss.nodes = NodesOrNames(ops);
  miss.stops = {{NodeOrName(at), std::move(reason)}};
  // What would join more is nearer.
  miss.cost = 1 / (1 + static_cast<double>(ops.size()));
  miss.hits_before = log_->hits.size();
  const auto asked = [&](const std::string& node) { return log_->nodes.contains(node); };
  if (!log_->nodes.empty() && !asked(miss.stops[0].node) &&
      std::none_of(miss.nodes.begin(), miss.nodes.end(), asked))
    return;
  std::vector<RuleMiss>& misses = log_->misses[{function_, pass_}];
  if (misses.size() < kMostMisses) misses.push_back(std::move(miss));
}

}  // namespace tenon
