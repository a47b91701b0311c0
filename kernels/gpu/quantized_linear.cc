// Host side of q.linear. Zero points stay in device memory, where the program may compute them.
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"

namespace tenon::kernels::gpu {
namespace {

KernelStatus QLinear(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &w_zero = args.inputs[3];
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  QLinearParams p = {};
  p.x_signed = x.dtype == DType::kI8;
  p.w_signed = w.dtype == DType::kI8;
  p.w_zero_each = w_zero.numel() > 1;
  p.to_float = out.dtype == DType::kF32;
  p.x = x.data;
  p.w = w.data;
  p.x_zero = args.inputs[2].data;
  p.w_zero = w_zero.data;
  p.out = out.data;
  p.n = out.dim(-1);
  p.k = x.dim(-1);
  p.rows = out.numel() / p.n;
  return QueueOf(args).Launch(p);
}

// The op's own types are all that there are, and axes are joined.
std::string SupportsBytes(const CallSignature&) { return ""; }

}  // namespace

void AddQuantizedKernels(KernelRegistry& registry) {
  registry.Add(MakeKernel("q.linear", "cuda.q_linear", QLinear, SupportsBytes));
}

}  // namespace tenon::kernels::gpu
