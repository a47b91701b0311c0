// What rewrite rules did in a run, and where they nearly did something: filled by passes, told by
// reports.
#ifndef TENON_PASS_RULE_LOG_H_
#define TENON_PASS_RULE_LOG_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

// One application of a rule. Nodes are those of the model, or positions in a text.
struct RuleHit {
  std::string rule;
  std::vector<std::string> nodes;  // matched, the anchor's first
  std::vector<std::string> made;   // "fused.linear at /layer/MatMul"
};

// A place that a rule nearly matches.
struct RuleMiss {
  struct Stop {
    std::string node;
    std::string reason;
    bool operator==(const Stop&) const = default;
  };
  std::string rule;
  int matched_ops = 0, wanted_ops = 0;
  double cost = 0;                 // of what is wrong, by the size of the rule; for the order
  bool near = true;                // false: little fits, told only to who asks for one of its nodes
  std::vector<std::string> nodes;  // that match, the anchor's first
  std::vector<Stop> stops;         // what does not fit, first met first; never empty
  std::vector<Stop> alternatives;  // what could change instead of the first stop
  std::string taken_by;            // the rule that has taken a part of it since
  size_t hits_before = 0;          // length of RuleLog::hits when it was found
};

struct RuleLog {
  // What is asked for: near misses of which rules (empty: of none), and of which nodes (empty: all;
  // otherwise only what has to do with one of these, even if little of it matches).
  std::function<bool(std::string_view rule)> wanted;
  std::set<std::string, std::less<>> nodes;
  // Wanted rules that are not asked for themselves: they make what those match.
  std::set<std::string, std::less<>> below;

  std::vector<RuleHit> hits;
  std::vector<std::string> tried;  // rules that some pass has applied, in order
  // By function and rule, best first: in the state in which the rule was tried last, and what was
  // found earlier and still stands.
  using Misses = std::map<std::pair<std::string, std::string>, std::vector<RuleMiss>>;
  Misses misses;
  std::map<std::string, std::string> places;  // of the rules: "patterns/norm.cc:12"
};

// Lines for people: where the rules fired, and the nearest misses, of several at one place the
// best. `title`: what was asked for.
std::string ExplainText(const RuleLog& log, std::string_view title);
// The whole log: a paragraph for each rule, or JSON.
std::string FusionReportText(const RuleLog& log);
std::string FusionReportJson(const RuleLog& log);

}  // namespace tenon

#endif  // TENON_PASS_RULE_LOG_H_
