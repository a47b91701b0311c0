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
// What --check-rules prints: every rule that does not compute what it replaces, with a program that
// shows it. `file`: empty for the built-in rules.
struct RuleCheckOutcome {
  std::string text;
  int wrong = 0;
};
absl::StatusOr<RuleCheckOutcome> CheckRules(const std::string& file);
// The names of the rules in these files. The error says where a file is wrong.
absl::StatusOr<std::vector<std::string>> RuleNames(const std::vector<std::string>& files);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_LISTS_H_
