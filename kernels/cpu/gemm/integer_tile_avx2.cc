// Products of pairs of 16-bit integers in AVX2.
#include "kernels/cpu/gemm/avx2_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

using V = Avx2Integers;

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
