// Vectors of 16 floats: what tile-inl.h and few-inl.h are written in. Everything has internal
// linkage, since the including files are compiled for different instruction sets.
#ifndef TENON_KERNELS_CPU_ATTENTION_VECTOR_AVX512_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_VECTOR_AVX512_INL_H_

#include <immintrin.h>
#include <stdint.h>

#include "kernels/cpu/movement/transpose_avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int kLanes = 16;
// Rows that two vectors each of registers hold.
constexpr int kStripRows = 14;

using V = __m512;
using M = __mmask16;

inline V Zero() { return _mm512_setzero_ps(); }
inline V Set(float x) { return _mm512_set1_ps(x); }
inline V Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, V x) { _mm512_storeu_ps(p, x); }
inline M FirstLanes(int64_t n) { return static_cast<M>((1u << n) - 1); }
// The first n < kLanes elements; the others read as zero and are not written.
inline V LoadPart(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(FirstLanes(n), p); }
// One element, and zeros.
inline V LoadOne(const float* p) { return _mm512_zextps128_ps512(_mm_load_ss(p)); }
inline void StorePart(float* p, V x, int64_t n) { _mm512_mask_storeu_ps(p, FirstLanes(n), x); }
// kLanes bytes as numbers.
inline V LoadBytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

inline V Add(V a, V b) { return _mm512_add_ps(a, b); }
inline V Sub(V a, V b) { return _mm512_sub_ps(a, b); }
inline V Mul(V a, V b) { return _mm512_mul_ps(a, b); }
inline V Div(V a, V b) { return _mm512_div_ps(a, b); }
inline V MulAdd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
inline V NegMulAdd(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
// b where a or b is NaN.
inline V Max(V a, V b) { return _mm512_max_ps(a, b); }
inline V Min(V a, V b) { return _mm512_min_ps(a, b); }

// How powers of two are made of t >= kLeastPower, at most 127: the integer n nearest to t is kept
// in some form, Rounded is n, and Scale2 is p * 2^n for p of about 1 (where that would be subnormal
// it may be 0).
constexpr float kLeastPower = -160;
inline V RoundForPower(V t) { return _mm512_roundscale_ps(t, 8); }
inline V Rounded(V power) { return power; }
inline V Scale2(V p, V power) { return _mm512_scalef_ps(p, power); }

inline M Less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline M Equal(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
inline M Or(M a, M b) { return static_cast<M>(a | b); }
inline M None() { return 0; }
inline M All() { return 0xffff; }
// yes where m holds, else no.
inline V Select(M m, V yes, V no) { return _mm512_mask_blend_ps(m, no, yes); }

// Lane j: all lanes of v[j] put together by op.
template <V (*op)(V, V)>
inline __attribute__((always_inline)) V Across(const V (&v)[kLanes]) {
  V a[8], b[4];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    a[i] =
        op(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  }
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {  // in each quarter: a lane of v[4 * i], …, v[4 * i + 3]
    const __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
    b[i] =
        op(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
  }
#pragma GCC unroll 8
  for (int i = 0; i < 2; ++i) {
    a[i] = op(_mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x88),
              _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xdd));
  }
  return op(_mm512_shuffle_f32x4(a[0], a[1], 0x88), _mm512_shuffle_f32x4(a[0], a[1], 0xdd));
}
inline V SumsOf(const V (&v)[kLanes]) { return Across<Add>(v); }
inline V MaximaOf(const V (&v)[kLanes]) { return Across<Max>(v); }

// The same for eight vectors; the upper lanes repeat the lower ones.
template <V (*op)(V, V)>
inline __attribute__((always_inline)) V AcrossEight(const V (&v)[8]) {
  V a[4], b[2];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    a[i] =
        op(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {  // in each quarter: a lane of v[4 * i], …, v[4 * i + 3]
    const __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
    b[i] =
        op(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
  }
  // Quarters of b[0], b[1], b[0], b[1]; then each with the other of its kind.
  const V c = op(_mm512_shuffle_f32x4(b[0], b[1], 0x44), _mm512_shuffle_f32x4(b[0], b[1], 0xee));
  return op(_mm512_shuffle_f32x4(c, c, 0x88), _mm512_shuffle_f32x4(c, c, 0xdd));
}

inline float SumOfLanes(V x) { return _mm512_reduce_add_ps(x); }

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_VECTOR_AVX512_INL_H_
