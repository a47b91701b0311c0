#include "kernels/cpu/conv/bytes/byte_tile.h"

#include "kernels/cpu/gemm/portable_integers-inl.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

using V = PortableIntegers;

}  // namespace
}  // namespace tenon::kernels::cpu

// After V:
#include "kernels/cpu/conv/bytes/byte_tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr ByteKernels kKernels = MakeByteKernels();

const ByteKernels& Choose() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512Vnni) return ByteKernelsAvx512Vnni();
  if (ActiveIsa() >= Isa::kAvx512) return ByteKernelsAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return ByteKernelsAvx2();
#endif
  return kKernels;
}

}  // namespace

const ByteKernels& ActiveByteKernels() {
  static const ByteKernels& kernels = Choose();
  return kernels;
}

}  // namespace tenon::kernels::cpu
