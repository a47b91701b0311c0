// Masks that are a sum: keys hidden by position, and a number for each key.
#ifndef TENON_TRANSFORMS_MASK_SPLIT_H_
#define TENON_TRANSFORMS_MASK_SPLIT_H_

#include <optional>

#include "transforms/mask_class.h"

namespace tenon::mask {

struct SplitMask {
  MaskClass positions;  // known, with all_keys
  Ref keys = 0;         // a number that depends on b and j alone
};

// The two functions whose sum `mask` is; null if it is no such sum. Where a key is hidden, the
// original must be exactly the number of the key with positions.mask_value added.
std::optional<SplitMask> SplitOffPositions(TermStore& store, Ref mask);

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASK_SPLIT_H_
