// Operations that work along axes which their attributes name.
#ifndef TENON_TRANSFORMS_AXIS_OPS_H_
#define TENON_TRANSFORMS_AXIS_OPS_H_

#include "ir/core/operation.h"

namespace tenon {

// Does `op` compute each line of elements along its attribute `axis` by itself, or put lines
// together or take them apart there?
bool WorksAlongAxis(const Operation& op);

// Does `op` reduce the axes of its attribute `axes`, which stay with one element if `keepdims`?
bool ReducesAxes(const Operation& op);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_AXIS_OPS_H_
