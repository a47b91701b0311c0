// Rotary position embeddings of floats.
#include <algorithm>

#include "kernels/cpu/support.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/rotary_call.h"

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

std::string Supports(const CallSignature& call) {
  const auto& attrs = *static_cast<const fused::RotaryAttrs*>(call.attrs);
  const int64_t rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : call.inputs[0].dim(-1);
  for (size_t i : {size_t{1}, size_t{2}}) {
    const TensorView& table = call.inputs[i];
    if (table.rank() == 0 || table.dim(-1) != rotated) return "needs an angle for each element";
  }
  return cpu::RequireF32(call);
}

}  // namespace

Kernel CpuFusedRotary() {
  return {.op = "fused.rotary",
          .name = "cpu.fused_rotary",
          .priority = 10,
          .run = Rotary,
          .supports = Supports};
}

}  // namespace tenon::kernels
