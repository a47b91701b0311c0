#include "patterns/shared_rules.h"

#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tenon::pattern {

std::shared_ptr<const drr::RuleList> SharedRulesOf(const Family& family) {
  struct Entry {
    std::once_flag once;
    std::shared_ptr<const drr::RuleList> rules;
  };
  // Never freed: threads may ask while a process ends.
  static auto* const entries = new std::vector<Entry>(Families().size());
  Entry& entry = (*entries)[static_cast<size_t>(&family - Families().data())];
  std::call_once(entry.once,
                 [&] { entry.rules = std::make_shared<const drr::RuleList>(RulesOf(family)); });
  return entry.rules;
}

const drr::Rule* FindSharedRule(std::string_view name) {
  using ByName = absl::flat_hash_map<std::string_view, const drr::Rule*>;
  static const ByName* const rules = [] {
    auto* all = new ByName();
    for (const Family& family : Families()) {
      for (const drr::Rule& rule : SharedRulesOf(family)->rules()) all->emplace(rule.name(), &rule);
    }
    return all;
  }();
  const auto it = rules->find(name);
  return it == rules->end() ? nullptr : it->second;
}

}  // namespace tenon::pattern
