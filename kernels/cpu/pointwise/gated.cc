// Gated activations of floats: one pass over both factors.
#include "kernels/activation.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Pieces that stay in the first-level cache between the activation and the product.
constexpr int64_t kPiece = 2048;

void GatePiece(const Activation& activation, const float* gate, const float* up, float* out,
               int64_t n) {
  const auto multiply = cpu::LoopOf(cpu::BinaryOp::kMul);
  float part[kPiece];
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t count = std::min(kPiece, n - begin);
    cpu::Activate(activation, gate + begin, part, count);
    multiply(part, up + begin, out + begin, count);
  }
}

KernelStatus Gated(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  const auto& attrs = args.get<fused::GatedAttrs>();
  const Activation activation = ToActivation(attrs);
  if (out.numel() == 0) return KernelStatus::Ok();
  const float* x = args.inputs[0].as<float>();
  if (cpu::Present(args.inputs, 1)) {
    const float* up = args.inputs[1].as<float>();
    (*args.device->parallel)(out.numel(), cpu::kGrain / 4, [&](int64_t b, int64_t e) {
      GatePiece(activation, x + b, up + b, out.as<float>() + b, e - b);
    });
    return KernelStatus::Ok();
  }
  const int64_t n = out.shape.back(), rows = out.numel() / n;
  const float *gate = x + (attrs.second ? n : 0), *up = x + (attrs.second ? 0 : n);
  (*args.device->parallel)(rows, cpu::RowGrain(n, 4), [&](int64_t b, int64_t e) {
    for (int64_t r = b; r < e; ++r)
      GatePiece(activation, gate + 2 * n * r, up + 2 * n * r, out.as<float>() + n * r, n);
  });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuGated() {
  return {.op = "fused.gated",
          .name = "cpu.gated",
          .priority = 10,
          .run = Gated,
          .supports = cpu::RequireF32,
          .inplace_mask = 3};
}

}  // namespace tenon::kernels
