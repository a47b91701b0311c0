// Types around the regions of structured control flow.
#ifndef TENON_TRANSFORMS_CONTROL_TYPES_H_
#define TENON_TRANSFORMS_CONTROL_TYPES_H_

#include "ir/core/operation.h"

namespace tenon {

// What a loop's carried argument `i` can be instead, given that it is of its present type: the
// extents of the initial value, where the argument has names of its own for them and every run
// passes them on. The type that it has if there are none.
Type CarriedType(const Operation& loop, unsigned i);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_CONTROL_TYPES_H_
