// Reference kernels of convolution, for any number of spatial axes.
#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"

namespace tenon::kernels {
namespace {

template <typename T>
double At(const T* data, int64_t i) {
  return static_cast<double>(static_cast<Compute<T>>(data[i]));
}

// An input: its spatial extents, and the elements from one channel and one position to the next.
struct Image {
  DimSpan in;
  int64_t channel_stride, position_stride;
};

// One output element: the sum over the group's input channels and the window.
template <typename T>
double ConvolveAt(const T* x, const T* w, const Window& window, const Image& image,
                  const Dims& position, int64_t channels) {
  const int64_t window_size = Product(View(window.kernel));
  double sum = 0;
  StridedWalk<0> walk(View(window.kernel), {});
  for (int64_t i = 0; i < window_size; ++i, walk.Next()) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      const int64_t at = window.At(axis, position[axis], walk.index()[axis]);
      inside &= at >= 0 && at < image.in[axis];
      offset = offset * image.in[axis] + at;
    }
    if (!inside) continue;
    for (int64_t c = 0; c < channels; ++c) {
      sum += At(x, c * image.channel_stride + offset * image.position_stride) *
             At(w, c * window_size + i);
    }
  }
  return sum;
}

template <typename T>
KernelStatus Convolve(const RunArgs& args, const Window& window, int64_t group, ImageLayout layout,
                      const Activation& activation, const TensorView& bias,
                      const TensorView& residual) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  const Image image = {layout.Spatial(x.shape), layout.ChannelStride(x.shape),
                       layout.PositionStride(x.shape)};
  const DimSpan out_spatial = layout.Spatial(out.shape);
  const int64_t batch = x.shape[0], channels = w.shape[1];
  const int64_t channel_stride = layout.ChannelStride(out.shape);
  const int64_t position_stride = layout.PositionStride(out.shape);
  const int64_t filters = w.shape[0], filters_per_group = filters / group;
  const int64_t filter_size = channels * Product(View(window.kernel));
  const int64_t positions = Product(out_spatial);
  T* result = out.as<T>();
  for (int64_t n = 0; n < batch; ++n) {
    const T* images = x.as<T>() + n * group * channels * Product(image.in);
    for (int64_t m = 0; m < filters; ++m) {
      const T* input = images + m / filters_per_group * channels * image.channel_stride;
      StridedWalk<0> walk(out_spatial, {});
      for (int64_t p = 0; p < positions; ++p, walk.Next()) {
        const int64_t at = n * filters * positions + m * channel_stride + p * position_stride;
        double v =
            ConvolveAt(input, w.as<T>() + m * filter_size, window, image, walk.index(), channels);
        if (bias.present()) v += At(bias.as<T>(), m);
        if (residual.present()) v += At(residual.as<T>(), at);
        result[at] = static_cast<T>(Activate(activation, v));
      }
    }
  }
  return KernelStatus::Ok();
}

template <typename Attrs>
KernelStatus Conv(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const ImageLayout layout = ImageLayout::Of(attrs);
  const Window window =
      Window::Of(attrs, w.shape.subspan(2), layout.Spatial(x.shape), layout.Spatial(out.shape));
  Activation activation;
  TensorView residual;
  if constexpr (std::is_same_v<Attrs, fused::ConvAttrs>) {
    activation = ToActivation(attrs);
    if (args.inputs.size() > 3) residual = args.inputs[3];
  }
  const TensorView bias = args.inputs.size() > 2 ? args.inputs[2] : TensorView{};
  return DispatchFloat(out.dtype, [&](auto tag) {
    return Convolve<typename decltype(tag)::type>(args, window, attrs.group, layout, activation,
                                                  bias, residual);
  });
}

}  // namespace

Kernel RefConv() { return {.op = "nn.conv", .name = "ref.conv", .run = Conv<nn::ConvAttrs>}; }

Kernel RefFusedConv() {
  return {.op = "fused.conv", .name = "ref.fused_conv", .run = Conv<fused::ConvAttrs>};
}

}  // namespace tenon::kernels
