// A log of rules as its reports read it: by rule and by node.
#ifndef TENON_PASS_REPORTS_LOG_VIEW_H_
#define TENON_PASS_REPORTS_LOG_VIEW_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "pass/rule_log.h"

namespace tenon {

// Reads a log that does not change and outlives it. Not thread-safe.
class LogView {
 public:
  explicit LogView(const RuleLog& log);

  // Returns the hits of the rule, in order. With RuleLog::nodes only those that matched one of
  // them.
  const std::vector<const RuleHit*>& HitsOf(std::string_view rule) const;
  // Returns the misses of the rule that the log tells, nearest first. `far`: also those where
  // little matches, though no node is asked for.
  std::vector<const RuleMiss*> MissesOf(std::string_view rule, bool far = false) const;
  // Did the rule fire at one of these nodes?
  bool Fired(std::string_view rule, const std::vector<std::string>& nodes) const;
  // Did the rule fire at operations that have no nodes? They may be anywhere.
  bool FiredUnnamed(std::string_view rule) const;
  // Returns the first change from position `begin` on that took one of these nodes, of those alone
  // that made something if `making`; null if there is none.
  const ProgramChange* FirstChange(const std::vector<std::string>& nodes, size_t begin = 0,
                                   bool making = false) const;

 private:
  struct OfRule {
    std::vector<const RuleHit*> hits, hits_here;
    std::vector<const std::vector<RuleMiss>*> misses;
  };
  const OfRule* Find(std::string_view rule) const;

  const RuleLog& log_;
  absl::flat_hash_map<std::string_view, OfRule> rules_;
  absl::flat_hash_map<std::string_view, std::vector<size_t>> changes_, making_;  // by node
  absl::flat_hash_map<std::string_view, std::vector<std::string_view>> fired_;   // rules by node
};

// Orders misses, nearest first.
inline bool IsNearer(const RuleMiss& a, const RuleMiss& b) { return a.cost < b.cost; }

}  // namespace tenon

#endif  // TENON_PASS_REPORTS_LOG_VIEW_H_
