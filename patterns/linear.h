// What the families around fused.linear share.
#ifndef TENON_PATTERNS_LINEAR_H_
#define TENON_PATTERNS_LINEAR_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

// linear(x, w, b) * k with the factor in the weights; k is a number, or has one for each column.
Rule LinearScale(const char* name, bool number, bool transposed, bool with_bias,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LINEAR_H_
