// Vectors of 8 floats, see vector_avx512-inl.h.
#ifndef TENON_KERNELS_CPU_ATTENTION_VECTOR_AVX2_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_VECTOR_AVX2_INL_H_

#include <immintrin.h>
#include <stdint.h>

#include "kernels/cpu/movement/transpose_avx2-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int kLanes = 8;
constexpr int kStripRows = 6;

using V = __m256;
using M = __m256;  // all bits of a lane alike

inline V Zero() { return _mm256_setzero_ps(); }
inline V Set(float x) { return _mm256_set1_ps(x); }
inline V Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, V x) { _mm256_storeu_ps(p, x); }
inline __m256i FirstN(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline M FirstLanes(int64_t n) { return _mm256_castsi256_ps(FirstN(n)); }
inline V LoadPart(const float* p, int64_t n) { return _mm256_maskload_ps(p, FirstN(n)); }
inline void StorePart(float* p, V x, int64_t n) { _mm256_maskstore_ps(p, FirstN(n), x); }
inline V LoadBytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

inline V Add(V a, V b) { return _mm256_add_ps(a, b); }
inline V Sub(V a, V b) { return _mm256_sub_ps(a, b); }
inline V Mul(V a, V b) { return _mm256_mul_ps(a, b); }
inline V Div(V a, V b) { return _mm256_div_ps(a, b); }
inline V MulAdd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
inline V NegMulAdd(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
inline V Max(V a, V b) { return _mm256_max_ps(a, b); }
inline V Min(V a, V b) { return _mm256_min_ps(a, b); }

inline M Less(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline M Equal(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
inline M Or(M a, M b) { return _mm256_or_ps(a, b); }
inline M None() { return Zero(); }
inline M All() { return _mm256_cmp_ps(Zero(), Zero(), _CMP_EQ_OQ); }
inline V Select(M m, V yes, V no) { return _mm256_blendv_ps(no, yes, m); }

// A sum with n + 127, the exponent of 2^n, in its lowest bits; that of -127 is 0.
constexpr float kLeastPower = -127, kPowerShift = 12582912.0f + 127;
inline V RoundForPower(V t) { return Add(t, Set(kPowerShift)); }
inline V Rounded(V power) { return Sub(power, Set(kPowerShift)); }
inline V Scale2(V p, V power) {
  return Mul(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(power), 23)));
}

template <V (*op)(V, V)>
inline __attribute__((always_inline)) V Across(const V (&v)[kLanes]) {
  V a[4], b[2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    a[i] =
        op(_mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 2; ++i) {
    b[i] = op(_mm256_shuffle_ps(a[2 * i], a[2 * i + 1], 0x44),
              _mm256_shuffle_ps(a[2 * i], a[2 * i + 1], 0xee));
  }
  return op(_mm256_permute2f128_ps(b[0], b[1], 0x20), _mm256_permute2f128_ps(b[0], b[1], 0x31));
}
inline V SumsOf(const V (&v)[kLanes]) { return Across<Add>(v); }
inline V MaximaOf(const V (&v)[kLanes]) { return Across<Max>(v); }

inline float SumOfLanes(V x) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_VECTOR_AVX2_INL_H_
