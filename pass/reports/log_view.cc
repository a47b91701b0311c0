#include "pass/reports/log_view.h"

#include <algorithm>

namespace tenon {

LogView::LogView(const RuleLog& log) : log_(log) {
  for (const RuleHit& hit : log.hits) {
    OfRule& of = rules_[hit.rule];
    of.hits.push_back(&hit);
    if (log.nodes.empty() || std::any_of(hit.nodes.begin(), hit.nodes.end(),
                                         [&](const auto& n) { return log.nodes.contains(n); }))
      of.hits_here.push_back(&hit);
    for (const std::string& node : hit.nodes) {
      std::vector<std::string_view>& rules = fired_[node];
      if (std::find(rules.begin(), rules.end(), hit.rule) == rules.end()) rules.push_back(hit.rule);
    }
  }
  for (const auto& [key, misses] : log.misses) {
    if (!misses.empty()) rules_[key.second].misses.push_back(&misses);
  }
  for (size_t i = 0; i < log.changes.size(); ++i) {
    const ProgramChange& change = log.changes[i];
    for (const std::string& node : change.nodes) {
      changes_[node].push_back(i);
      if (!change.made.empty()) making_[node].push_back(i);
    }
  }
}

const LogView::OfRule* LogView::Find(std::string_view rule) const {
  const auto found = rules_.find(rule);
  return found == rules_.end() ? nullptr : &found->second;
}

const std::vector<const RuleHit*>& LogView::HitsOf(std::string_view rule) const {
  static const std::vector<const RuleHit*> kNone;
  const OfRule* const of = Find(rule);
  return of == nullptr ? kNone : of->hits_here;
}

std::vector<const RuleMiss*> LogView::MissesOf(std::string_view rule, bool far) const {
  std::vector<const RuleMiss*> all;
  const OfRule* const of = Find(rule);
  if (of == nullptr) return all;
  for (const std::vector<RuleMiss>* misses : of->misses) {
    for (const RuleMiss& miss : *misses) {
      if (!miss.near && !far && log_.nodes.empty()) continue;
      // What another rule in question has taken is where it should be.
      if (miss.taken_by.empty() || !log_.wanted(miss.taken_by)) all.push_back(&miss);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const RuleMiss* a, const RuleMiss* b) { return IsNearer(*a, *b); });
  return all;
}

bool LogView::Fired(std::string_view rule, const std::vector<std::string>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    const auto fired = fired_.find(node);
    return fired != fired_.end() &&
           std::find(fired->second.begin(), fired->second.end(), rule) != fired->second.end();
  });
}

bool LogView::FiredUnnamed(std::string_view rule) const {
  const OfRule* const of = Find(rule);
  return of != nullptr && std::any_of(of->hits.begin(), of->hits.end(),
                                      [](const RuleHit* hit) { return hit->nodes.empty(); });
}

const ProgramChange* LogView::FirstChange(const std::vector<std::string>& nodes, size_t begin,
                                          bool making) const {
  const auto& changes = making ? making_ : changes_;
  size_t first = log_.changes.size();
  for (const std::string& node : nodes) {
    const auto at = changes.find(node);
    if (at == changes.end()) continue;
    const auto next = std::lower_bound(at->second.begin(), at->second.end(), begin);
    if (next != at->second.end()) first = std::min(first, *next);
  }
  return first < log_.changes.size() ? &log_.changes[first] : nullptr;
}

}  // namespace tenon
