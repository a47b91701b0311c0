// Not for files of one instruction set: the linker keeps one copy of an inline function.
#ifndef TENON_IR_CORE_BFLOAT16_H_
#define TENON_IR_CORE_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace tenon {

// The bits of the nearest bfloat16, ties to even; a NaN remains one, quiet.
inline uint16_t FloatToBFloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t quiet = bits | 0x400000u;
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) >> 16);
}

}  // namespace tenon

#endif  // TENON_IR_CORE_BFLOAT16_H_
