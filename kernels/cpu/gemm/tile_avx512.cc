// Tiles of 14 rows and 32 columns (28 of the 32 registers) in AVX-512.
#include "kernels/cpu/gemm/avx512-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx512 {
  // What a tile adds for an element of a and a vector of b.
  static Reg Dot(Reg a, Reg b, Reg sum) { return Fma(a, b, sum); }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#include "kernels/cpu/gemm/int8_tile-inl.h"
#include "kernels/cpu/gemm/tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr GemmKernels kKernels = MakeGemmKernels();
constexpr Int8Kernels kInt8Kernels = MakeInt8Kernels();

}  // namespace

const GemmKernels& GemmKernelsAvx512() { return kKernels; }
const Int8Kernels& Int8KernelsAvx512() { return kInt8Kernels; }

}  // namespace tenon::kernels::cpu
