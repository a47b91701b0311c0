// The normal form of the bounds of ten.slice.
#ifndef TENON_TRANSFORMS_SHAPES_NORMALIZE_SLICE_H_
#define TENON_TRANSFORMS_SHAPES_NORMALIZE_SLICE_H_

#include "ir/core/operation.h"

namespace tenon {

// Rewrites the bounds of `slice`, a ten.slice, in normal form; true if that changed anything. A
// forward window that reaches the end of its axis ends at the extent. Bounds along constant extents
// are clamped and not negative. Axes that are kept whole are left out.
bool NormalizeSlice(Operation& slice);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_NORMALIZE_SLICE_H_
