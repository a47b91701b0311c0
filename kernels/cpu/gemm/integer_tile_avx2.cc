// Products of pairs of 16-bit integers in AVX2.
#include "kernels/cpu/gemm/avx2-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx2 {
  static constexpr int kDepth = 2;
  static constexpr int kSteps = 1;
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm256_add_epi32(Ints(sum), _mm256_madd_epi16(Ints(a), Ints(b))));
  }
  static Reg Add(Reg a, Reg b) { return Bits(_mm256_add_epi32(Ints(a), Ints(b))); }
  static Reg SubProduct(Reg x, Reg a, Reg b) {
    return Bits(_mm256_sub_epi32(Ints(x), _mm256_mullo_epi32(Ints(a), Ints(b))));
  }
  static Reg SetInt(int32_t x) { return Bits(_mm256_set1_epi32(x)); }
  static Reg FromInt(Reg x) { return _mm256_cvtepi32_ps(Ints(x)); }

 private:
  static __m256i Ints(Reg x) { return _mm256_castps_si256(x); }
  static Reg Bits(__m256i x) { return _mm256_castsi256_ps(x); }
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

const IntegerKernels& IntegerKernelsAvx2() { return kKernels; }

}  // namespace tenon::kernels::cpu
