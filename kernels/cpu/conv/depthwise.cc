// Depthwise convolution of images with channels last: nn.conv and fused.conv with one filter for
// each channel.
#include <type_traits>
#include <vector>

#include "kernels/cpu/conv/channelwise.h"
#include "kernels/cpu/conv/finite.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

struct DepthwiseState : KernelState {
  cpu::ImageGeometry image;
  cpu::Channelwise call;
  Activation rest;  // applied to the finished rows
  int64_t grain = 1;
  std::vector<float> zeros;
  PackedBytes packed;  // [window][channels]; null: the weights are not constant
};

// From [channels, 1, window…] to [window…, channels].
void PackWeights(const float* w, int64_t channels, int64_t window, float* packed) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < window; ++i) packed[i * channels + c] = w[c * window + i];
  }
}

template <typename Attrs>
KernelStatus PrepareDepthwise(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  const TensorView& w = args.inputs[1];
  auto state = std::make_shared<DepthwiseState>();
  out = state;
  state->image = cpu::GeometryOf(attrs, args);
  const Activation activation = ToActivation(attrs);
  // What is added comes before the activation.
  const bool adds = cpu::Present(args.inputs, 3);
  const cpu::SplitActivation split = cpu::Split(adds ? Activation{} : activation);
  state->rest = adds ? activation : split.rest;
  state->call = {.op = cpu::ChannelwiseOp::kConvolve,
                 .rows = state->image.rows,
                 .columns = state->image.columns,
                 .out_width = state->image.width,
                 .channels = state->image.channels,
                 .activation = split.loop};
  state->zeros.resize(static_cast<size_t>(state->image.channels));
  state->call.zeros = state->zeros.data();
  const int64_t window = state->image.rows.kernel * state->image.columns.kernel;
  state->grain = cpu::RowGrain(state->image.width * state->image.channels, window);
  const auto bytes = static_cast<size_t>(w.bytes());
  if (w.data == nullptr) {
    args.scratch_bytes = bytes;
    return KernelStatus::Ok();
  }
  const int inputs[] = {1};
  state->packed =
      args.Pack(inputs, "conv.depthwise:" + std::to_string(w.shape[0]), bytes, [&](std::byte* to) {
        PackWeights(w.as<float>(), w.shape[0], window, reinterpret_cast<float*>(to));
      });
  if (state->packed == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
  state->call.weights = reinterpret_cast<const float*>(state->packed.get());
  return KernelStatus::Ok();
}

template <typename Attrs>
KernelStatus RunDepthwise(const RunArgs& args) {
  const auto& state = *static_cast<DepthwiseState*>(args.state);
  const TensorView &w = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  if (state.packed == nullptr && cpu::HasNonfiniteWeights(args)) {
    return std::is_same_v<Attrs, nn::ConvAttrs> ? RefConv().run(args) : RefFusedConv().run(args);
  }
  const cpu::ImageGeometry& image = state.image;
  cpu::Channelwise call = state.call;
  if (state.packed == nullptr) {
    auto* packed = static_cast<float*>(args.scratch);
    PackWeights(w.as<float>(), w.shape[0], call.rows.kernel * call.columns.kernel, packed);
    call.weights = packed;
  }
  if (cpu::Present(args.inputs, 2)) call.bias = args.inputs[2].as<float>();
  const float* residual = cpu::Present(args.inputs, 3) ? args.inputs[3].as<float>() : nullptr;
  const cpu::ChannelwiseRowFn run = cpu::ChannelwiseRow();
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  const int64_t in_size = image.rows.in * image.columns.in * image.channels;
  const int64_t row_size = image.width * image.channels;
  (*args.device->parallel)(image.batch * image.height, state.grain, [&](int64_t b, int64_t e) {
    for (int64_t r = b; r < e; ++r) {
      float* row = out.as<float>() + r * row_size;
      run(call, args.inputs[0].as<float>() + r / image.height * in_size, r % image.height, row);
      if (residual != nullptr) add(row, residual + r * row_size, row, row_size);
      cpu::ActivateInPlace(state.rest, row, row_size);
    }
  });
  return KernelStatus::Ok();
}

template <typename Attrs>
std::string SupportsDepthwise(const CallSignature& call) {
  const TensorView& w = call.inputs[1];
  const int64_t group = static_cast<const Attrs*>(call.attrs)->group;
  if (std::string why = cpu::RequireImages<Attrs>(call); !why.empty()) return why;
  if (w.shape[0] != group || w.shape[1] != 1) return "needs one filter for each channel";
  return "";
}

}  // namespace

Kernel CpuConvDepthwise() {
  return {.op = "nn.conv",
          .name = "cpu.conv.depthwise",
          .priority = 30,
          .run = RunDepthwise<nn::ConvAttrs>,
          .prepare = PrepareDepthwise<nn::ConvAttrs>,
          .supports = SupportsDepthwise<nn::ConvAttrs>,
          .packs_once = true};
}

Kernel CpuFusedConvDepthwise() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.depthwise",
          .priority = 30,
          .run = RunDepthwise<fused::ConvAttrs>,
          .prepare = PrepareDepthwise<fused::ConvAttrs>,
          .supports = SupportsDepthwise<fused::ConvAttrs>,
          .packs_once = true};
}

}  // namespace tenon::kernels
