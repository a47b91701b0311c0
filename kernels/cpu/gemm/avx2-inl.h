// Vectors of AVX2 with FMA, for the files that are compiled for it (see tile-inl.h).
#ifndef TENON_KERNELS_CPU_GEMM_AVX2_INL_H_
#define TENON_KERNELS_CPU_GEMM_AVX2_INL_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/movement/transpose_avx2-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct Avx2 {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kMaxRows = 6;
  static constexpr int kRowsOfTwoPanels = 2;
  static constexpr int kRowsOfFourPanels = 1;
  static constexpr int kRowsOfStreams = 1;
  // Int8 tiles have twice the accumulators up to so many rows, and two factors beyond.
  static constexpr int kInt8SumRows = 2;
  static constexpr int kInt8Rows = 5;
  static constexpr int kInt8RowsOfTwoPanels = 1;

  // table[the lowest three bits of index].
  static constexpr int kLookups = 8;
  static Reg Lookup(const float (&table)[8], Reg index) {
    return _mm256_permutevar8x32_ps(_mm256_load_ps(table), _mm256_castps_si256(index));
  }
  static Reg Abs(Reg x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

  static Reg Zero() { return _mm256_setzero_ps(); }
  static Reg Set(float x) { return _mm256_set1_ps(x); }
  static Reg Load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg LoadInt8(const int8_t* p) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
  static void Store(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static __m256i First(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  // The first n <= kLanes elements, zeros beyond.
  static Reg LoadN(const float* p, int64_t n) { return _mm256_maskload_ps(p, First(n)); }
  static void StoreN(float* p, Reg x, int64_t n) { _mm256_maskstore_ps(p, First(n), x); }
  static Reg Add(Reg a, Reg b) { return a + b; }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  // The instruction returns its second operand where one is NaN.
  static Reg MaxKeepingNan(Reg x, Reg bound) { return _mm256_max_ps(bound, x); }
  static Reg MinKeepingNan(Reg x, Reg bound) { return _mm256_min_ps(bound, x); }
  static Reg IfLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static Reg PowerOfBits(__m256i exponent) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  // x * 2^n for the n + 254 in the lowest nine bits; two factors, because 2^n itself may not be
  // representable.
  static Reg ScaleByBits(Reg x, Reg bits) {
    const __m256i sum = _mm256_castps_si256(bits), half = _mm256_srli_epi32(sum, 1);
    return x * PowerOfBits(half) * PowerOfBits(_mm256_sub_epi32(sum, half));
  }

  // Columns of a matrix as rows: out[q * out_row + i] = in[i * in_row + q] for q < cols, and 0 for
  // rows <= i < wanted.
  static void Transpose(const float* in, int64_t in_row, int64_t rows, int64_t cols, float* out,
                        int64_t out_row, int64_t wanted) {
    __m256 r[8];
    const __m256i read = First(cols), write = First(wanted);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      r[i] = i < rows ? _mm256_maskload_ps(in + i * in_row, read) : _mm256_setzero_ps();
    }
    TransposeRegisters(r);
#pragma GCC unroll 8
    for (int q = 0; q < 8; ++q) {
      if (q < cols) _mm256_maskstore_ps(out + q * out_row, write, r[q]);
    }
  }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_AVX2_INL_H_
