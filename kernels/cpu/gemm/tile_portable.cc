// Tiles of 4 rows and 8 columns.
#include "kernels/cpu/gemm/portable-inl.h"

namespace tenon::kernels::cpu {
namespace {

struct V : Portable {
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

const GemmKernels& GemmKernelsPortable() { return kKernels; }
const Int8Kernels& Int8KernelsPortable() { return kInt8Kernels; }

}  // namespace tenon::kernels::cpu
