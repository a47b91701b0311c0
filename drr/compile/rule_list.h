// The rules of a phase before they are compiled for a Context: their order, and the ops that they
// need.
#ifndef TENON_DRR_COMPILE_RULE_LIST_H_
#define TENON_DRR_COMPILE_RULE_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "drr/rule/rule.h"
#include "ir/core/context/op_info.h"

namespace tenon::drr {

// The deepest nesting of a rule's graph. Deeper rules are refused when they are compiled.
inline constexpr int kMostDepth = 200;

// A set of operations that rules of a list need, as bits.
using NeededOps = absl::InlinedVector<uint64_t, 2>;

// Immutable and free of any Context, so that threads and Contexts can share it. Rules may be wrong:
// CompiledRules reports mistakes.
class RuleList {
 public:
  explicit RuleList(std::vector<Rule> rules);

  // The rules, higher benefit first; equal ones in the order given.
  const std::vector<Rule>& rules() const { return rules_; }
  // Returns the numbers of the rules that can be rooted at an op, in their order.
  const std::vector<uint16_t>& RulesAt(OpId op) const;

  // Adds to `ops`, which begins empty, that a program has the operation `op`.
  void Note(OpId op, NeededOps& ops) const;
  // What a program has that has all operations which some rule needs.
  NeededOps AllNeeded() const {
    NeededOps all;
    for (const auto& [op, number] : numbers_) Note(op, all);
    return all;
  }
  // False if the program lacks an operation without which the rule matches nothing.
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

#endif  // TENON_DRR_COMPILE_RULE_LIST_H_
