// Vectors of AVX-512, for the files that are compiled for it (see tile-inl.h).
#ifndef TENON_KERNELS_CPU_GEMM_AVX512_INL_H_
#define TENON_KERNELS_CPU_GEMM_AVX512_INL_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/movement/transpose_avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct Avx512 {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kMaxRows = 14;
  static constexpr int kRowsOfTwoPanels = 6;
  static constexpr int kRowsOfFourPanels = 3;
  static constexpr int kRowsOfStreams = 3;
  static constexpr int kSteps = 1;
  // Int8 tiles have twice the accumulators up to so many rows, and two factors beyond.
  static constexpr int kInt8SumRows = 6;
  static constexpr int kInt8Rows = 12;
  static constexpr int kInt8RowsOfTwoPanels = 3;

  static Reg Zero() { return _mm512_setzero_ps(); }
  static Reg Set(float x) { return _mm512_set1_ps(x); }
  static Reg Load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg LoadInt8(const int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
  }
  static void Store(float* p, Reg x) { _mm512_storeu_ps(p, x); }
  static __mmask16 First(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
  // The first n <= kLanes elements, zeros beyond.
  static Reg LoadN(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(First(n), p); }
  static void StoreN(float* p, Reg x, int64_t n) { _mm512_mask_storeu_ps(p, First(n), x); }
  static Reg Add(Reg a, Reg b) { return a + b; }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  // The instruction returns its second operand where one is NaN.
  static Reg MaxKeepingNan(Reg x, Reg bound) { return _mm512_max_ps(bound, x); }
  static Reg MinKeepingNan(Reg x, Reg bound) { return _mm512_min_ps(bound, x); }
  static Reg IfLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  static Reg Abs(Reg x) { return _mm512_abs_ps(x); }
  // table[the lowest four bits of index]. So many entries has a table; 0: there are no lookups.
  static constexpr int kLookups = 16;
  static Reg Lookup(const float (&table)[16], Reg index) {
    return _mm512_permutexvar_ps(_mm512_castps_si512(index), _mm512_load_ps(table));
  }
  // x * 2^floor(n).
  static Reg ScaleFloor(Reg x, Reg n) { return _mm512_scalef_ps(x, n); }

  // Columns of a matrix as rows: out[q * out_row + i] = in[i * in_row + q] for q < cols, and 0 for
  // rows <= i < wanted.
  static void Transpose(const float* in, int64_t in_row, int64_t rows, int64_t cols, float* out,
                        int64_t out_row, int64_t wanted) {
    __m512 r[16];
    const __mmask16 read = First(cols), write = First(wanted);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      r[i] = i < rows ? _mm512_maskz_loadu_ps(read, in + i * in_row) : _mm512_setzero_ps();
    }
    TransposeRegisters(r);
#pragma GCC unroll 16
    for (int q = 0; q < 16; ++q) {
      if (q < cols) _mm512_mask_storeu_ps(out + q * out_row, write, r[q]);
    }
  }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_AVX512_INL_H_
