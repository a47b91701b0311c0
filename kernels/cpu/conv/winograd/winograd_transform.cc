#include "kernels/cpu/conv/winograd/winograd_transform.h"

#include "kernels/cpu/conv/winograd/winograd_transform-inl.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {

const WinogradTransforms& Winograd() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return WinogradAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return WinogradAvx2();
#endif
  return kTransforms;
}

}  // namespace tenon::kernels::cpu
