// The normal form of the bounds of ten.slice.
#ifndef TENON_TRANSFORMS_NORMALIZE_SLICE_H_
#define TENON_TRANSFORMS_NORMALIZE_SLICE_H_

#include "ir/core/operation.h"

namespace tenon {

// Writes the bounds of ten.slice in their normal form: a forward window that reaches the end of its
// axis says so by the extent, bounds along constant extents are clamped and counted from the start,
// and axes that are kept whole are left out. True if that changed anything.
bool NormalizeSlice(Operation& slice);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_NORMALIZE_SLICE_H_
