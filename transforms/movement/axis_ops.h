// Operations that work along axes named by their attributes.
#ifndef TENON_TRANSFORMS_MOVEMENT_AXIS_OPS_H_
#define TENON_TRANSFORMS_MOVEMENT_AXIS_OPS_H_

#include "ir/core/operation.h"

namespace tenon {

// True if `op` treats each line of elements along its attribute `axis` as a unit. Such an op
// computes each line by itself, or concatenates or splits along that axis.
bool WorksAlongAxis(const Operation& op);

// True if `op` reduces the axes of its attribute `axes`; with `keepdims` they stay with one
// element.
bool ReducesAxes(const Operation& op);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_MOVEMENT_AXIS_OPS_H_
