// Transposing in registers of AVX2, for the files that are compiled for it.
#ifndef TENON_KERNELS_CPU_MOVEMENT_TRANSPOSE_AVX2_INL_H_
#define TENON_KERNELS_CPU_MOVEMENT_TRANSPOSE_AVX2_INL_H_

#include <immintrin.h>

namespace tenon::kernels::cpu {
namespace {

// v[i] lane j <-> v[j] lane i.
inline __attribute__((always_inline)) void TransposeRegisters(__m256 (&v)[8]) {
  __m256 t[8];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    t[2 * k] = _mm256_unpacklo_ps(v[2 * k], v[2 * k + 1]);
    t[2 * k + 1] = _mm256_unpackhi_ps(v[2 * k], v[2 * k + 1]);
  }
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    v[4 * k + 0] = _mm256_shuffle_ps(t[4 * k], t[4 * k + 2], 0x44);
    v[4 * k + 1] = _mm256_shuffle_ps(t[4 * k], t[4 * k + 2], 0xee);
    v[4 * k + 2] = _mm256_shuffle_ps(t[4 * k + 1], t[4 * k + 3], 0x44);
    v[4 * k + 3] = _mm256_shuffle_ps(t[4 * k + 1], t[4 * k + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm256_permute2f128_ps(v[c], v[4 + c], 0x20);
    t[4 + c] = _mm256_permute2f128_ps(v[c], v[4 + c], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) v[i] = t[i];
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_MOVEMENT_TRANSPOSE_AVX2_INL_H_
