#include "frontends/cpp/rules/rule_names.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"
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

namespace {

// All rules by name. Made once for any number of questions: it takes longer than an answer.
class KnownRules {
 public:
  explicit KnownRules(const std::vector<std::string>& more) : names_(more) {
    for (const pattern::Family& family : pattern::Families()) {
      family_names_.emplace_back(family.name);
      RuleNames& rules = families_[std::string(family.name)];
      for (const drr::Rule& rule : pattern::RulesOf(family)) {
        rules.insert(rule.name());
        names_.push_back(rule.name());
      }
    }
    sorted_ = {names_.begin(), names_.end()};
  }

  absl::StatusOr<RuleNames> Named(std::string_view what) const {
    if (const auto family = families_.find(what);
        family != families_.end() && !family->second.empty())
      return family->second;
    if (sorted_.contains(what)) return RuleNames{std::string(what)};
    RuleNames found;
    const std::string prefix = fmt::format("{}-", what);
    if (IsGlob(what)) {
      for (const std::string& name : names_)
        if (MatchesGlob(what, name)) found.insert(name);
    } else {
      for (auto it = sorted_.lower_bound(prefix); it != sorted_.end() && it->starts_with(prefix);
           ++it)
        found.insert(*it);
    }
    if (!found.empty()) return found;
    std::vector<std::string> all = names_;
    all.insert(all.end(), family_names_.begin(), family_names_.end());
    return absl::InvalidArgumentError(
        fmt::format("there is no rule '{}'{} (--list-rules shows all)", ShownName(what),
                    DidYouMean(what, all)));
  }

 private:
  std::vector<std::string> names_, family_names_;
  RuleNames sorted_;
  std::map<std::string, RuleNames, std::less<>> families_;
};

}  // namespace

absl::StatusOr<RuleNames> RulesNamed(std::string_view what, const std::vector<std::string>& more) {
  return KnownRules(more).Named(what);
}

absl::StatusOr<RuleNames> ReadDisabledRules(const std::vector<std::string>& list,
                                            const std::vector<std::string>& given) {
  RuleNames disabled;
  if (list.empty()) return disabled;
  const KnownRules known(given);
  for (const std::string& what : list) {
    if (what.empty())
      return absl::InvalidArgumentError("an empty name of a rule (expected names with commas)");
    TENON_ASSIGN_OR_RETURN(RuleNames names, known.Named(what));
    disabled.merge(names);
  }
  return disabled;
}

}  // namespace tenon
