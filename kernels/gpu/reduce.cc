// Host side of reductions, running sums, and positions of extremes.
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

KernelStatus CumSum(const RunArgs& args) {
  const auto& attrs = args.get<ten::CumsumAttrs>();
  const TensorView& x = args.inputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  const auto axis = static_cast<size_t>(NormalizeAxis(attrs.axis, x.rank()));
  return QueueOf(args).Launch(CumSumParams{x.dtype, attrs.exclusive, attrs.reverse, x.data,
                                           args.outputs[0].data, Product(x.shape.first(axis)),
                                           x.shape[axis], Product(x.shape.subspan(axis + 1))});
}

template <typename Attrs, bool kMax>
KernelStatus ArgReduce(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView& x = args.inputs[0];
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const auto axis = static_cast<size_t>(NormalizeAxis(attrs.axis, x.rank()));
  if (x.shape[axis] == 0) {
    return KernelStatus::Invalid("the axis has no elements to choose from");
  }
  return QueueOf(args).Launch(ArgReduceParams{
      x.dtype, kMax, attrs.select_last_index, x.data, args.outputs[0].as<int64_t>(),
      Product(x.shape.first(axis)), x.shape[axis], Product(x.shape.subspan(axis + 1))});
}

std::string SupportsNumbers(const CallSignature& call) {
  const DType dtype = call.inputs[0].dtype;
  const bool served = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
                      dtype == DType::kI32 || dtype == DType::kI64;
  return served ? std::string() : std::string("does not serve ") + Name(dtype);
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
  registry.Add(MakeKernel("ten.cumsum", "cuda.cumsum", CumSum, SupportsNumbers, 1));
  registry.Add(
      MakeKernel("ten.argmax", "cuda.argmax", ArgReduce<ten::ArgmaxAttrs, true>, SupportsNumbers));
  registry.Add(
      MakeKernel("ten.argmin", "cuda.argmin", ArgReduce<ten::ArgminAttrs, false>, SupportsNumbers));
}

}  // namespace tenon::kernels::gpu
