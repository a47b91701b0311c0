// Pooling of images with channels last.
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

}  // namespace

Kernel CpuAveragePoolChannelsLast() {
  return {.op = "nn.average_pool",
          .name = "cpu.average_pool.channels_last",
          .priority = 20,
          .run = Pool<cpu::ChannelwiseOp::kMean, nn::AveragePoolAttrs>,
          .supports = cpu::RequireImages<nn::AveragePoolAttrs>};
}

Kernel CpuMaxPoolChannelsLast() {
  return {.op = "nn.max_pool",
          .name = "cpu.max_pool.channels_last",
          .priority = 20,
          .run = Pool<cpu::ChannelwiseOp::kMax, nn::MaxPoolAttrs>,
          .supports = cpu::RequireImages<nn::MaxPoolAttrs>};
}

}  // namespace tenon::kernels
