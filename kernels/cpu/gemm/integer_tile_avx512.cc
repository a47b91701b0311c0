// Products of pairs of 16-bit integers in AVX-512.
#include "kernels/cpu/gemm/avx512_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx512Integers {
  static constexpr int kDepth = 2;
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm512_add_epi32(Ints(sum), _mm512_madd_epi16(Ints(a), Ints(b))));
  }
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
