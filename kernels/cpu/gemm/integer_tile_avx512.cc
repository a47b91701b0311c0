// Products of pairs of 16-bit integers in AVX-512.
#include "kernels/cpu/gemm/avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx512 {
  static constexpr int kRowsOfStreams = 2;  // of three GCC keeps some in memory
  static constexpr int kDepth = 2;
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm512_add_epi32(Ints(sum), _mm512_madd_epi16(Ints(a), Ints(b))));
  }
  static Reg Add(Reg a, Reg b) { return Bits(_mm512_add_epi32(Ints(a), Ints(b))); }
  static Reg SubProduct(Reg x, Reg a, Reg b) {
    return Bits(_mm512_sub_epi32(Ints(x), _mm512_mullo_epi32(Ints(a), Ints(b))));
  }
  static Reg SetInt(int32_t x) { return Bits(_mm512_set1_epi32(x)); }
  static Reg FromInt(Reg x) { return _mm512_cvtepi32_ps(Ints(x)); }

 private:
  static __m512i Ints(Reg x) { return _mm512_castps_si512(x); }
  static Reg Bits(__m512i x) { return _mm512_castsi512_ps(x); }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#include "kernels/cpu/gemm/tile-inl.h"
// After the tiles:
#include "kernels/cpu/gemm/integer_tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr IntegerKernels kKernels = MakeIntegerKernels();

}  // namespace

const IntegerKernels& IntegerKernelsAvx512() { return kKernels; }

}  // namespace tenon::kernels::cpu
