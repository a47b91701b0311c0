// Products of pairs of 16-bit integers.
#include "kernels/cpu/gemm/portable_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

using V = PortableIntegers;

}  // namespace
}  // namespace tenon::kernels::cpu

#include "kernels/cpu/gemm/tile-inl.h"
// After the tiles:
#include "kernels/cpu/gemm/integer_tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr IntegerKernels kKernels = MakeIntegerKernels();

}  // namespace

const IntegerKernels& IntegerKernelsPortable() { return kKernels; }

}  // namespace tenon::kernels::cpu
