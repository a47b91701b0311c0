// The built-in rules, by family.
#ifndef TENON_PATTERNS_FAMILIES_H_
#define TENON_PATTERNS_FAMILIES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "drr/rule/rule.h"

namespace tenon::pattern {

using RuleSet = std::vector<drr::Rule>;  // a list of rules

// A family: rules that one pass applies together.
struct Family {
  std::string_view name;   // such as "norm"
  std::string_view phase;  // the pass that applies it: "canonicalize" or "fuse"
  // When the pass applies it.
  enum class When : uint8_t {
    kAlways,     // where no families are named, too
    kNamed,      // only where it is named, as a pipeline does later
    kOnRequest,  // only where it is named, which no pipeline does: its operations are not known to
                 // be faster than their parts
  };
  When when;                 // as above
  std::string_view summary;  // one line
  // Makes the rules anew. Prefer RulesOf, or SharedRulesOf (shared_rules.h).
  RuleSet (*rules)();
};

// All families, in the order in which they are applied. The data is static.
std::span<const Family> Families();
const Family* FindFamily(std::string_view name);  // null if there is none
// Returns the rules of a family, each with Rule::family set.
RuleSet RulesOf(const Family& family);
// Returns the rules of all families, in order.
RuleSet AllRules();

// Declares one function per line of families.def. It returns the rules of the family.
#define TENON_RULE_FAMILY(id, name, phase, when, summary) RuleSet id##Rules();
#include "patterns/families.def"
#undef TENON_RULE_FAMILY

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FAMILIES_H_
