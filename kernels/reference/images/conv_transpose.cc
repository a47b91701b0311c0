// Reference kernels of transposed convolution, for any number of spatial axes.
#include <vector>

#include "kernels/calls/image_layout.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Spreads one input element over the plane of sums that its filter reaches.
template <typename T, typename Attrs>
void Spread(double v, const T* w, const Attrs& attrs, DimSpan kernel, DimSpan out,
            const Dims& position, double* sums) {
  const int64_t window = Product(kernel);
  StridedWalk<0> walk(kernel, {});
  for (int64_t i = 0; i < window; ++i, walk.Next()) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis < kernel.size(); ++axis) {
      const int64_t at = position[axis] * attrs.strides[axis] - attrs.pads[axis] +
                         walk.index()[axis] * attrs.dilations[axis];
      inside &= at >= 0 && at < out[axis];
      offset = offset * out[axis] + at;
    }
    if (inside) sums[offset] += v * static_cast<double>(static_cast<Compute<T>>(w[i]));
  }
}

template <typename T, typename Attrs>
KernelStatus Transposed(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const TensorView bias = args.inputs.size() > 2 ? args.inputs[2] : TensorView{};
  const ImageLayout layout = ImageLayout::Of(attrs);
  const Activation activation = ToActivation(attrs);
  const DimSpan in = layout.Spatial(x.shape), kernel = w.shape.subspan(2),
                out_spatial = layout.Spatial(out.shape);
  const int64_t channels = layout.Channels(x.shape), filters = layout.Channels(out.shape);
  const int64_t x_channel = layout.ChannelStride(x.shape), x_step = layout.PositionStride(x.shape);
  const int64_t out_channel = layout.ChannelStride(out.shape);
  const int64_t out_step = layout.PositionStride(out.shape);
  const int64_t per_group = channels / attrs.group, filters_per_group = w.shape[1];
  const int64_t in_plane = Product(in), out_plane = Product(out_spatial), window = Product(kernel);
  std::vector<double> sums(out_plane);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t m = 0; m < filters; ++m) {
      std::fill(sums.begin(), sums.end(), bias.present() ? DoubleAt(bias, m) : 0.0);
      const int64_t group = m / filters_per_group;
      for (int64_t c = group * per_group; c < (group + 1) * per_group; ++c) {
        const T* from = x.as<T>() + n * channels * in_plane + c * x_channel;
        const T* filter = w.as<T>() + (c * filters_per_group + m % filters_per_group) * window;
        StridedWalk<0> walk(in, {});
        for (int64_t p = 0; p < in_plane; ++p, walk.Next()) {
          Spread(static_cast<double>(static_cast<Compute<T>>(from[p * x_step])), filter, attrs,
                 kernel, out_spatial, walk.index(), sums.data());
        }
      }
      T* to = out.as<T>() + n * filters * out_plane + m * out_channel;
      for (int64_t i = 0; i < out_plane; ++i) {
        to[i * out_step] = static_cast<T>(Activate(activation, sums[i]));
      }
    }
  }
  return KernelStatus::Ok();
}

template <typename Attrs>
KernelStatus ConvTranspose(const RunArgs& args) {
  return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
    return Transposed<typename decltype(tag)::type, Attrs>(args);
  });
}

}  // namespace

Kernel RefConvTranspose() {
  return {.op = "nn.conv_transpose",
          .name = "ref.conv_transpose",
          .run = ConvTranspose<nn::ConvTransposeAttrs>};
}

Kernel RefFusedConvTranspose() {
  return {.op = "fused.conv_transpose",
          .name = "ref.fused_conv_transpose",
          .run = ConvTranspose<fused::ConvTransposeAttrs>};
}

}  // namespace tenon::kernels
