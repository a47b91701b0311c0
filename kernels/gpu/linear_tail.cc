#include "kernels/gpu/linear_tail.h"

#include "kernels/gpu/support.h"

namespace tenon::kernels::gpu {
namespace {

// Exactly what the library computes: its GELU is the tanh form.
bool InLibrary(ActivationKind kind) {
  return kind == ActivationKind::kNone || kind == ActivationKind::kRelu ||
         kind == ActivationKind::kGeluTanh;
}

}  // namespace

void LinearTail::PutInto(MatMulParams& p) {
  p.bias = bias.data;
  bias = {};
  // The library adds before it activates.
  if (activation.kind == ActivationKind::kNone && residual.present() &&
      residual.numel() == out.numel()) {
    p.residual = residual.data;
    residual = {};
  }
  if (InLibrary(activation.kind)) {
    p.activation = activation.kind;
    activation = {};
  }
}

KernelStatus LinearTail::Launch(Queue& queue, bool from_zero) const {
  if (!from_zero && !bias.present() && !residual.present() &&
      activation.kind == ActivationKind::kNone) {
    return KernelStatus::Ok();
  }
  EpilogueParams p = {};
  p.dtype = out.dtype;
  p.from_zero = from_zero;
  p.activation = activation.kind;
  p.alpha = activation.alpha;
  p.beta = activation.beta;
  p.bias = bias.data;
  p.residual = residual.data;
  p.out = out.data;
  p.n = out.dim(-1);
  p.rows = out.numel() / p.n;
  p.residual_at = ToStrided<1>(ToDims(out.shape), {StridesIn(residual, out.shape)});
  return queue.Launch(p);
}

}  // namespace tenon::kernels::gpu
