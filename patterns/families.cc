#include "patterns/families.h"

namespace tenon::pattern {

std::span<const Family> Families() {
  static constexpr Family kFamilies[] = {
#define TENON_RULE_FAMILY(id, name, phase, when, summary) \
  {name, phase, Family::When::when, summary, &id##Rules},
#include "patterns/families.def"
#undef TENON_RULE_FAMILY
  };
  return kFamilies;
}

const Family* FindFamily(std::string_view name) {
  for (const Family& family : Families()) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

RuleSet RulesOf(const Family& family) {
  RuleSet rules = family.rules();
  for (drr::Rule& rule : rules) rule.set_family(family.name);
  return rules;
}

RuleSet AllRules() {
  RuleSet all;
  for (const Family& family : Families()) {
    for (drr::Rule& rule : RulesOf(family)) all.push_back(std::move(rule));
  }
  return all;
}

}  // namespace tenon::pattern
