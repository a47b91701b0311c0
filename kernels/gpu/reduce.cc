// Host side of reductions.
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

template <typename Attrs, ReduceKind kKind>
KernelStatus Reduce(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const Dims strides = RowMajorStrides(x.shape);
  Dims kept, kept_strides, reduced, reduced_strides;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    bool is_reduced = false;
    for (int64_t a : args.get<Attrs>().axes) is_reduced |= NormalizeAxis(a, x.rank()) == axis;
    (is_reduced ? reduced : kept).push_back(x.dim(static_cast<int>(axis)));
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[static_cast<size_t>(axis)]);
  }
  ReduceParams p = {};
  p.dtype = x.dtype;
  p.kind = kKind;
  p.in = x.data;
  p.out = out.data;
  p.n = out.numel();
  p.count = Product(View(reduced));
  p.kept = ToStrided<1>(std::move(kept), {std::move(kept_strides)});
  p.reduced = ToStrided<1>(std::move(reduced), {std::move(reduced_strides)});
  return QueueOf(args).Launch(p);
}

std::string SupportsFloats(const CallSignature& call) { return RequireFloats(call); }

std::string SupportsWords(const CallSignature& call) {
  if (call.inputs[0].dtype == DType::kI64) return CheckRanks(call);
  return RequireFloats(call);
}

// Sums of i32 wrap like those of i64.
std::string SupportsSum(const CallSignature& call) {
  if (call.inputs[0].dtype == DType::kI32) return CheckRanks(call);
  return SupportsWords(call);
}

}  // namespace

void AddReduceKernels(KernelRegistry& registry) {
  registry.Add(MakeKernel("ten.reduce_sum", "cuda.reduce_sum",
                          Reduce<ten::ReduceSumAttrs, ReduceKind::kSum>, SupportsSum));
  registry.Add(MakeKernel("ten.reduce_mean", "cuda.reduce_mean",
                          Reduce<ten::ReduceMeanAttrs, ReduceKind::kMean>, SupportsFloats));
  registry.Add(MakeKernel("ten.reduce_max", "cuda.reduce_max",
                          Reduce<ten::ReduceMaxAttrs, ReduceKind::kMax>, SupportsWords));
  registry.Add(MakeKernel("ten.reduce_min", "cuda.reduce_min",
                          Reduce<ten::ReduceMinAttrs, ReduceKind::kMin>, SupportsWords));
  registry.Add(MakeKernel("ten.reduce_prod", "cuda.reduce_prod",
                          Reduce<ten::ReduceProdAttrs, ReduceKind::kProd>, SupportsSum));
  registry.Add(MakeKernel("ten.reduce_l2", "cuda.reduce_l2",
                          Reduce<ten::ReduceL2Attrs, ReduceKind::kL2>, SupportsFloats));
}

}  // namespace tenon::kernels::gpu
