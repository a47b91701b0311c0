// Names of rules as a user writes them.
#ifndef TENON_FRONTENDS_CPP_RULES_RULE_NAMES_H_
#define TENON_FRONTENDS_CPP_RULES_RULE_NAMES_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tenon {

// Names of rules in alphabetical order.
using RuleNames = std::set<std::string, std::less<>>;

// True if `text` has a part that `pattern` describes as a whole: `*` is any text, `?` one
// character.
bool MatchesGlob(std::string_view pattern, std::string_view text);
// True if `text` has a `*` or a `?`.
inline bool IsGlob(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

// Returns the names that `what` stands for. These are the rules of the family of that name, else
// the rule of that name, else those that match it as a pattern or begin with it and "-". Looks
// among the built-in rules and `more`. InvalidArgument, with the nearest known name, if there are
// none.
absl::StatusOr<RuleNames> RulesNamed(std::string_view what,
                                     const std::vector<std::string>& more = {});

// Returns the rules that a list such as {"gelu-erf", "attention", "pack-*"} names, for
// PassContext::disabled_rules. `given` has the names of rules that are not built in. Errors are
// those of RulesNamed.
absl::StatusOr<RuleNames> ReadDisabledRules(const std::vector<std::string>& list,
                                            const std::vector<std::string>& given = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_RULES_RULE_NAMES_H_
