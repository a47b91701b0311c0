// Vectors of AVX-512 whose lanes are integers of 32 bits in the bits of floats, for the tiles of
// products of bytes.
#ifndef TENON_KERNELS_CPU_GEMM_AVX512_INTEGERS_INL_H_
#define TENON_KERNELS_CPU_GEMM_AVX512_INTEGERS_INL_H_

#include "kernels/cpu/gemm/avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct Avx512Integers : Avx512 {
  static constexpr int kRowsOfStreams = 2;  // of three GCC keeps some in memory
  static __m512i Ints(Reg x) { return _mm512_castps_si512(x); }
  static Reg Bits(__m512i x) { return _mm512_castsi512_ps(x); }
  static Reg Add(Reg a, Reg b) { return Bits(_mm512_add_epi32(Ints(a), Ints(b))); }
  static Reg SubProduct(Reg x, Reg a, Reg b) {
    return Bits(_mm512_sub_epi32(Ints(x), _mm512_mullo_epi32(Ints(a), Ints(b))));
  }
  static Reg SetInt(int32_t x) { return Bits(_mm512_set1_epi32(x)); }
  static Reg FromInt(Reg x) { return _mm512_cvtepi32_ps(Ints(x)); }
  // The nearest integers, even ones of two.
  static Reg ToInt(Reg x) { return Bits(_mm512_cvtps_epi32(x)); }
  // The lowest bytes of the first n <= kLanes lanes.
  static void StoreBytes(uint8_t* p, Reg x, int64_t n) {
    const __m128i bytes = _mm512_cvtepi32_epi8(Ints(x));
    if (n >= kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    } else if (n > 0) {
      _mm_mask_storeu_epi8(p, First(n), bytes);
    }
  }
  // Two rows of two vectors each, plus `zero`, as bytes with or without a sign that keep to their
  // range: the first n bytes of each row.
  static void StoreRows(const Reg (&x)[2][2], int zero, bool is_signed, uint8_t* const (&to)[2],
                        int64_t n) {
    const __m512i zeros = _mm512_set1_epi16(static_cast<int16_t>(zero));
    const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(Ints(x[0][0]), Ints(x[0][1])), zeros);
    const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(Ints(x[1][0]), Ints(x[1][1])), zeros);
    // Packing goes by parts of 16 bytes: lane by lane four bytes of each vector.
    const __m512i by_lane = is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i rows = _mm512_permutexvar_epi32(order, by_lane);
    const __m256i first = _mm512_castsi512_si256(rows), second = _mm512_extracti64x4_epi64(rows, 1);
    if (n >= 2 * kLanes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[0]), first);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[1]), second);
    } else {
      const auto mask = static_cast<__mmask32>((uint64_t{1} << n) - 1);
      _mm256_mask_storeu_epi8(to[0], mask, first);
      _mm256_mask_storeu_epi8(to[1], mask, second);
    }
  }
};

// Products of pairs of 16-bit integers.
struct Avx512Pairs : Avx512Integers {
  static constexpr int kDepth = 2;
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm512_add_epi32(Ints(sum), _mm512_madd_epi16(Ints(a), Ints(b))));
  }
};

#if defined(__AVX512VNNI__)
// Products of four unsigned bytes with four signed ones.
struct Avx512Fours : Avx512Integers {
  static constexpr int kDepth = 4;
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm512_dpbusd_epi32(Ints(sum), Ints(a), Ints(b)));
  }
};
#endif

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_AVX512_INTEGERS_INL_H_
