// Which mask a function of the position is: padding, causal, a sliding window, or none of them.
#ifndef TENON_TRANSFORMS_MASK_CLASS_H_
#define TENON_TRANSFORMS_MASK_CLASS_H_

#include <span>
#include <string>

#include "transforms/mask_terms.h"

namespace tenon::mask {

// Key j is visible to query i of batch b when `keys` is true at (b, j), with `causal`
// j <= i + Sk - Sq, and with window > 0 j > i + Sk - Sq - window. Proved for all sizes.
struct MaskClass {
  bool known = false;
  std::string reason;  // if not known: what stopped the proof

  bool causal = false;
  int64_t window = 0;
  Ref keys = 0;           // a choice between true and false that depends on b and j alone
  bool all_keys = true;   // keys is true everywhere
  double mask_value = 0;  // what is added to the score of a hidden key; 0 if there is none

  bool all_visible() const { return known && !causal && window == 0 && all_keys; }
  // "none", "padding", "causal", "causal + padding", "window + padding", …; "general".
  std::string Name() const;
};

// `mask`: what is added to a score, or, of dtype kBool, whether the key is visible (mask_value is
// -inf then). The extents of the scores are those of `store.ranges`.
MaskClass Classify(TermStore& store, Ref mask);

// Are r of store a and s of store b the same function where the extents `ones` are 1, when a leaf's
// axis of such an extent is read at position 0 in s? False for functions that are merely put
// together in another order.
bool SameAtOne(const TermStore& a, Ref r, const TermStore& b, Ref s, std::span<const DimExpr> ones);

// The tensor that a leaf or an application comes from, for messages: "cumsum at /model/CumSum".
std::string Describe(const TermStore& store, Ref end);

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASK_CLASS_H_
