#include "kernels/cpu/gemm/avx512_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

using V = Avx512Pairs;

}  // namespace
}  // namespace tenon::kernels::cpu

// After V:
#include "kernels/cpu/conv/bytes/byte_tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr ByteKernels kKernels = MakeByteKernels();

}  // namespace

const ByteKernels& ByteKernelsAvx512() { return kKernels; }

}  // namespace tenon::kernels::cpu
