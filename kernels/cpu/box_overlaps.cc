#include "kernels/cpu/box_overlaps-inl.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

constexpr BoxKernels kBoxKernels = {&Overlaps, &Above};

}  // namespace

const BoxKernels& ActiveBoxKernels() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return kBoxKernelsAvx512;
  if (ActiveIsa() >= Isa::kAvx2) return kBoxKernelsAvx2;
#endif
  return kBoxKernels;
}

}  // namespace tenon::kernels::cpu
