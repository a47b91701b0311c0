#include "kernels/cpu/conv/channelwise-inl.h"

namespace tenon::kernels::cpu {

void ChannelwiseRowAvx512(const Channelwise& call, const float* x, int64_t row, float* out) {
  RowOfAnyOp(call, x, row, out);
}

}  // namespace tenon::kernels::cpu
