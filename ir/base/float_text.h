// Decimal text of floating-point numbers, with the same digits as MLIR.
#ifndef TENON_IR_BASE_FLOAT_TEXT_H_
#define TENON_IR_BASE_FLOAT_TEXT_H_

#include <string>

#include "ir/base/dtype.h"

namespace tenon {

// Appends the text of `value`, which must be exact in the float type `dtype`. It has six
// significant digits if they read back as the same number, and more digits otherwise. Infinities,
// NaN and some large numbers print as their bits, such as "0x7F800000". Returns true if the bits
// were printed.
bool AppendFloat(std::string& out, DType dtype, double value);

}  // namespace tenon

#endif  // TENON_IR_BASE_FLOAT_TEXT_H_
