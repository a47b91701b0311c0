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

// The op on the elements of a window.
enum class ChannelwiseOp : uint8_t {
  kConvolve,  // sum of elements times weights, plus bias
  kMax,       // the largest; NaN wins
  kMean,      // the mean, with or without padding
};

// One call.
struct Channelwise {
  ChannelwiseOp op = ChannelwiseOp::kConvolve;  // the op on a window
  bool include_padding = false;                 // kMean: padding counts as zeros
  WindowAxis rows, columns;                     // of the window
  int64_t out_width = 0, channels = 0;          // of the result
  const float* weights = nullptr;               // kConvolve: [window][channels]
  const float* bias = nullptr;                  // may be null
  const float* zeros = nullptr;    // kConvolve: `channels` of them, read for the padding
  LoopActivation activation = {};  // applied to the results
};

// Computes row `row` of the result for one image. x is [rows.in, columns.in, channels], and out is
// [out_width, channels].
using ChannelwiseRowFn = void (*)(const Channelwise& call, const float* x, int64_t row, float* out);

// Returns the loop for the active instruction set.
ChannelwiseRowFn ChannelwiseRow();

// The loops of each instruction set.
void ChannelwiseRowAvx2(const Channelwise& call, const float* x, int64_t row, float* out);
void ChannelwiseRowAvx512(const Channelwise& call, const float* x, int64_t row, float* out);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_CHANNELWISE_H_
