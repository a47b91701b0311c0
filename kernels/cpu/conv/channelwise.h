// Windows over images with their channels last, each channel by itself: depthwise convolution and
// pooling.
#ifndef TENON_KERNELS_CPU_CONV_CHANNELWISE_H_
#define TENON_KERNELS_CPU_CONV_CHANNELWISE_H_

#include <cstdint>

#include "kernels/cpu/conv/loop_activation.h"

namespace tenon::kernels::cpu {

// One axis of a window.
struct WindowAxis {
  int64_t kernel, stride, dilation, pad_begin, pad_end;
  int64_t in;  // extent of the image
};

enum class ChannelwiseOp : uint8_t {
  kConvolve,  // sum of elements times weights, plus bias
  kMax,       // NaN wins
  kMean,      // of the elements inside the image, or padded by the padding's zeros
};

struct Channelwise {
  ChannelwiseOp op = ChannelwiseOp::kConvolve;
  bool include_padding = false;  // kMean: padding counts
  WindowAxis rows, columns;
  int64_t out_width = 0, channels = 0;
  const float* weights = nullptr;  // kConvolve: [window][channels]
  const float* bias = nullptr;     // may be null
  const float* zeros = nullptr;    // kConvolve: `channels` of them, read for the padding
  LoopActivation activation = {};
};

// Row `row` of the result for one image: x is [rows.in, columns.in, channels], out is
// [out_width, channels].
using ChannelwiseRowFn = void (*)(const Channelwise& call, const float* x, int64_t row, float* out);

// For the active instruction set.
ChannelwiseRowFn ChannelwiseRow();

void ChannelwiseRowAvx2(const Channelwise& call, const float* x, int64_t row, float* out);
void ChannelwiseRowAvx512(const Channelwise& call, const float* x, int64_t row, float* out);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_CHANNELWISE_H_
