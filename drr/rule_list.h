// Rules of a phase before they are compiled for a Context: in which order they are tried, where,
// and what a program must have for them.
#ifndef TENON_DRR_RULE_LIST_H_
#define TENON_DRR_RULE_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "drr/rule.h"
#include "ir/core/op_info.h"

namespace tenon::drr {

// Parts of a rule that lie one in the other. Rules of more are refused where they are compiled.
inline constexpr int kMostDepth = 200;

// Some of the operations that rules of a list cannot do without.
using NeededOps = absl::InlinedVector<uint64_t, 2>;

// Immutable and free of any Context: shared by all of a process, and by threads. Rules need not be
// right: what is wrong in one shows when it is compiled.
class RuleList {
 public:
  explicit RuleList(std::vector<Rule> rules);

  // Those of higher benefit first, equal ones in the order given.
  const std::vector<Rule>& rules() const { return rules_; }
  // Numbers of the rules that may be rooted at an op, in their order; empty if none.
  const std::vector<uint16_t>& RulesAt(OpId op) const;

  // Notes that a program has the operation. `ops` begins empty.
  void Note(OpId op, NeededOps& ops) const;
  // Are all operations there without which the rule matches nothing?
  bool MayMatch(uint16_t rule, const NeededOps& ops) const {
    const NeededOps& needed = needed_[rule];
    for (size_t w = 0; w < needed.size(); ++w) {
      if ((needed[w] & ~(w < ops.size() ? ops[w] : 0)) != 0) return false;
    }
    return true;
  }

 private:
  std::vector<Rule> rules_;
  absl::flat_hash_map<OpId, std::vector<uint16_t>> by_root_;
  absl::flat_hash_map<OpId, uint32_t> numbers_;  // of operations that some rule needs
  std::vector<NeededOps> needed_;                // by rule
  std::vector<uint16_t> none_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_LIST_H_
