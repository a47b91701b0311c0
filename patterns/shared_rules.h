// The rules of families, made once for the whole process.
#ifndef TENON_PATTERNS_SHARED_RULES_H_
#define TENON_PATTERNS_SHARED_RULES_H_

#include <memory>

#include "drr/rule_list.h"
#include "patterns/families.h"

namespace tenon::pattern {

// Those of one of Families(), made when they are first asked for. Thread-safe.
std::shared_ptr<const drr::RuleList> SharedRulesOf(const Family& family);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_SHARED_RULES_H_
