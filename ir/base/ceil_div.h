// Division that rounds up. Do not include this in a file that is compiled for one instruction set:
// the linker keeps one copy of an inline function for all files.
#ifndef TENON_IR_BASE_CEIL_DIV_H_
#define TENON_IR_BASE_CEIL_DIV_H_

#include <cstdint>

namespace tenon {

// Returns a / b, rounded up. Requires a >= 0, b > 0, and a + b - 1 in range.
inline constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tenon

#endif  // TENON_IR_BASE_CEIL_DIV_H_
