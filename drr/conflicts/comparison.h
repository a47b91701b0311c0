// Comparisons that conditions make, and which of them follow from others.
#ifndef TENON_DRR_CONFLICTS_COMPARISON_H_
#define TENON_DRR_CONFLICTS_COMPARISON_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "drr/rule/condition.h"
#include "drr/rule/term.h"

namespace tenon::drr {

// What a condition says of one quantity: that it is one of several values, lies between two bounds,
// or is any number but one.
struct Claim {
  const TermNode* term = nullptr;  // the quantity; null: `word` of the first argument
  std::string_view word;           // "rank", "dim", "dtype"
  int64_t axis = 0;                // of "dim"
  std::vector<AttrValue> values;   // empty: not that
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false, below_high = false;  // the bounds themselves are left out
  std::optional<double> but;
};

// Nothing for conditions that compare no quantity with literals.
std::optional<Claim> ClaimOf(const ConditionNode& node);

// Does the second claim hold wherever the first one does, if both are about one quantity?
bool Implies(const Claim& known, const Claim& asked);

}  // namespace tenon::drr

#endif  // TENON_DRR_CONFLICTS_COMPARISON_H_
