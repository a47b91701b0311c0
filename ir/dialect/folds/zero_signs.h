// Whether the sign of a zero matters: x + 0 is x but for x = -0.
#ifndef TENON_IR_DIALECT_FOLDS_ZERO_SIGNS_H_
#define TENON_IR_DIALECT_FOLDS_ZERO_SIGNS_H_

#include "ir/core/value.h"

namespace tenon {

// True if an element of `value` may be -0. It looks at the operations that compute it, 8 deep at
// most. The sign of a zero that is a sum of products is nowhere defined and counts as +0.
bool MayBeNegativeZero(Value value);

// True if a user of `value`, or of what is computed from it, may tell +0 from -0, as a division by
// it does. It looks at 200 operations at most. A function's result does not tell. A value without
// users may still get some, and counts as told.
bool MayTellSignOfZero(Value value);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_FOLDS_ZERO_SIGNS_H_
