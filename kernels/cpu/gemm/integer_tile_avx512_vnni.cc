// Products of four unsigned bytes with four signed ones, as AVX-512 VNNI has them.
#include "kernels/cpu/gemm/avx512_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx512Integers {
  static constexpr int kDepth = 4;
  static Reg Dot(Reg a, Reg b, Reg sum) {
    return Bits(_mm512_dpbusd_epi32(Ints(sum), Ints(a), Ints(b)));
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

const IntegerKernels& IntegerKernelsAvx512Vnni() { return kKernels; }

}  // namespace tenon::kernels::cpu
