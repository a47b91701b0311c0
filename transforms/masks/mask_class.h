// Classes of masks: padding, causal, sliding window, or none of these.
#ifndef TENON_TRANSFORMS_MASKS_MASK_CLASS_H_
#define TENON_TRANSFORMS_MASKS_MASK_CLASS_H_

#include <span>
#include <string>

#include "transforms/masks/mask_terms.h"

namespace tenon::mask {

// Key j is visible to query i of batch b if `keys` is true at (b, j). With `causal`, j <= i + Sk -
// Sq must hold. With window > 0, j > i + Sk - Sq - window must hold. Proved for all sizes.
struct MaskClass {
  bool known = false;
  std::string reason;  // if not known: why the proof failed

  bool causal = false;
  int64_t window = 0;
  Ref keys = 0;           // a choice between true and false that depends only on b and j
  bool all_keys = true;   // `keys` is true everywhere
  double mask_value = 0;  // added to the score of a hidden key; 0 if no key is hidden

  bool all_visible() const { return known && !causal && window == 0 && all_keys; }
  // "none", "padding", "causal", "causal + padding", "window + padding", …; "general".
  std::string Name() const;
};

// Finds the class of `mask`. It is the number added to a score, or a bool that says whether the key
// is visible (mask_value is -inf then). The extents of the scores are those of `store.ranges`.
MaskClass Classify(TermStore& store, Ref mask);

// True if r of `a` and s of `b` are the same function where the extents `ones` are 1. In s, a
// leaf's axis of such an extent is read at position 0. False for functions that are composed in
// another order.
bool SameAtOne(const TermStore& a, Ref r, const TermStore& b, Ref s, std::span<const DimExpr> ones);

// Returns the tensor of a leaf or an application for messages: "cumsum at /model/CumSum".
std::string Describe(const TermStore& store, Ref end);

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_CLASS_H_
