// Helpers for loops over registers, for files of one instruction set.
#ifndef TENON_KERNELS_CPU_GEMM_UNROLL_INL_H_
#define TENON_KERNELS_CPU_GEMM_UNROLL_INL_H_

#include <cstdint>

#ifdef __clang__
#define TENON_UNROLL _Pragma("unroll")
#else
#define TENON_UNROLL _Pragma("GCC unroll 16")
#endif

namespace tenon::kernels::cpu {
namespace {

// Returns n within [low, high].
inline int64_t Clamp(int64_t n, int64_t low, int64_t high) {
  return n < low ? low : n > high ? high : n;
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_UNROLL_INL_H_
