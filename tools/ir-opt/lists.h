// What --list-ops and --list-rules print.
#ifndef TENON_TOOLS_IR_OPT_LISTS_H_
#define TENON_TOOLS_IR_OPT_LISTS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tenon::ir_opt {

std::string OpListText();
std::string RuleListText();
// Is there a rule of the name in `explain` ("rule" or "rule@node")? InvalidArgument with the
// nearest name if not.
absl::Status CheckRuleName(std::string_view explain);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_LISTS_H_
