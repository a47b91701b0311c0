// Not for files of one instruction set: the linker keeps one copy of an inline function.
#ifndef TENON_IR_CORE_CEIL_DIV_H_
#define TENON_IR_CORE_CEIL_DIV_H_

#include <cstdint>

namespace tenon {

// a / b, rounded up. REQUIRES: a >= 0, b > 0.
inline constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tenon

#endif  // TENON_IR_CORE_CEIL_DIV_H_
