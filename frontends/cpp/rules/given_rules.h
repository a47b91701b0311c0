// Checking the rules that a pipeline run gets in addition to the built-in ones, before it runs.
#ifndef TENON_FRONTENDS_CPP_RULES_GIVEN_RULES_H_
#define TENON_FRONTENDS_CPP_RULES_GIVEN_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/rule/rule.h"
#include "ir/core/context/context.h"
#include "pass/pass_manager.h"

namespace tenon {

// The result of CheckGivenRules.
struct GivenRuleReport {
  // Names of all rules that passes of the pipeline may apply: those of the host, of `files`, and of
  // files that `apply-rules` passes name.
  std::vector<std::string> names;
  // One message for each rule that no pass of the pipeline applies: "rule 'r' (r.drr:3) is not
  // applied: …".
  std::vector<std::string> warnings;
};

// Reads and compiles the rules, and checks them together. InvalidArgument names the wrong rule or
// file. Two rules of one name are an error, also if one is built in. Other errors are those of
// ReadRules (transforms/rules/rule_cache.h).
absl::StatusOr<GivenRuleReport> CheckGivenRules(const std::vector<drr::Rule>& host,
                                                const std::vector<std::string>& files,
                                                const PassManager& manager, Context& context);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_RULES_GIVEN_RULES_H_
