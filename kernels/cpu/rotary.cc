// Rotary position embeddings of floats.
#include <algorithm>
#include <atomic>

#include "kernels/calls/rotary_call.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

KernelStatus Rotary(const RunArgs& args) {
  const auto& attrs = args.get<fused::RotaryAttrs>();
  const TensorView &x = args.inputs[0], &cos = args.inputs[1], &sin = args.inputs[2];
  if (x.numel() == 0) return KernelStatus::Ok();
  const RotaryCall call = RotaryCall::Of(x, cos, sin, attrs);
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  const float *from = x.as<float>(), *c = cos.as<float>(), *s = sin.as<float>();
  float* to = args.outputs[0].as<float>();
  const int64_t n = call.size;
  (*args.device->parallel)(call.rows, cpu::RowGrain(n, 4), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      ops.rotate(from + row * n, c + call.Begin(call.cos_strides, row),
                 s + call.Begin(call.sin_strides, row), to + row * n, call.rotated,
                 attrs.interleaved);
      std::copy(from + row * n + call.rotated, from + (row + 1) * n, to + row * n + call.rotated);
    }
  });
  return KernelStatus::Ok();
}

std::string SupportsRotary(const CallSignature& call) {
  const auto& attrs = *static_cast<const fused::RotaryAttrs*>(call.attrs);
  const int64_t rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : call.inputs[0].dim(-1);
  for (size_t i : {size_t{1}, size_t{2}}) {
    const TensorView& table = call.inputs[i];
    if (table.rank() == 0 || table.dim(-1) != rotated) return "needs an angle for each element";
  }
  return cpu::RequireF32(call);
}

// Elements of a head that are rotated, at most.
constexpr int64_t kMostRotated = 1024;

// All heads of one position share their angles, which are first spread over both halves or pairs.
KernelStatus RotaryEmbedding(const RunArgs& args) {
  const auto& attrs = args.get<nn::RotaryEmbeddingAttrs>();
  if (KernelStatus status = RotaryEmbeddingCall::Check(args.inputs, attrs); !status.ok()) {
    return status;
  }
  const auto call = RotaryEmbeddingCall::Of(args.inputs, attrs);
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  const float *x = args.inputs[0].as<float>(), *cos = args.inputs[1].as<float>();
  const float* sin = args.inputs[2].as<float>();
  float* out = args.outputs[0].as<float>();
  const int64_t rotated = 2 * call.half;
  auto run = [&](int64_t begin, int64_t end) -> KernelStatus {
    float spread[2][kMostRotated];
    for (int64_t position = begin; position < end; ++position) {
      const int64_t b = position / call.length, i = position % call.length;
      int64_t angle = 0;
      if (KernelStatus status = call.AnglesAt(b, i, angle); !status.ok()) return status;
      for (int64_t d = 0; d < call.half; ++d) {
        const int64_t first = attrs.interleaved ? 2 * d : d;
        const int64_t second = attrs.interleaved ? 2 * d + 1 : d + call.half;
        spread[0][first] = spread[0][second] = cos[angle + d];
        spread[1][first] = spread[1][second] = sin[angle + d];
      }
      for (int64_t h = 0; h < call.heads; ++h) {
        const int64_t row = b * call.batch_stride + h * call.head_stride + i * call.row_stride;
        ops.rotate(x + row, spread[0], spread[1], out + row, rotated, attrs.interleaved);
        std::copy(x + row + rotated, x + row + call.dim, out + row + rotated);
      }
    }
    return KernelStatus::Ok();
  };
  const int64_t positions = call.batch * call.length;
  std::atomic<bool> failed = false;
  (*args.device->parallel)(positions, cpu::RowGrain(call.heads * call.dim, 4),
                           [&](int64_t begin, int64_t end) {
                             if (!run(begin, end).ok()) failed = true;
                           });
  // The first wrong position in order, however they were shared out.
  return failed ? run(0, positions) : KernelStatus::Ok();
}

std::string RotaryEmbeddingSupports(const CallSignature& call) {
  const auto& attrs = *static_cast<const nn::RotaryEmbeddingAttrs*>(call.attrs);
  const TensorView& x = call.inputs[0];
  const int64_t heads = x.rank() == 4 || attrs.num_heads == 0 ? 1 : attrs.num_heads;
  if (attrs.rotary_dim == 0 && (x.dim(-1) < 0 || x.dim(-1) / heads > kMostRotated))
    return "needs heads of a known size, at most " + std::to_string(kMostRotated);
  if (attrs.rotary_dim > kMostRotated)
    return "rotates at most " + std::to_string(kMostRotated) + " elements";
  CallSignature floats = call;  // positions are integers
  floats.inputs = call.inputs.first(std::min<size_t>(call.inputs.size(), 3));
  return cpu::RequireF32(floats);
}

}  // namespace

Kernel CpuRotaryEmbedding() {
  return {.op = "nn.rotary_embedding",
          .name = "cpu.rotary_embedding",
          .priority = 10,
          .run = RotaryEmbedding,
          .supports = RotaryEmbeddingSupports};
}

Kernel CpuFusedRotary() {
  return {.op = "fused.rotary",
          .name = "cpu.fused_rotary",
          .priority = 10,
          .run = Rotary,
          .supports = SupportsRotary};
}

}  // namespace tenon::kernels
