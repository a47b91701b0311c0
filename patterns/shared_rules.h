// The rules of families, made once per process.
#ifndef TENON_PATTERNS_SHARED_RULES_H_
#define TENON_PATTERNS_SHARED_RULES_H_

#include <memory>
#include <string_view>

#include "drr/compile/rule_list.h"
#include "patterns/families.h"

namespace tenon::pattern {

// Returns the rules of `family`, one of Families(). Makes them on the first call. Thread-safe.
std::shared_ptr<const drr::RuleList> SharedRulesOf(const Family& family);

// Returns the rule of this name; null if no family has one. Makes the rules of all families on the
// first call. Thread-safe. The rule lives until the process ends.
const drr::Rule* FindSharedRule(std::string_view name);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_SHARED_RULES_H_
