#include "kernels/cpu/conv/channelwise.h"

#include "kernels/cpu/conv/channelwise-inl.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {

ChannelwiseRowFn ChannelwiseRow() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return ChannelwiseRowAvx512;
  if (ActiveIsa() >= Isa::kAvx2) return ChannelwiseRowAvx2;
#endif
  return RowOfAnyOp;
}

}  // namespace tenon::kernels::cpu
