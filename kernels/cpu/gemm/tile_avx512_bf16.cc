// Tiles of pairs of bfloat16 numbers: an "element" of a and of b is a pair of neighbours along k in
// the bits of a float, and a product adds both products of the pair.
#include "kernels/cpu/gemm/avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx512 {
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#include "kernels/cpu/gemm/tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr GemmKernels kKernels = MakeTiles();

}  // namespace

const GemmKernels& GemmKernelsAvx512Bf16() { return kKernels; }

void ConvertToBf16Avx512Bf16(const float* x, int64_t n, float* pairs) {
  for (int64_t i = 0; i < n; i += 32) {
    const int64_t low = n - i < 16 ? n - i : 16, high = n - i < 16   ? 0
                                                        : n - i < 32 ? n - i - 16
                                                                     : 16;
    const __m512bh both =
        _mm512_cvtne2ps_pbh(V::LoadN(x + i + 16 * (high > 0), high), V::LoadN(x + i, low));
    V::StoreN(pairs + i / 2, reinterpret_cast<__m512>(both), (low + high + 1) / 2);
  }
}

}  // namespace tenon::kernels::cpu
