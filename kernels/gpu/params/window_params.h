// Arguments of convolutions and pools.
#ifndef TENON_KERNELS_GPU_PARAMS_WINDOW_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_WINDOW_PARAMS_H_

#include <cstdint>

#include "ir/base/dtype.h"
#include "kernels/activation.h"

namespace tenon::kernels::gpu {

inline constexpr int kMaxSpatial = 3;  // spatial axes of an image
// The windows of convolution and pooling (kernels/calls/window.h) over images.
struct WindowParams {
  int rank;
  int64_t in[kMaxSpatial], out[kMaxSpatial], kernel[kMaxSpatial], strides[kMaxSpatial],
      dilations[kMaxSpatial], pads_begin[kMaxSpatial], pads_end[kMaxSpatial];
  int64_t size, out_positions;  // products of kernel and out
};
// The distance from one image, channel and position to the next, in elements.
struct ImageSteps {
  int64_t image, channel, position;
};

// out = activation(conv(x, w) + bias + residual). out and residual are dense in the layout of x.
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

// out[image, position, channel, window element] = the element of x in that window; 0 for padding.
struct UnfoldParams {
  DType dtype;
  const void* x;
  void* out;
  int64_t batch, channels;
  ImageSteps x_steps;
  WindowParams window;
};

// out = the largest (`max`) or mean element of each window, dense in the layout of x.
// `count_padding` counts padding in means.
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
