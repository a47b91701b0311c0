// Reading and writing single elements of every dtype.
#ifndef TENON_IR_BASE_ELEMENT_ACCESS_H_
#define TENON_IR_BASE_ELEMENT_ACCESS_H_

#include <cstddef>
#include <cstdint>

#include "ir/base/dtype.h"

namespace tenon {

// Returns the value of IEEE half-precision bits, which is exact.
double HalfToDouble(uint16_t bits);
// Rounds to the nearest half-precision number, ties to even. Too large values become infinite.
uint16_t DoubleToHalf(double value);
// Returns the value of bfloat16 bits, which is exact.
double BFloat16ToDouble(uint16_t bits);
// The same for bfloat16.
uint16_t DoubleToBFloat16(double value);
// Reads one element of `dtype` at `at`, which needs no alignment. Converts it as
// Attribute::ElementAsDouble does.
double LoadAsDouble(DType dtype, const std::byte* at);
// The same as an integer. Converts as Attribute::ElementAsInt does.
int64_t LoadAsInt(DType dtype, const std::byte* at);
// Writes one element of `dtype` at `at`, which needs no alignment. Floats round to nearest even.
// Integers are truncated toward zero and clamped to their range; NaN gives 0. A bool is true unless
// `value` is 0. Narrow floats saturate (narrow_number.h), but infinity stays infinity in f8E5M2.
void StoreFromDouble(DType dtype, double value, std::byte* at);

}  // namespace tenon

#endif  // TENON_IR_BASE_ELEMENT_ACCESS_H_
