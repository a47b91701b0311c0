// Arguments of convolutions and pools.
#ifndef TENON_KERNELS_GPU_PARAMS_WINDOW_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_WINDOW_PARAMS_H_

#include <cstdint>

#include "ir/core/dtype.h"
#include "kernels/activation.h"

namespace tenon::kernels::gpu {

// The windows of convolution and pooling (kernels/window.h) over images.
inline constexpr int kMaxSpatial = 3;
struct WindowParams {
  int rank;
  int64_t in[kMaxSpatial], out[kMaxSpatial], kernel[kMaxSpatial], strides[kMaxSpatial],
      dilations[kMaxSpatial], pads_begin[kMaxSpatial], pads_end[kMaxSpatial];
  int64_t size, out_positions;  // products of kernel and out
};
// Elements from one image, channel and position to the next.
struct ImageSteps {
  int64_t image, channel, position;
};

// out = activation(conv(x, w) + bias + residual), out and residual dense in the layout of x.
struct ConvParams {
  DType dtype;
  bool channels_last;
  ActivationKind activation;
  float alpha, beta;
  const void* x;
  const void* w;         // [filters, channels of a group, window]
  const void* bias;      // [filters], or null
  const void* residual;  // or null
  void* out;
  int64_t batch, filters, filters_per_group, channels_per_group;
  ImageSteps x_steps;
  WindowParams window;
};

// out[image, position, channel, window element] = what the window at that position sees.
struct UnfoldParams {
  DType dtype;
  const void* x;
  void* out;
  int64_t batch, channels;
  ImageSteps x_steps;
  WindowParams window;
};

struct PoolParams {
  DType dtype;
  bool channels_last, max, count_padding;
  const void* x;
  void* out;
  int64_t batch, channels;
  ImageSteps x_steps;
  WindowParams window;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_PARAMS_WINDOW_PARAMS_H_
