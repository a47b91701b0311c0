// Whether an operation may be run where the program would not have run it.
#ifndef TENON_TRANSFORMS_CONTROL_MAY_FAIL_H_
#define TENON_TRANSFORMS_CONTROL_MAY_FAIL_H_

#include "ir/core/operation.h"

namespace tenon {

// False if the operation has no effect and no values of its operands make it fail. An index may be
// out of range, an integer divisor 0, and extents that are not known may not fit: such operations
// must not run where a condition or an empty loop keeps the program from them.
bool MayFail(const Operation& op);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_CONTROL_MAY_FAIL_H_
