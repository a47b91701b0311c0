#include "patterns/shared_rules.h"

#include <mutex>
#include <vector>

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

}  // namespace tenon::pattern
