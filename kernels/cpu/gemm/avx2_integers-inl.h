// Vectors of AVX2 whose lanes are integers of 32 bits in the bits of floats, for products of pairs
// of 16-bit integers.
#ifndef TENON_KERNELS_CPU_GEMM_AVX2_INTEGERS_INL_H_
#define TENON_KERNELS_CPU_GEMM_AVX2_INTEGERS_INL_H_

#include <cstring>

#include "kernels/cpu/gemm/avx2-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct Avx2Integers : Avx2 {
  static constexpr int kDepth = 2;
  static constexpr int kSteps = 1;
  static __m256i Ints(Reg x) { return _mm256_castps_si256(x); }
  static Reg Bits(__m256i x) { return _mm256_castsi256_ps(x); }
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm256_add_epi32(Ints(sum), _mm256_madd_epi16(Ints(a), Ints(b))));
  }
  static Reg Add(Reg a, Reg b) { return Bits(_mm256_add_epi32(Ints(a), Ints(b))); }
  static Reg SubProduct(Reg x, Reg a, Reg b) {
    return Bits(_mm256_sub_epi32(Ints(x), _mm256_mullo_epi32(Ints(a), Ints(b))));
  }
  static Reg SetInt(int32_t x) { return Bits(_mm256_set1_epi32(x)); }
  static Reg FromInt(Reg x) { return _mm256_cvtepi32_ps(Ints(x)); }
  // The nearest integers, even ones of two.
  static Reg ToInt(Reg x) { return Bits(_mm256_cvtps_epi32(x)); }
  // The lowest bytes of the first n <= kLanes lanes.
  static void StoreBytes(uint8_t* p, Reg x, int64_t n) {
    const __m256i at =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                         0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(Ints(x), at);
    const __m128i joined =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    const int64_t all = _mm_cvtsi128_si64(joined);
    if (n >= kLanes) {
      std::memcpy(p, &all, 8);
    } else if (n > 0) {
      std::memcpy(p, &all, static_cast<size_t>(n));
    }
  }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_AVX2_INTEGERS_INL_H_
