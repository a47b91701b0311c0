// Host side of products: what the library's epilogue covers, and what follows as a kernel of its
// own.
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/matmul_shape.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

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
  p.dtype = out.dtype;
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
  StridedWalk<2> walk(View(batch), strides);
  for (int64_t i = 0, n = Product(View(batch)); i < n; ++i, walk.Next()) {
    p.a = a.as<std::byte>() + walk[0] * size;
    p.b = b.as<std::byte>() + walk[1] * size;
    p.out = out.as<std::byte>() + i * p.batch * p.out_stride * size;
    if (KernelStatus status = QueueOf(args).Launch(p); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

// Exactly what the library computes: its GELU is the tanh form.
bool InLibrary(ActivationKind kind) {
  return kind == ActivationKind::kNone || kind == ActivationKind::kRelu ||
         kind == ActivationKind::kGeluTanh;
}

KernelStatus Linear(const RunArgs& args) {
  const auto& attrs = args.get<fused::LinearAttrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  const TensorView bias = Operand(args.inputs, 2), residual = Operand(args.inputs, 3);
  if (out.numel() == 0) return KernelStatus::Ok();
  const Activation activation = ToActivation(attrs);
  MatMulParams p = {};
  p.dtype = out.dtype;
  p.transpose_b = attrs.transpose_w;
  p.a = x.data;
  p.b = w.data;
  p.out = out.data;
  p.n = out.dim(-1);
  p.k = x.dim(-1);
  p.m = out.numel() / p.n;
  p.batch = 1;
  p.out_stride = p.m * p.n;
  p.bias = bias.data;
  // The library adds before it activates.
  const bool same_shape = residual.present() && residual.numel() == out.numel();
  const bool adds = same_shape && activation.kind == ActivationKind::kNone;
  const bool empty = p.k == 0, own = !InLibrary(activation.kind) || empty;
  if (!empty) {
    if (adds) p.residual = residual.data;
    if (!own) p.activation = activation.kind;
    if (KernelStatus status = QueueOf(args).Launch(p); !status.ok()) return status;
    if (!own && (adds || !residual.present())) return KernelStatus::Ok();
  }
  EpilogueParams e = {};
  e.dtype = out.dtype;
  e.from_zero = empty;
  if (empty) e.bias = bias.data;
  if (own) e.activation = activation.kind;
  e.alpha = activation.alpha;
  e.beta = activation.beta;
  if (empty || !adds) e.residual = residual.data;
  e.out = out.data;
  e.rows = p.m;
  e.n = p.n;
  e.residual_at = ToStrided<1>(ToDims(out.shape), {StridesIn(residual, out.shape)});
  return QueueOf(args).Launch(e);
}

KernelStatus CompressedLinear(const RunArgs& args) {
  const auto& attrs = args.get<fused::CompressedLinearAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const TensorView residual = Operand(args.inputs, 3);
  if (out.numel() == 0) return KernelStatus::Ok();
  const Activation activation = ToActivation(attrs);
  CompressedParams p = {};
  p.transpose_w = attrs.transpose_w;
  p.activation = activation.kind;
  p.alpha = activation.alpha;
  p.beta = activation.beta;
  p.x = x.data;
  p.w = args.inputs[1].data;
  if (args.inputs[1].dtype == DType::kI8) p.scale = args.inputs[4].as<float>();
  p.bias = Operand(args.inputs, 2).as<float>();
  p.residual = residual.as<float>();
  p.out = out.as<float>();
  p.n = out.dim(-1);
  p.k = x.dim(-1);
  p.rows = out.numel() / p.n;
  p.group = attrs.group == 0 ? std::max<int64_t>(p.k, 1) : attrs.group;
  p.residual_at = ToStrided<1>(ToDims(out.shape), {StridesIn(residual, out.shape)});
  return QueueOf(args).Launch(p);
}

std::string SupportsCompressed(const CallSignature& call) {
  const DType dtype = call.outputs[0].dtype;
  return dtype == DType::kF32 ? CheckRanks(call) : std::string("needs f32, got ") + Name(dtype);
}

}  // namespace

void AddMatMulKernels(KernelRegistry& registry) {
  const auto floats = [](const CallSignature& call) { return RequireFloats(call); };
  registry.Add(MakeKernel("ten.matmul", "cuda.matmul", MatMul, floats));
  registry.Add(MakeKernel("fused.linear", "cuda.fused_linear", Linear, floats));
  registry.Add(MakeKernel("fused.compressed_linear", "cuda.compressed_linear", CompressedLinear,
                          SupportsCompressed));
}

}  // namespace tenon::kernels::gpu
