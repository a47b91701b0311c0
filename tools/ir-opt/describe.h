// The text that --describe prints.
#ifndef TENON_TOOLS_IR_OPT_DESCRIBE_H_
#define TENON_TOOLS_IR_OPT_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pass/pass.h"

namespace tenon {
struct Extension;
}

namespace tenon::ir_opt {

// Returns what the programs know about one thing: a pass, a pipeline, an operation, a dialect, a
// kernel, a rule or a family of rules. Things of different kinds with one name stand behind each
// other. Rules are also those of `rule_files`, and all of them are also those of `extension`, which
// may be null.
//
// NotFound, with the nearest name, if nothing is named so. Other errors are those of
// RegisterExtension, ReadRules and CheckRuleNames.
absl::StatusOr<std::string> DescribeText(const std::string& name, const PassRegistry& registry,
                                         const std::vector<std::string>& rule_files,
                                         const Extension* extension);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_DESCRIBE_H_
