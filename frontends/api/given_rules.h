// The rules that a pipeline run is given beside the built-in ones: what is wrong with them, before
// anything runs.
#ifndef TENON_FRONTENDS_API_GIVEN_RULES_H_
#define TENON_FRONTENDS_API_GIVEN_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/rule.h"
#include "ir/core/context.h"
#include "pass/pass_manager.h"

namespace tenon {

struct GivenRuleReport {
  // Of all rules that passes of the pipeline may apply: the host's, those of `files`, and those of
  // the files that `apply-rules` passes name.
  std::vector<std::string> names;
  // Rules that no pass of the pipeline applies: "rule 'r' (r.drr:3) is not applied: …".
  std::vector<std::string> warnings;
};

// Reads and compiles them. The error says what is wrong with which rule or file; two of one name,
// a built-in one included, are an error wherever they are applied.
absl::StatusOr<GivenRuleReport> CheckGivenRules(const std::vector<drr::Rule>& host,
                                                const std::vector<std::string>& files,
                                                const PassManager& manager, Context& context);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_GIVEN_RULES_H_
