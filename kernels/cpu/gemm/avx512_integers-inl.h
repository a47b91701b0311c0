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
