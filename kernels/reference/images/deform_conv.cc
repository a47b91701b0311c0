// Reference kernel of convolution with offsets, for one to three spatial axes.
#include <cmath>
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

constexpr size_t kMaxAxes = 3;

// The value of an image at a position between its elements. Outside of it are zeros.
template <typename T>
double Interpolate(const T* image, DimSpan extents, const double* at) {
  int64_t first[kMaxAxes];
  double rest[kMaxAxes];
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    // False for NaN, too.
    if (!(at[axis] > -1 && at[axis] < static_cast<double>(extents[axis]))) return 0;
    const double floor = std::floor(at[axis]);
    first[axis] = static_cast<int64_t>(floor);
    rest[axis] = at[axis] - floor;
  }
  double sum = 0;
  for (unsigned corner = 0; corner < 1u << extents.size(); ++corner) {
    int64_t offset = 0;
    double weight = 1;
    bool inside = true;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const bool second = (corner >> axis & 1) != 0;
      const int64_t i = first[axis] + (second ? 1 : 0);
      inside &= i >= 0 && i < extents[axis];
      offset = offset * extents[axis] + i;
      weight *= second ? rest[axis] : 1 - rest[axis];
    }
    if (inside && weight != 0) {
      sum += weight * static_cast<double>(static_cast<Compute<T>>(image[offset]));
    }
  }
  return sum;
}

template <typename T>
KernelStatus DeformConv(const RunArgs& args) {
  const auto& attrs = args.get<nn::DeformConvAttrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &offset = args.inputs[2];
  const TensorView bias = args.inputs.size() > 3 ? args.inputs[3] : TensorView{};
  const TensorView mask = args.inputs.size() > 4 ? args.inputs[4] : TensorView{};
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const DimSpan extents = x.shape.subspan(2), kernel = w.shape.subspan(2);
  const int64_t axes = static_cast<int64_t>(extents.size()), area = Product(extents);
  const int64_t taps = Product(kernel), positions = Product(out.shape.subspan(2));
  const int64_t channels = x.shape[1], filters = w.shape[0];
  const int64_t group_channels = w.shape[1], group_filters = filters / attrs.group;
  const int64_t offset_channels = channels / attrs.offset_group;
  const int64_t rows = attrs.offset_group * taps;                     // of the mask
  std::vector<double> columns(static_cast<size_t>(channels * taps));  // what a position reads
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    StridedWalk<0> position(out.shape.subspan(2), {});
    for (int64_t p = 0; p < positions; ++p, position.Next()) {
      StridedWalk<0> tap(kernel, {});
      for (int64_t row = 0; row < rows; ++row, tap.Next()) {
        const int64_t k = row % taps, first = row / taps * offset_channels;
        double at[kMaxAxes];
        for (int64_t axis = 0; axis < axes; ++axis) {
          const int64_t start = position.index()[axis] * attrs.strides[axis] - attrs.pads[axis] +
                                tap.index()[axis] * attrs.dilations[axis];
          at[axis] = static_cast<double>(start) +
                     DoubleAt(offset, ((n * rows + row) * axes + axis) * positions + p);
        }
        const double factor = mask.present() ? DoubleAt(mask, (n * rows + row) * positions + p) : 1;
        for (int64_t c = first; c < first + offset_channels; ++c) {
          columns[c * taps + k] =
              factor * Interpolate(x.as<T>() + (n * channels + c) * area, extents, at);
        }
      }
      for (int64_t m = 0; m < filters; ++m) {
        const double* from = columns.data() + m / group_filters * group_channels * taps;
        double sum = bias.present() ? DoubleAt(bias, m) : 0;
        for (int64_t i = 0; i < group_channels * taps; ++i) {
          sum += from[i] * DoubleAt(w, m * group_channels * taps + i);
        }
        out.as<T>()[(n * filters + m) * positions + p] = static_cast<T>(sum);
      }
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefDeformConv() {
  return {.op = "nn.deform_conv", .name = "ref.deform_conv", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return DeformConv<typename decltype(tag)::type>(args);
            });
          }};
}

}  // namespace tenon::kernels
