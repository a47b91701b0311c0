// The rules of this folder, by family.
#ifndef TENON_PATTERNS_FAMILIES_H_
#define TENON_PATTERNS_FAMILIES_H_

#include <span>
#include <string_view>
#include <vector>

#include "drr/rule.h"

namespace tenon::pattern {

using RuleSet = std::vector<drr::Rule>;

struct Family {
  std::string_view name;
  std::string_view phase;  // "canonicalize" or "fuse": the pass that applies it
  std::string_view summary;
  RuleSet (*rules)();
};

// In the order in which they are applied.
std::span<const Family> Families();
const Family* FindFamily(std::string_view name);  // null if there is none
// The rules of a family, each marked with its name.
RuleSet RulesOf(const Family& family);
// All rules of all families, in order.
RuleSet AllRules();

#define TENON_RULE_FAMILY(id, name, phase, summary) RuleSet id##Rules();
#include "patterns/families.def"
#undef TENON_RULE_FAMILY

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FAMILIES_H_
