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
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_AVX512_INTEGERS_INL_H_
