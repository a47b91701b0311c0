// What rewrite rules did in a run, and where they nearly matched. Passes fill it; reports print it.
#ifndef TENON_PASS_RULE_LOG_H_
#define TENON_PASS_RULE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pass/reports/hit_index.h"

namespace tenon {

// One application of a rule. Nodes are those of the model, or positions in a text.
struct RuleHit {
  std::string rule;                // the name of the rule
  std::vector<std::string> nodes;  // of the matched ops, that of the anchor first
  std::vector<std::string> made;   // such as "fused.linear at /layer/MatMul"
};

// A place where a rule nearly matches.
struct RuleMiss {
  // One op that does not fit, and the reason.
  struct Stop {
    std::string node;    // the node of the op
    std::string reason;  // why it does not fit
    bool operator==(const Stop&) const = default;
  };
  std::string rule;     // the name of the rule, or of a pass (reports/pass_log.h)
  int matched_ops = 0,  // ops that fit
      wanted_ops = 0;   // ops that the rule needs; 0 for a pass
  // The size of the mismatch in relation to the rule. Smaller is better.
  double cost = 0;
  // False if little matches. Reports tell such a miss only if one of its nodes is asked for, or if
  // the rule has no other.
  bool near = true;
  std::vector<std::string> nodes;  // of the ops that match, that of the anchor first
  std::vector<Stop> stops;         // what does not fit, in order of discovery; never empty
  std::vector<Stop> alternatives;  // changes that would do instead of the first stop
  bool matches = false;            // all fits: the rule fires here when it is applied
  bool written = false;            // found in the program as it is written, before any rule
  std::string taken_by;            // the rule that has replaced a part of it since
  size_t hits_before = 0;          // length of RuleLog::hits at the time it was found
};

// A change of any kind: by a rule, a fold, or a pass without rules.
struct ProgramChange {
  std::string by;                  // "rule gelu-erf", "a fold", "pass cse"
  std::string pass;                // that ran
  std::vector<std::string> nodes;  // of the ops that are no longer there
  std::vector<std::string> made;   // as RuleHit
};

// What rules did in a run. Not thread-safe.
struct RuleLog {
  // Set by the caller: rules whose near misses are recorded; null records none.
  std::function<bool(std::string_view rule)> wanted;
  // Restricts near misses to places that involve one of these nodes, even if little matches there.
  // Empty means all places.
  std::set<std::string, std::less<>> nodes;
  // Leaves out misses where little matches (RuleMiss::near), even if a rule has no other. Has no
  // effect with `nodes`. A search for near ones alone is much shorter.
  bool only_near = false;
  // Wanted rules that are recorded only because they create what other wanted rules match.
  std::set<std::string, std::less<>> below;

  std::vector<RuleHit> hits;       // applications, in order
  std::vector<std::string> tried;  // rules that some pass has applied, in order
  // By function and rule, best first. Holds the misses of the last attempt, and earlier ones that
  // still stand.
  using Misses = std::map<std::pair<std::string, std::string>, std::vector<RuleMiss>>;
  Misses misses;                                          // where rules nearly matched
  std::set<std::string, std::less<>> given;               // wanted rules that are not built in
  std::map<std::string, std::string, std::less<>> roots;  // the op at which each of these begins
  // For these: misses in the program as it is written, before any pass but
  // infer-shapes. What matches there is a miss too.
  std::vector<RuleMiss> written;
  std::set<std::string, std::less<>> cut_off;  // rules whose near misses were not all looked for
  std::vector<ProgramChange> changes;  // of the run, in order; recorded for `given` rules only
  std::set<std::string, std::less<>> disabled;  // rules that this run does not apply
  std::map<std::string, std::string>
      places;      // of definitions, by rule: "patterns/layers/norm.cc:12"
  HitIndex index;  // of `hits`; whoever reads it updates it first
  // What recording took: steps of matching and places that were compared. Equal runs take equal
  // numbers.
  int64_t steps = 0;
};

// Requires log.wanted. Returns lines for people: where the wanted rules fired and where they nearly
// matched, with one miss per place. `title` is what the user asked for.
std::string ExplainText(const RuleLog& log, std::string_view title);
std::string FusionReportText(const RuleLog& log);  // the whole log, one paragraph per rule
std::string FusionReportJson(const RuleLog& log);  // the whole log as JSON

}  // namespace tenon

#endif  // TENON_PASS_RULE_LOG_H_
