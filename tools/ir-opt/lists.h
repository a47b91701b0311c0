// What --list-ops and --list-rules print.
#ifndef TENON_TOOLS_IR_OPT_LISTS_H_
#define TENON_TOOLS_IR_OPT_LISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tenon::ir_opt {

std::string OpListText();
// The error names a rule that is wrong in itself, or two that contradict each other.
absl::StatusOr<std::string> RuleListText();
// The rules that `what` names, each as text behind a comment with its family and place. `what` is
// the name of a rule or a family, the start of names, or a pattern with * and ?. The error says
// that there is no such rule, with the nearest name.
absl::StatusOr<std::string> RuleTexts(const std::string& what);
// The rules with parts that only C++ says, each with the reason.
std::string OpaqueRuleText();
// What --check-rules prints: every rule that does not compute what it replaces, with a program that
// shows it, and what stands between two of them. The error: a file cannot be read, or two rules
// have one name.
struct RuleCheckOutcome {
  std::string text;
  int wrong = 0;
};
// Of files that are given together; none: the built-in rules.
absl::StatusOr<RuleCheckOutcome> CheckRules(const std::vector<std::string>& files);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_LISTS_H_
