// Convolutions and pooling over up to three spatial axes, in either layout.
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;

// Where window element `k` of output position `o` lies among the input's positions; -1 in the
// padding. `in_padding` is false beyond the padding too, where ceil_mode reaches.
struct Place {
  int64_t at;
  bool in_padding;
};
__device__ inline Place PlaceOf(const WindowParams& w, int64_t o, int64_t k) {
  Place place = {0, true};
  int64_t step = 1;
  bool inside = true;
  for (int axis = w.rank - 1; axis >= 0; --axis) {
    const int64_t i = DivMod(o, w.out[axis]) * w.strides[axis] - w.pads_begin[axis] +
                      DivMod(k, w.kernel[axis]) * w.dilations[axis];
    inside = inside && i >= 0 && i < w.in[axis];
    place.in_padding = place.in_padding && i < w.in[axis] + w.pads_end[axis];
    place.at += i * step;
    step *= w.in[axis];
  }
  if (!inside) place.at = -1;
  return place;
}

// Which image, channel and position element i of an output is.
struct Element {
  int64_t image, channel, position;
};
__device__ inline Element ElementAt(int64_t i, int64_t channels, int64_t positions,
                                    bool channels_last) {
  Element e;
  if (channels_last) {
    e.channel = DivMod(i, channels);
    e.position = DivMod(i, positions);
  } else {
    e.position = DivMod(i, positions);
    e.channel = DivMod(i, channels);
  }
  e.image = i;
  return e;
}

// One thread an output element: for groups of few channels, where a product would be thin.
template <typename T>
__global__ void __launch_bounds__(kThreads) Conv(TENON_GRID_CONSTANT ConvParams p) {
  const int64_t n = p.batch * p.filters * p.window.out_positions;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Element e = ElementAt(i, p.filters, p.window.out_positions, p.channels_last);
    int64_t group = e.channel;
    DivMod(group, p.filters_per_group);
    const T* x =
        As<T>(p.x) + e.image * p.x_steps.image + group * p.channels_per_group * p.x_steps.channel;
    const T* w = As<T>(p.w) + e.channel * p.channels_per_group * p.window.size;
    float sum = p.bias != nullptr ? Widen(As<T>(p.bias)[e.channel]) : 0.0f;
    for (int64_t k = 0; k < p.window.size; ++k) {
      const Place place = PlaceOf(p.window, e.position, k);
      if (place.at < 0) continue;
      const T* from = x + place.at * p.x_steps.position;
      for (int64_t c = 0; c < p.channels_per_group; ++c) {
        sum += Widen(from[c * p.x_steps.channel]) * Widen(w[c * p.window.size + k]);
      }
    }
    if (p.residual != nullptr) sum += Widen(As<T>(p.residual)[i]);
    static_cast<T*>(p.out)[i] = Narrow<T>(Activate(p.activation, p.alpha, p.beta, sum));
  }
}

// Rows of what each output position sees: [image, position] by [channel, window element], zeros in
// the padding. A convolution is then a product with the filters as they are.
template <typename T>
__global__ void __launch_bounds__(kThreads) Unfold(TENON_GRID_CONSTANT UnfoldParams p) {
  const int64_t row = p.channels * p.window.size;
  const int64_t n = p.batch * p.window.out_positions * row;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t image = i;
    int64_t channel = DivMod(image, row);
    const int64_t k = DivMod(channel, p.window.size);
    const int64_t position = DivMod(image, p.window.out_positions);
    const Place place = PlaceOf(p.window, position, k);
    static_cast<T*>(p.out)[i] =
        place.at < 0 ? T{}
                     : As<T>(p.x)[image * p.x_steps.image + channel * p.x_steps.channel +
                                  place.at * p.x_steps.position];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) Pool(TENON_GRID_CONSTANT PoolParams p) {
  const int64_t n = p.batch * p.channels * p.window.out_positions;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const Element e = ElementAt(i, p.channels, p.window.out_positions, p.channels_last);
    const T* x = As<T>(p.x) + e.image * p.x_steps.image + e.channel * p.x_steps.channel;
    float most = -INFINITY, sum = 0;
    int64_t inside = 0, padded = 0;
    for (int64_t k = 0; k < p.window.size; ++k) {
      const Place place = PlaceOf(p.window, e.position, k);
      padded += place.in_padding ? 1 : 0;
      if (place.at < 0) continue;
      const float v = Widen(x[place.at * p.x_steps.position]);
      if (most < v || v != v) most = v;  // NaN wins, and stays
      sum += v;
      ++inside;
    }
    const float count = static_cast<float>(p.count_padding ? padded : inside);
    static_cast<T*>(p.out)[i] = Narrow<T>(p.max ? most : sum / count);
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const ConvParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Conv<T>, BlocksFor(p.batch * p.filters * p.window.out_positions, kThreads),
                 kThreads, 0, stream, p);
  });
}

void LaunchOn(StreamHandle stream, const UnfoldParams& p) {
  const int64_t n = p.batch * p.window.out_positions * p.channels * p.window.size;
  if (SizeOf(p.dtype) == 4) {
    TENON_LAUNCH(Unfold<uint32_t>, BlocksFor(n, kThreads), kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH(Unfold<uint16_t>, BlocksFor(n, kThreads), kThreads, 0, stream, p);
  }
}

void LaunchOn(StreamHandle stream, const PoolParams& p) {
  DispatchFloats(p.dtype, [&]<typename T>() {
    TENON_LAUNCH(Pool<T>, BlocksFor(p.batch * p.channels * p.window.out_positions, kThreads),
                 kThreads, 0, stream, p);
  });
}

}  // namespace tenon::kernels::gpu
