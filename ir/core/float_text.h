// Decimal text of floating-point numbers, digit for digit as MLIR prints them.
#ifndef TENON_IR_CORE_FLOAT_TEXT_H_
#define TENON_IR_CORE_FLOAT_TEXT_H_

#include <string>

#include "ir/core/dtype.h"

namespace tenon {

// Appends `value` (exact in `dtype`, a float type): six significant digits when they read back as
// the same number, else enough digits, else (infinities, NaN, large integers) the bits as
// "0x7F800000". Returns whether the bits were printed.
bool AppendFloat(std::string& out, DType dtype, double value);

}  // namespace tenon

#endif  // TENON_IR_CORE_FLOAT_TEXT_H_
