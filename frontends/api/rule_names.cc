#include "frontends/api/rule_names.h"

#include <algorithm>

#include "fmt/format.h"
#include "ir/core/check.h"
#include "ir/core/shown_text.h"
#include "ir/core/suggest.h"
#include "patterns/families.h"

namespace tenon {

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  // The place behind the last star, and the text that it has taken.
  size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++taken;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<ptrdiff_t>(p), pattern.end(),
                     [](char c) { return c == '*'; });
}

absl::StatusOr<RuleNames> RulesNamed(std::string_view what, const std::vector<std::string>& more) {
  RuleNames found;
  std::vector<std::string> names = more, families;
  for (const pattern::Family& family : pattern::Families()) {
    families.emplace_back(family.name);
    for (const drr::Rule& rule : pattern::RulesOf(family)) {
      if (family.name == what) found.insert(rule.name());
      names.push_back(rule.name());
    }
  }
  if (!found.empty()) return found;
  if (std::find(names.begin(), names.end(), what) != names.end())
    return RuleNames{std::string(what)};
  for (const std::string& name : names) {
    if (IsGlob(what) ? MatchesGlob(what, name) : name.starts_with(fmt::format("{}-", what)))
      found.insert(name);
  }
  if (!found.empty()) return found;
  names.insert(names.end(), families.begin(), families.end());
  return absl::InvalidArgumentError(fmt::format("there is no rule '{}'{} (--list-rules shows all)",
                                                ShownName(what), DidYouMean(what, names)));
}

absl::StatusOr<RuleNames> ReadDisabledRules(const std::vector<std::string>& list,
                                            const std::vector<std::string>& given) {
  RuleNames disabled;
  for (const std::string& what : list) {
    if (what.empty())
      return absl::InvalidArgumentError("an empty name of a rule (expected names with commas)");
    TENON_ASSIGN_OR_RETURN(RuleNames names, RulesNamed(what, given));
    disabled.merge(names);
  }
  return disabled;
}

}  // namespace tenon
