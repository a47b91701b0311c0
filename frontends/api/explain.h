// Asking why rules fired or not: --explain=RULE[@NODE], --fusion-report.
#ifndef TENON_FRONTENDS_API_EXPLAIN_H_
#define TENON_FRONTENDS_API_EXPLAIN_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/pass.h"
#include "pass/rule_log.h"
#include "transforms/rule_cache.h"

namespace tenon {

struct ExplainQuery {
  std::string title;  // what was asked for, without the node
  std::set<std::string, std::less<>> rules;
  std::set<std::string, std::less<>> below;  // rules that make what those match
  std::string node;                          // may be empty
};

// Reads "WHAT@NODE" or "WHAT": a family ("norm"), a rule ("gelu-erf"), the start of some ("gelu"),
// a pattern with * and ?, or a pass that explains itself. `more`: names of rules beside the
// built-in ones. The error names the nearest known name.
absl::StatusOr<ExplainQuery> ParseExplainQuery(std::string_view text,
                                               const std::vector<std::string>& more = {});

// The nodes of the model that `node` means: the one of this name, else those that match it as a
// pattern, else those that end with it, else those that contain it. NotFound, with near names, if
// there are none.
absl::StatusOr<std::set<std::string, std::less<>>> NodesNamed(std::string_view node,
                                                              Operation* module);

// A log that passes fill as the query wants; `module` is still as it was loaded.
absl::StatusOr<RuleLog> LogFor(const ExplainQuery& query, Operation* module);
// Looks for near misses of rules that no pass has applied, those of `host` and of
// PassContext::rule_files included, in the module as it is.
absl::Status ExplainUntried(Operation* module, PassContext& context, const HostRules& host = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_EXPLAIN_H_
