// Depthwise convolution of images with channels last: nn.conv and fused.conv with one filter for
// each channel.
#include <algorithm>
#include <vector>

#include "ir/core/ceil_div.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/conv/channelwise.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

struct DepthwiseState : KernelState {
  cpu::ImageGeometry image;
  cpu::Channelwise call;
  // So many channels are computed for so many rows of the result before it is the turn of the next
  // ones: their weights stay in the first-level cache, and the rows of the image that windows share
  // in the second. The last blocks and strips have the rest.
  int64_t block = 1, strip = 1;
  Activation rest;  // applied to the finished rows
  int64_t grain = 1;
  std::vector<float> zeros;
  PackedBytes packed;  // by block: [window][channels]; null: the weights are not constant
};

// All channels, if the weights and the rows of the image that a row of the result reads take no
// more than a third of the second-level cache. Otherwise blocks of nearly equal size, a multiple of
// 16, whose weights take a third of the first.
int64_t BlockOf(const cpu::ImageGeometry& image) {
  constexpr int64_t kVector = 16, kFloat = sizeof(float);
  const int64_t window = image.rows.kernel * image.columns.kernel;
  const int64_t vectors = CeilDiv(std::max<int64_t>(1, image.channels), kVector);
  const int64_t read = window + image.rows.kernel * image.columns.in;  // by channel
  const cpu::Caches& caches = cpu::ActiveCaches();
  if (read * image.channels * kFloat <= caches.second_bytes / 3) return vectors * kVector;
  const int64_t bytes = window * kVector * kFloat;
  const int64_t most = std::max<int64_t>(1, caches.first_bytes / 3 / bytes);
  return CeilDiv(vectors, CeilDiv(vectors, most)) * kVector;
}

// Rows of results, which are finished as long as they lie in the second-level cache, but enough of
// them that a row of the image is read for several.
int64_t StripOf(const cpu::ImageGeometry& image, int64_t block) {
  if (block >= image.channels) return 1;
  const int64_t row = image.width * image.channels * static_cast<int64_t>(sizeof(float));
  return std::max(image.rows.kernel,
                  cpu::ActiveCaches().second_bytes / 2 / std::max<int64_t>(1, row));
}

// From [channels, 1, window…] to blocks of [window…, channels of the block].
void PackWeights(const float* w, int64_t channels, int64_t window, int64_t block, float* packed) {
  for (int64_t first = 0; first < channels; first += block) {
    const int64_t width = std::min(block, channels - first);
    float* to = packed + first * window;
    for (int64_t c = 0; c < width; ++c) {
      for (int64_t i = 0; i < window; ++i) to[i * width + c] = w[(first + c) * window + i];
    }
  }
}

template <typename Attrs>
KernelStatus Prepare(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
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
  const int64_t window = state->image.rows.kernel * state->image.columns.kernel;
  state->block = BlockOf(state->image);
  state->strip = StripOf(state->image, state->block);
  state->zeros.resize(static_cast<size_t>(state->block));
  state->call.zeros = state->zeros.data();
  state->grain = cpu::RowGrain(state->image.width * state->image.channels, window);
  const auto bytes = static_cast<size_t>(w.bytes());
  if (w.data == nullptr) {
    args.scratch_bytes = bytes;
    return KernelStatus::Ok();
  }
  const int inputs[] = {1};
  state->packed = args.Pack(
      inputs,
      "conv.depthwise.blocks:" + std::to_string(w.shape[0]) + "x" + std::to_string(state->block),
      bytes, [&](std::byte* to) {
        PackWeights(w.as<float>(), w.shape[0], window, state->block, reinterpret_cast<float*>(to));
      });
  if (state->packed == nullptr) return KernelStatus::Internal("no memory for packed weights");
  state->call.weights = reinterpret_cast<const float*>(state->packed.get());
  return KernelStatus::Ok();
}

KernelStatus Run(const RunArgs& args) {
  const auto& state = *static_cast<DepthwiseState*>(args.state);
  const TensorView &w = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const cpu::ImageGeometry& image = state.image;
  cpu::Channelwise whole = state.call;
  const int64_t window = whole.rows.kernel * whole.columns.kernel;
  if (state.packed == nullptr) {
    auto* packed = static_cast<float*>(args.scratch);
    PackWeights(w.as<float>(), w.shape[0], window, state.block, packed);
    whole.weights = packed;
  }
  if (cpu::Present(args.inputs, 2)) whole.bias = args.inputs[2].as<float>();
  const float* residual = cpu::Present(args.inputs, 3) ? args.inputs[3].as<float>() : nullptr;
  const cpu::ChannelwiseRowFn run = cpu::ChannelwiseRow();
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  const int64_t in_size = image.rows.in * image.columns.in * image.channels;
  const int64_t row_size = image.width * image.channels;
  (*args.device->parallel)(image.batch * image.height, state.grain, [&](int64_t b, int64_t e) {
    for (int64_t first = b; first < e; first += state.strip) {
      const int64_t last = std::min(e, first + state.strip);
      for (int64_t c = 0; c < image.channels; c += state.block) {
        cpu::Channelwise call = whole;
        call.width = std::min(state.block, image.channels - c);
        call.weights += c * window;
        if (call.bias != nullptr) call.bias += c;
        for (int64_t r = first; r < last; ++r) {
          const float* x = args.inputs[0].as<float>() + r / image.height * in_size;
          run(call, x + c, r % image.height, out.as<float>() + r * row_size + c);
        }
      }
      for (int64_t r = first; r < last; ++r) {
        float* row = out.as<float>() + r * row_size;
        if (residual != nullptr) add(row, residual + r * row_size, row, row_size);
        cpu::ActivateInPlace(state.rest, row, row_size);
      }
    }
  });
  return KernelStatus::Ok();
}

template <typename Attrs>
std::string Supports(const CallSignature& call) {
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
          .run = Run,
          .prepare = Prepare<nn::ConvAttrs>,
          .supports = Supports<nn::ConvAttrs>,
          .packs_once = true};
}

Kernel CpuFusedConvDepthwise() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.depthwise",
          .priority = 30,
          .run = Run,
          .prepare = Prepare<fused::ConvAttrs>,
          .supports = Supports<fused::ConvAttrs>,
          .packs_once = true};
}

}  // namespace tenon::kernels
