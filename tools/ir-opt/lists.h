// What --list-ops and --list-rules print.
#ifndef TENON_TOOLS_IR_OPT_LISTS_H_
#define TENON_TOOLS_IR_OPT_LISTS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "pass/pass.h"

namespace tenon::ir_opt {

std::string OpListText();
std::string RuleListText();
// Is there a rule, or a pass that explains itself, of the name in `explain` ("rule" or
// "rule@node")? InvalidArgument with the nearest name if not.
absl::Status CheckRuleName(std::string_view explain, const PassRegistry& registry);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_LISTS_H_
