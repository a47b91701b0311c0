// Fused operations as the operations that they join.
#ifndef TENON_TRANSFORMS_EXPAND_FUSED_PARTS_H_
#define TENON_TRANSFORMS_EXPAND_FUSED_PARTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/operation.h"
#include "transforms/expand/formula.h"

namespace tenon {

// How far fused operations are taken apart.
enum class FusedExpansion : uint8_t {
  // Only those that join a fused operation with others: a norm, a second layer, a move. Groups with
  // steps over rows count.
  kPairs,
  kAll  // all, until none of the dialect fused is left
};

// Creates the parts of `op` before it. Returns the values of its results, in order; a result
// without uses may be null. Empty if `op` stays as it is: it is not one of these, or its extents
// are not known. The parts may be fused operations themselves.
absl::StatusOr<std::vector<Value>> FusedPartsOf(Operation& op, FusedExpansion expansion);

// Attention as products and a softmax. All operands are [batch, heads, sequence, size]; `keys` are
// transposed in their last two axes if `keys_transposed`.
struct AttentionParts {
  Value queries, keys, values;  // with as many heads
  bool keys_transposed = false;
  double scale = 1, softcap = 0;
  // Conditions under which a query sees a key, in shapes that broadcast to the scores; null: true.
  Value visible;
  Value bias, mask;                     // summands of the scores, in this order; may be null
  double hidden_value = 0;              // what a hidden score gets …
  bool replaces = false, last = false;  // … in its place: before the summands, or after them
  bool zeros_if_hidden = false;         // a row of -inf gives zeros
  bool zero_nan_weights = false;        // weights that are NaN count as zeros
};
// Returns the result, [batch, heads, queries, size]. Null after an error of `f`.
Value MakeAttention(OpFormula& f, const AttentionParts& parts);
// Returns which keys the flags and the key mask of fused.attention, the operation of `f`, let a
// query see: a condition that broadcasts to [batch, 1, queries, keys]; null for all.
Value VisibleKeys(OpFormula& f, DimExpr queries, DimExpr keys);
// Repeats each head of [batch, heads, sequence, size], so that there are `heads`.
Value RepeatHeads(OpFormula& f, Value x, int64_t heads);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_EXPAND_FUSED_PARTS_H_
