// Reference kernel of transposed convolution, for any number of spatial axes.
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Spreads one input element over the plane of sums that its filter reaches.
template <typename T>
void Spread(double v, const T* w, const nn::ConvTransposeAttrs& attrs, DimSpan kernel, DimSpan out,
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

template <typename T>
KernelStatus Transposed(const RunArgs& args) {
  const auto& attrs = args.get<nn::ConvTransposeAttrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const TensorView bias = args.inputs.size() > 2 ? args.inputs[2] : TensorView{};
  const DimSpan in = x.shape.subspan(2), kernel = w.shape.subspan(2),
                out_spatial = out.shape.subspan(2);
  const int64_t channels = x.shape[1], filters = out.shape[1];
  const int64_t per_group = channels / attrs.group, filters_per_group = w.shape[1];
  const int64_t in_plane = Product(in), out_plane = Product(out_spatial), window = Product(kernel);
  std::vector<double> sums(out_plane);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t m = 0; m < filters; ++m) {
      std::fill(sums.begin(), sums.end(), bias.present() ? DoubleAt(bias, m) : 0.0);
      const int64_t group = m / filters_per_group;
      for (int64_t c = group * per_group; c < (group + 1) * per_group; ++c) {
        const T* from = x.as<T>() + (n * channels + c) * in_plane;
        const T* filter = w.as<T>() + (c * filters_per_group + m % filters_per_group) * window;
        StridedWalk<0> walk(in, {});
        for (int64_t p = 0; p < in_plane; ++p, walk.Next()) {
          Spread(static_cast<double>(static_cast<Compute<T>>(from[p])), filter, attrs, kernel,
                 out_spatial, walk.index(), sums.data());
        }
      }
      T* to = out.as<T>() + (n * filters + m) * out_plane;
      for (int64_t i = 0; i < out_plane; ++i) to[i] = static_cast<T>(sums[i]);
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefConvTranspose() {
  return {.op = "nn.conv_transpose", .name = "ref.conv_transpose", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return Transposed<typename decltype(tag)::type>(args);
            });
          }};
}

}  // namespace tenon::kernels
