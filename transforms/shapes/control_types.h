// Types of values that loops carry.
#ifndef TENON_TRANSFORMS_SHAPES_CONTROL_TYPES_H_
#define TENON_TRANSFORMS_SHAPES_CONTROL_TYPES_H_

#include "ir/core/operation.h"

namespace tenon {

// Returns the type that the carried argument `i` of a loop can have instead of its own. It has the
// extents of the initial value wherever every iteration passes them on. Returns the present type if
// there are none.
Type CarriedType(const Operation& loop, unsigned i);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_SHAPES_CONTROL_TYPES_H_
