// Conversion to bfloat16. Do not include this in a file that is compiled for one instruction set:
// the linker keeps one copy of an inline function for all files.
#ifndef TENON_IR_BASE_BFLOAT16_H_
#define TENON_IR_BASE_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace tenon {

// Returns the bits of the nearest bfloat16; ties round to even. A NaN becomes a quiet NaN.
inline uint16_t FloatToBFloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t quiet = bits | 0x400000u;
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) >> 16);
}

}  // namespace tenon

#endif  // TENON_IR_BASE_BFLOAT16_H_
