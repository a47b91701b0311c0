// Numbers of the narrow element types (dtype.h): floats of 8 and 4 bits, integers of 4 and 2 bits.
#ifndef TENON_IR_BASE_NARROW_NUMBER_H_
#define TENON_IR_BASE_NARROW_NUMBER_H_

#include <cstdint>

#include "ir/base/dtype.h"

namespace tenon {

// How a number becomes one of fewer bits.
enum class NarrowRounding : uint8_t {
  kNearest,  // to the nearest number; of two, the even one, and for f8E8M0FNU the larger one
  kUp,       // away from zero
  kDown,     // towards zero
};

// Returns the number of an element. `dtype` must be narrow. Bits above those of the type have no
// effect. A NaN keeps its sign.
double NarrowToDouble(DType dtype, uint8_t element);

// Returns the element for a number, rounded once. `dtype` must be narrow.
//
// Floats: a number beyond the largest one becomes the largest with `saturate`. Without, it becomes
// infinity, or NaN where the type has no infinity. f4E2M1FN has neither and always saturates. A NaN
// becomes a NaN, and -0 in f4E2M1FN. -0 becomes 0 where the type has no -0.
//
// f8E8M0FNU: a negative number becomes NaN. Numbers below 2^-127 become 2^-127 with `saturate` and
// NaN without.
//
// Integers: a number beyond the range becomes the end of the range with `saturate`. Without, it
// keeps its lowest bits; numbers beyond 64 bits saturate at 64 bits first. NaN becomes 0.
uint8_t DoubleToNarrow(DType dtype, double value, bool saturate,
                       NarrowRounding rounding = NarrowRounding::kNearest);

// The lowest bits of an integer as an element of a narrow integer type.
uint8_t LowBits(DType dtype, uint64_t value);

// The bits of an element as they lie in memory, whatever stands above those of the type.
uint8_t NarrowElement(DType dtype, uint8_t bits);

// The distance of 1 from the next larger number, for a narrow float.
double NarrowEpsilon(DType dtype);

}  // namespace tenon

#endif  // TENON_IR_BASE_NARROW_NUMBER_H_
