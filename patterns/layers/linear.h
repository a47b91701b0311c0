// Helpers shared by the families around fused.linear.
#ifndef TENON_PATTERNS_LAYERS_LINEAR_H_
#define TENON_PATTERNS_LAYERS_LINEAR_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

// The rule that moves the factor of linear(x, w, b) * k into the weights. The factor is a number,
// or has one element per column.
Rule LinearScale(const char* name, bool number, bool transposed, bool with_bias,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_LAYERS_LINEAR_H_
