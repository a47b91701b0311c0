// Host side of products.
#include "kernels/calls/matmul_shape.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/linear_tail.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

// A linear layer of few rows: no product of the library, whose tiles have many.
KernelStatus ThinLinear(const RunArgs& args, const MatMulParams& product, const LinearTail& tail) {
  ThinProductParams p = {};
  p.dtype = p.weights = product.dtype;
  p.transpose_w = product.transpose_b;
  p.activation = tail.activation.kind;
  p.alpha = tail.activation.alpha;
  p.beta = tail.activation.beta;
  p.x = product.a;
  p.w = product.b;
  p.bias = tail.bias.data;
  p.residual = tail.residual.data;
  p.out = product.out;
  p.rows = product.m;
  p.n = product.n;
  p.k = p.group = product.k;
  const TensorView& out = tail.out;
  p.residual_at = ToStrided<1>(ToDims(out.shape), {StridesIn(tail.residual, out.shape)});
  return QueueOf(args).Launch(p);
}

bool IsThin(const MatMulParams& p) {
  return p.m <= kThinProductRows && p.batch == 1 && !p.transpose_a && p.k < INT32_MAX;
}

KernelStatus MatMul(const RunArgs& args) {
  const auto& attrs = args.get<ten::MatmulAttrs>();
  const TensorView &a = args.inputs[0], &b = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const MatMulShape s = MatMulShape::Of(a, b, attrs.transpose_a, attrs.transpose_b);
  if (s.k == 0) {
    EpilogueParams zero = {};
    zero.dtype = out.dtype;
    zero.from_zero = true;
    zero.out = out.data;
    zero.rows = 1;
    zero.n = out.numel();
    return QueueOf(args).Launch(zero);
  }
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  MatMulParams p = {};
  p.dtype = p.out_dtype = out.dtype;
  p.transpose_a = s.a_col != 1;
  p.transpose_b = s.b_col != 1;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  Dims batch = s.batch;
  std::array<Dims, 2> strides = {s.a_batch, s.b_batch};
  Coalesce(batch, strides);
  // A matrix that every batch of a uses is one product with more rows.
  if (batch.size() == 1 && strides[1][0] == 0 && strides[0][0] == p.m * p.k && !p.transpose_a) {
    p.m *= batch[0];
    batch[0] = 1;
  }
  // The library steps through one axis of batches; the others are looped over.
  p.batch = batch.back();
  p.a_stride = strides[0].back();
  p.b_stride = strides[1].back();
  p.out_stride = p.m * p.n;
  batch.pop_back();
  strides[0].pop_back();
  strides[1].pop_back();
  if (batch.empty() && IsThin(p)) {
    p.a = a.data;
    p.b = b.data;
    p.out = out.data;
    return ThinLinear(args, p, LinearTail{out, {}, {}, {}});
  }
  StridedWalk<2> walk(View(batch), strides);
  for (int64_t i = 0, n = Product(View(batch)); i < n; ++i, walk.Next()) {
    p.a = a.as<std::byte>() + walk[0] * size;
    p.b = b.as<std::byte>() + walk[1] * size;
    p.out = out.as<std::byte>() + i * p.batch * p.out_stride * size;
    if (KernelStatus status = QueueOf(args).Launch(p); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus Linear(const RunArgs& args) {
  const auto& attrs = args.get<fused::LinearAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  MatMulParams p = {};
  p.dtype = p.out_dtype = out.dtype;
  p.transpose_b = attrs.transpose_w;
  p.a = x.data;
  p.b = args.inputs[1].data;
  p.out = out.data;
  p.n = out.dim(-1);
  p.k = x.dim(-1);
  p.m = out.numel() / p.n;
  p.batch = 1;
  p.out_stride = p.m * p.n;
  LinearTail tail = {out, Operand(args.inputs, 2), Operand(args.inputs, 3), ToActivation(attrs)};
  if (p.k == 0) return tail.Launch(QueueOf(args), /*from_zero=*/true);
  if (IsThin(p)) return ThinLinear(args, p, tail);
  tail.PutInto(p);
  if (KernelStatus status = QueueOf(args).Launch(p); !status.ok()) return status;
  return tail.Launch(QueueOf(args));
}

}  // namespace

void AddMatMulKernels(KernelRegistry& registry) {
  const auto floats = [](const CallSignature& call) { return RequireFloats(call); };
  registry.Add(MakeKernel("ten.matmul", "cuda.matmul", MatMul, floats));
  registry.Add(MakeKernel("fused.linear", "cuda.fused_linear", Linear, floats));
}

}  // namespace tenon::kernels::gpu
