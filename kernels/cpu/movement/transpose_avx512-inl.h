// Transposing in registers of AVX-512, for the files that are compiled for it.
#ifndef TENON_KERNELS_CPU_MOVEMENT_TRANSPOSE_AVX512_INL_H_
#define TENON_KERNELS_CPU_MOVEMENT_TRANSPOSE_AVX512_INL_H_

#include <immintrin.h>

namespace tenon::kernels::cpu {
namespace {

// v[i] lane j <-> v[j] lane i.
inline __attribute__((always_inline)) void TransposeRegisters(__m512 (&v)[16]) {
  __m512 t[16];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    t[2 * k] = _mm512_unpacklo_ps(v[2 * k], v[2 * k + 1]);
    t[2 * k + 1] = _mm512_unpackhi_ps(v[2 * k], v[2 * k + 1]);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    v[4 * k + 0] = _mm512_shuffle_ps(t[4 * k], t[4 * k + 2], 0x44);
    v[4 * k + 1] = _mm512_shuffle_ps(t[4 * k], t[4 * k + 2], 0xee);
    v[4 * k + 2] = _mm512_shuffle_ps(t[4 * k + 1], t[4 * k + 3], 0x44);
    v[4 * k + 3] = _mm512_shuffle_ps(t[4 * k + 1], t[4 * k + 3], 0xee);
  }
  // Now v[4 k + c] has, in quarter q, elements 4 q + c of the vectors 4 k to 4 k + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 low0 = _mm512_shuffle_f32x4(v[c], v[4 + c], 0x44);
    const __m512 low1 = _mm512_shuffle_f32x4(v[c], v[4 + c], 0xee);
    const __m512 high0 = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0x44);
    const __m512 high1 = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0xee);
    t[c] = _mm512_shuffle_f32x4(low0, high0, 0x88);
    t[4 + c] = _mm512_shuffle_f32x4(low0, high0, 0xdd);
    t[8 + c] = _mm512_shuffle_f32x4(low1, high1, 0x88);
    t[12 + c] = _mm512_shuffle_f32x4(low1, high1, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = t[i];
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_MOVEMENT_TRANSPOSE_AVX512_INL_H_
