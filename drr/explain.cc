// Why a rule did not fire.
#include <algorithm>
#include <vector>

#include "drr/driver.h"
#include "drr/matcher.h"
#include "drr/rewriter.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

// The model node of an op, or the op's name when the model says nothing.
std::string NodeOf(const Operation* op) {
  std::string node = DescribeLocation(op->context(), op->location());
  return node.empty() ? std::string(op->name()) : node;
}

}  // namespace

void Explain(const CompiledRules& rules, std::string_view name, std::string_view node,
             Operation* top, const TargetQuery* target, size_t limit,
             const std::function<void(std::string_view)>& report) {
  const CompiledRule* rule = nullptr;
  for (const CompiledRule& candidate : rules.rules()) {
    if (candidate.rule->name() == name) rule = &candidate;
  }
  if (rule == nullptr) return;
  struct Line {
    int matched;
    std::string text;
  };
  std::vector<Line> lines;
  size_t anchors = 0, matches = 0;
  Matcher matcher(top->context());
  top->Walk([&](Operation* op) {
    if (std::find(rule->anchors.begin(), rule->anchors.end(), op->id()) == rule->anchors.end())
      return;
    std::string where = NodeOf(op);
    if (!node.empty() && where.find(node) == std::string::npos) return;
    ++anchors;
    NearMiss miss;
    if (matcher.Match(*rule, op, &miss)) {
      const std::string refused = WhyRefused(matcher, target);
      matches += refused.empty() ? 1 : 0;
      lines.push_back({rule->num_ops + 1, fmt::format("{}: {}: all ops match{}{}", name, where,
                                                      refused.empty() ? "" : ", but ", refused)});
      return;
    }
    if (miss.stopped_at == nullptr) return;
    lines.push_back({miss.matched_ops, fmt::format("{}: {}: {} of {} ops; stopped at {}: {}", name,
                                                   where, miss.matched_ops, rule->num_ops,
                                                   NodeOf(miss.stopped_at), miss.reason)});
  });
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.matched > b.matched; });
  for (size_t i = 0; i < lines.size() && i < limit; ++i) report(lines[i].text);
  if (lines.size() > limit)
    report(fmt::format("{}: and {} more anchors", name, lines.size() - limit));
  report(fmt::format("{}: {} anchors, {} match ({})", name, anchors, matches, rule->rule->place()));
}

}  // namespace tenon::drr
