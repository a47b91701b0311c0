// Reference kernel of fused.rotary.
#include "kernels/calls/rotary_call.h"
#include "kernels/kernel_list.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

KernelStatus Rotary(const RunArgs& args) {
  const auto& attrs = args.get<fused::RotaryAttrs>();
  const TensorView &x = args.inputs[0], &cos = args.inputs[1], &sin = args.inputs[2];
  if (x.numel() == 0) return KernelStatus::Ok();
  const RotaryCall call = RotaryCall::Of(x, cos, sin, attrs);
  const int64_t half = call.rotated / 2;
  return DispatchFloat(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for (int64_t row = 0; row < call.rows; ++row) {
      const T* from = x.as<T>() + row * call.size;
      T* to = args.outputs[0].as<T>() + row * call.size;
      const T* c = cos.as<T>() + call.Begin(call.cos_strides, row);
      const T* s = sin.as<T>() + call.Begin(call.sin_strides, row);
      for (int64_t i = 0; i < call.rotated; ++i) {
        const bool first = attrs.interleaved ? i % 2 == 0 : i < half;
        const int64_t distance = attrs.interleaved ? 1 : half;
        const C turned =
            first ? -static_cast<C>(from[i + distance]) : static_cast<C>(from[i - distance]);
        to[i] = static_cast<T>(static_cast<C>(from[i]) *
                                   static_cast<C>(c[i * call.cos_strides.back()]) +
                               turned * static_cast<C>(s[i * call.sin_strides.back()]));
      }
      for (int64_t i = call.rotated; i < call.size; ++i) to[i] = from[i];
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefFusedRotary() {
  return {.op = "fused.rotary", .name = "ref.fused_rotary", .run = Rotary};
}

}  // namespace tenon::kernels
