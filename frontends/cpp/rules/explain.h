// Asking why rules fired or did not: --explain=RULE[@NODE], --fusion-report.
#ifndef TENON_FRONTENDS_CPP_RULES_EXPLAIN_H_
#define TENON_FRONTENDS_CPP_RULES_EXPLAIN_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "pass/pass.h"
#include "pass/rewrite_step.h"
#include "pass/rule_log.h"
#include "transforms/rules/rule_cache.h"

namespace tenon {

// A parsed question.
struct ExplainQuery {
  std::string title;                         // the question without its node
  std::set<std::string, std::less<>> rules;  // names of the rules that it asks about
  std::set<std::string, std::less<>> below;  // rules that create what `rules` match
  std::string node;                          // part of a node name; may be empty
};

// Reads "WHAT@NODE" or "WHAT". WHAT is a family ("norm"), a rule ("gelu-erf"), the start of rule
// names ("gelu"), a pattern with * and ?, or a pass with PassInfo::explains. `more` has further
// names of rules and passes. InvalidArgument, with the nearest known name, for other texts.
absl::StatusOr<ExplainQuery> ParseExplainQuery(std::string_view text,
                                               const std::vector<std::string>& more = {});

// Returns the nodes of the model that `node` denotes. These are the node of that name, else those
// that match it as a pattern, else those that end with it, else those that contain it. NotFound,
// with similar names, if there are none.
absl::StatusOr<std::set<std::string, std::less<>>> NodesNamed(std::string_view node,
                                                              Operation* module);

// Returns a log for PassContext::rule_log that records what the query asks for. `module` must be as
// it was loaded. Errors are those of NodesNamed.
absl::StatusOr<RuleLog> LogFor(const ExplainQuery& query, Operation* module);
// Looks in `module`, which must be as it was loaded, where the wanted ones of the given rules match
// or nearly match before any other rule has changed the program. Adds that to log.written of the
// log of `context`, and changes nothing.
absl::Status ExplainWritten(Operation* module, PassContext& context, const HostRules& host = {});

// Records in log.changes who changed which node, for PassContext::observer. Records nothing if
// log.given is empty.
class ChangeRecorder : public RewriteObserver {
 public:
  // Appends to `log`, which must outlive the recorder.
  explicit ChangeRecorder(RuleLog& log) : log_(log) {}
  void PassBegins(std::string_view text, Operation* op) override;
  void StepBegins(const RewriteStep& step) override;
  void Created(Operation* op) override { created_.push_back(op); }
  void Erasing(Operation* op) override { std::erase(created_, op); }
  void StepEnds() override;

 private:
  RuleLog& log_;
  std::string pass_;
  Operation* op_ = nullptr;  // that a pass changes; null during other steps
  std::multiset<std::string> before_;
  std::vector<Operation*> created_;
};

// Looks in the present module for near misses of rules that no pass has applied. Includes the rules
// of `host` and of PassContext::rule_files. Adds them to the log of `context`.
absl::Status ExplainUntried(Operation* module, PassContext& context, const HostRules& host = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_RULES_EXPLAIN_H_
