// Masks that are a sum: positions that hide keys, and a number per key.
#ifndef TENON_TRANSFORMS_MASKS_MASK_SPLIT_H_
#define TENON_TRANSFORMS_MASKS_MASK_SPLIT_H_

#include <optional>

#include "transforms/masks/mask_class.h"

namespace tenon::mask {

// The two parts of such a mask.
struct SplitMask {
  MaskClass positions;  // known, with all_keys
  Ref keys = 0;         // a number that depends only on b and j
};

// Returns the two functions whose sum is `mask`; nullopt if there are none. Where a position hides
// a key, the original must be exactly the number of the key plus positions.mask_value.
std::optional<SplitMask> SplitOffPositions(TermStore& store, Ref mask);

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_SPLIT_H_
