// The texts that --list-passes, --list-ops, --list-rules and --check-rules print.
#ifndef TENON_TOOLS_IR_OPT_LISTS_H_
#define TENON_TOOLS_IR_OPT_LISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/context/context.h"
#include "pass/pass.h"

namespace tenon {
struct Extension;
}

namespace tenon::ir_opt {

// In all of these, `extension` has what files and plugins add, and may be null. Errors are those of
// RegisterExtension.

// Returns the text for --list-passes.
std::string PassListText(const PassRegistry& registry);
// Returns the text for --list-ops.
absl::StatusOr<std::string> OpListText(const Extension* extension);
// The next four know the built-in rules, those of plugins and those of `files`. Their errors are
// also those of ReadRules and CheckRuleNames (transforms/rules/rule_cache.h).
//
// Returns the text for --list-rules. The error names a wrong rule, or two rules that conflict.
absl::StatusOr<std::string> RuleListText(const std::vector<std::string>& files,
                                         const Extension* extension);
// Returns the rules that `what` names, each as text after a comment with its family or file, and
// its place. `what` is the name of a rule or a family, the start of names, or a pattern with * and
// ?. If there is no such rule, the error has the nearest name.
absl::StatusOr<std::string> RuleTexts(const std::string& what,
                                      const std::vector<std::string>& files,
                                      const Extension* extension);
// Appends to `found` the rules and the families that are named `name`: a rule as RuleTexts writes
// it, a family with its summary and the names of its rules. Appends all names to `known`. `context`
// must know all operations.
absl::Status DescribeRules(const std::string& name, const std::vector<std::string>& files,
                           const Extension* extension, Context& context,
                           std::vector<std::string>& known, std::vector<std::string>& found);
// Returns the rules with parts that only C++ says, each with the reason.
absl::StatusOr<std::string> OpaqueRuleText(const std::vector<std::string>& files,
                                           const Extension* extension);
// Returns the text for --rule-automaton: a graph for each root op of a family, or of a file of
// rules that ends in .drr, or of a plugin. InvalidArgument or NotFound if there is no such family
// or file.
absl::StatusOr<std::string> RuleAutomata(const std::string& name, const Extension* extension);
// The result of --check-rules.
struct RuleCheckOutcome {
  std::string text;  // each wrong rule with a program that proves it, or a conflict of two rules
  int wrong = 0;     // rules that are wrong or could not be checked, and conflicts
};
// Checks the rules of plugins and of `files` together; if there are none, the built-in rules.
// Returns an error if a file cannot be read or two rules have one name.
absl::StatusOr<RuleCheckOutcome> CheckRules(const std::vector<std::string>& files,
                                            const Extension* extension);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_LISTS_H_
