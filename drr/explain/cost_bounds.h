// What near misses of a rule can cost, judged from the rule alone. A search for near misses leaves
// out what these bounds exclude.
#ifndef TENON_DRR_EXPLAIN_COST_BOUNDS_H_
#define TENON_DRR_EXPLAIN_COST_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "drr/compile/compiled.h"

namespace tenon::drr {

// The most that a near miss may cost, views aside: one thing of a small rule, half of a larger one.
// `wanted_ops` are the ops of the rule.
int MostCostOfNear(int wanted_ops);

// Immutable. Costs are those of Alignment::cost().
class CostBounds {
 public:
  // `rule` need not outlive the bounds.
  explicit CostBounds(const CompiledRule& rule);

  // The most that any near miss of the rule costs, views aside.
  int most() const { return most_; }
  // The most that the mismatches below op node `n` cost if all above it is absent. Negative if no
  // near miss begins at `n`.
  int MostBelow(uint16_t n) const { return most_below_[n]; }
  // Op nodes that do not match if the value of node `n` is not what the rule wants. A node that the
  // rule reaches in several ways may match nevertheless, and does not count.
  int SurelyLost(uint16_t n) const { return surely_lost_[n]; }

 private:
  int most_ = 0;
  std::vector<int> most_below_, surely_lost_;  // by node
};

}  // namespace tenon::drr

#endif  // TENON_DRR_EXPLAIN_COST_BOUNDS_H_
