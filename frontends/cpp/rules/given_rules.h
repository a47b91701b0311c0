// Checking the rules that a pipeline run gets in addition to the built-in ones, before it runs.
#ifndef TENON_FRONTENDS_CPP_RULES_GIVEN_RULES_H_
#define TENON_FRONTENDS_CPP_RULES_GIVEN_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/compile/compiled.h"
#include "drr/rule/rule.h"
#include "ir/core/context/context.h"
#include "pass/pass_manager.h"
#include "transforms/rules/rule_cache.h"

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
//
// With `cache`, the passes that run with it find the rules of `files` there, if there is no host.
// With kKnown, a caller says that the same call has succeeded for another Context with the same
// operations: then each rule is compiled when a pass first needs it.
absl::StatusOr<GivenRuleReport> CheckGivenRules(
    const std::vector<drr::Rule>& host, const std::vector<std::string>& files,
    const PassManager& manager, Context& context, RuleCache* cache = nullptr,
    drr::CompiledRules::Together together = drr::CompiledRules::Together::kChecked);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_RULES_GIVEN_RULES_H_
