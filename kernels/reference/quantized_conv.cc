// Reference kernel of q.conv, for any number of spatial axes.
#include <cmath>

#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

int64_t ByteOf(const TensorView& bytes, int64_t i) {
  return bytes.dtype == DType::kI8 ? int64_t{bytes.as<int8_t>()[i]} : bytes.as<uint8_t>()[i];
}

bool HasInput(const RunArgs& args, size_t i) {
  return i < args.inputs.size() && args.inputs[i].present();
}

// The sum over the window at a position, for the filter m; padding is the zero point.
int64_t ConvSumAt(const RunArgs& args, const Window& window, ImageLayout layout, int64_t image,
                  int64_t first_channel, int64_t m, const Dims& position) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &w_zeros = args.inputs[3];
  const DimSpan in = layout.Spatial(x.shape);
  const int64_t channel_stride = layout.ChannelStride(x.shape);
  const int64_t position_stride = layout.PositionStride(x.shape);
  const int64_t channels = w.shape[1], size = Product(View(window.kernel));
  const int64_t x_zero = ByteOf(args.inputs[2], 0);
  const int64_t w_zero = ByteOf(w_zeros, w_zeros.numel() > 1 ? m : 0);
  int64_t sum = 0;
  StridedWalk<0> walk(View(window.kernel), {});
  for (int64_t i = 0; i < size; ++i, walk.Next()) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      const int64_t at = window.At(axis, position[axis], walk.index()[axis]);
      inside &= at >= 0 && at < in[axis];
      offset = offset * in[axis] + at;
    }
    if (!inside) continue;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t from = image + (first_channel + c) * channel_stride + offset * position_stride;
      sum += (ByteOf(x, from) - x_zero) * (ByteOf(w, (m * channels + c) * size + i) - w_zero);
    }
  }
  return sum;
}

// The bytes: the product in f32, NaN the lowest.
int64_t Requantized(int32_t sum, float scale, int64_t zero, int64_t least, int64_t most) {
  const float y = static_cast<float>(sum) * scale;
  const auto low = static_cast<float>(least - zero), high = static_cast<float>(most - zero);
  const float bounded = y > low ? std::min(y, high) : low;
  return static_cast<int64_t>(std::nearbyint(bounded)) + zero;
}

KernelStatus QConv(const RunArgs& args) {
  const auto& attrs = args.get<q::ConvAttrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  const ImageLayout layout = ImageLayout::Of(attrs);
  const DimSpan spatial = layout.Spatial(out.shape);
  const Window window = Window::Of(attrs, w.shape.subspan(2), layout.Spatial(x.shape), spatial);
  const int64_t filters = w.shape[0], channels = w.shape[1], positions = Product(spatial);
  const int64_t image_size = x.shape[0] == 0 ? 0 : x.numel() / x.shape[0];
  const bool is_signed = out.dtype == DType::kI8;
  const int64_t zero = HasInput(args, 6) ? ByteOf(args.inputs[6], 0) : 0;
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t m = 0; m < filters; ++m) {
      const int64_t first = m / (filters / attrs.group) * channels;
      StridedWalk<0> walk(spatial, {});
      for (int64_t p = 0; p < positions; ++p, walk.Next()) {
        const int64_t at = n * filters * positions + m * layout.ChannelStride(out.shape) +
                           p * layout.PositionStride(out.shape);
        int64_t sum = ConvSumAt(args, window, layout, n * image_size, first, m, walk.index());
        if (HasInput(args, 4)) sum += args.inputs[4].as<int32_t>()[m];
        const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(sum));
        if (out.dtype == DType::kI32) {
          out.as<int32_t>()[at] = wrapped;
        } else if (out.dtype == DType::kF32) {
          out.as<float>()[at] = static_cast<float>(wrapped);
        } else {
          const TensorView& scales = args.inputs[5];
          const float scale = scales.as<float>()[scales.numel() > 1 ? m : 0];
          const int64_t y =
              Requantized(wrapped, scale, zero, is_signed ? -128 : 0, is_signed ? 127 : 255);
          out.as<uint8_t>()[at] = static_cast<uint8_t>(y);
        }
      }
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefQConv() { return {.op = "q.conv", .name = "ref.q_conv", .run = QConv}; }

}  // namespace tenon::kernels
