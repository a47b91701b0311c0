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
// The names of the rules in these files. The error says where a file is wrong.
absl::StatusOr<std::vector<std::string>> RuleNames(const std::vector<std::string>& files);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_LISTS_H_
