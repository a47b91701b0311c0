// Pooling of images with channels last.
#include <algorithm>
#include <limits>

#include "kernels/cpu/conv/channelwise.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

template <cpu::ChannelwiseOp kOp, typename Attrs>
KernelStatus Pool(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const cpu::ImageGeometry image = cpu::GeometryOf(attrs, attrs.kernel, x.shape, out.shape);
  cpu::Channelwise call = {.op = kOp,
                           .rows = image.rows,
                           .columns = image.columns,
                           .out_width = image.width,
                           .channels = image.channels};
  if constexpr (kOp == cpu::ChannelwiseOp::kMean) call.include_padding = attrs.count_include_pad;
  const cpu::ChannelwiseRowFn run = cpu::ChannelwiseRow();
  const int64_t in_size = image.rows.in * image.columns.in * image.channels;
  const int64_t row_size = image.width * image.channels;
  const int64_t window = image.rows.kernel * image.columns.kernel;
  (*args.device->parallel)(image.batch * image.height, cpu::RowGrain(row_size, window),
                           [&](int64_t b, int64_t e) {
                             for (int64_t r = b; r < e; ++r) {
                               run(call, x.as<float>() + r / image.height * in_size,
                                   r % image.height, out.as<float>() + r * row_size);
                             }
                           });
  return KernelStatus::Ok();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")  // below that GCC leaves loops of bytes scalar
#endif

template <typename T>
void MaxOfBytes(const T* x, int64_t n, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::max(x[i], y[i]);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

// A row of the result.
template <typename T>
void PoolByteRow(const cpu::ImageGeometry& g, const T* image, int64_t row, T* out) {
  const cpu::WindowAxis &rows = g.rows, &columns = g.columns;
  std::fill_n(out, g.width * g.channels, std::numeric_limits<T>::lowest());
  for (int64_t i = 0; i < rows.kernel; ++i) {
    const int64_t from_row = row * rows.stride - rows.pad_begin + i * rows.dilation;
    if (from_row < 0 || from_row >= rows.in) continue;
    for (int64_t o = 0; o < g.width; ++o) {
      for (int64_t j = 0; j < columns.kernel; ++j) {
        const int64_t column = o * columns.stride - columns.pad_begin + j * columns.dilation;
        if (column < 0 || column >= columns.in) continue;
        MaxOfBytes(image + (from_row * columns.in + column) * g.channels, g.channels,
                   out + o * g.channels);
      }
    }
  }
}

template <typename T>
void PoolBytes(const RunArgs& args) {
  const auto& attrs = args.get<nn::MaxPoolAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const cpu::ImageGeometry g = cpu::GeometryOf(attrs, attrs.kernel, x.shape, out.shape);
  const int64_t in_size = g.rows.in * g.columns.in * g.channels, row_size = g.width * g.channels;
  const int64_t grain = cpu::RowGrain(row_size, g.rows.kernel * g.columns.kernel);
  (*args.device->parallel)(g.batch * g.height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      PoolByteRow(g, x.as<T>() + r / g.height * in_size, r % g.height, out.as<T>() + r * row_size);
    }
  });
}

KernelStatus MaxPoolBytes(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  if (args.inputs[0].dtype == DType::kI8) {
    PoolBytes<int8_t>(args);
  } else {
    PoolBytes<uint8_t>(args);
  }
  return KernelStatus::Ok();
}

std::string SupportsBytePool(const CallSignature& call) {
  const TensorView& x = call.inputs[0];
  if (x.dtype != DType::kI8 && x.dtype != DType::kU8) return "needs bytes";
  if (!ImageLayout::Of(*static_cast<const nn::MaxPoolAttrs*>(call.attrs)).channels_last()) {
    return "needs channels last";
  }
  return x.rank() < 3 || x.rank() > 4 ? "needs one or two spatial axes" : "";
}

}  // namespace

Kernel CpuAveragePoolChannelsLast() {
  return {.op = "nn.average_pool",
          .name = "cpu.average_pool.channels_last",
          .priority = 20,
          .run = Pool<cpu::ChannelwiseOp::kMean, nn::AveragePoolAttrs>,
          .supports = cpu::RequireImages<nn::AveragePoolAttrs>};
}

Kernel CpuMaxPoolBytes() {
  return {.op = "nn.max_pool",
          .name = "cpu.max_pool.bytes",
          .priority = 20,
          .run = MaxPoolBytes,
          .supports = SupportsBytePool};
}

Kernel CpuMaxPoolChannelsLast() {
  return {.op = "nn.max_pool",
          .name = "cpu.max_pool.channels_last",
          .priority = 20,
          .run = Pool<cpu::ChannelwiseOp::kMax, nn::MaxPoolAttrs>,
          .supports = cpu::RequireImages<nn::MaxPoolAttrs>};
}

}  // namespace tenon::kernels
