// Tiles of 6 rows and 16 columns (12 of the 16 registers) in AVX2 with FMA.
#include "kernels/cpu/gemm/avx2-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Avx2 {
  static constexpr int kSteps = 4;
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

const GemmKernels& GemmKernelsAvx2() { return kKernels; }
const Int8Kernels& Int8KernelsAvx2() { return kInt8Kernels; }

}  // namespace tenon::kernels::cpu
