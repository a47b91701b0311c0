// Products of four unsigned bytes with four signed ones, as AVX-512 VNNI has them.
#include "kernels/cpu/gemm/avx512_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

using V = Avx512Fours;

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
