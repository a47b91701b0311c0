// Host side of copies: transpose, expand, slice, tile, concat, split, gather.
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"
#include "kernels/strided_layout.h"

namespace tenon::kernels::gpu {
namespace {

template <LayoutFn kLayout>
KernelStatus CopyStrided(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  StridedLayout layout;
  if (KernelStatus status = kLayout(args, layout); !status.ok()) return status;
  StridedCopyParams p = {};
  p.size = static_cast<int>(SizeOf(out.dtype));
  p.in = args.inputs[0].data;
  p.out = out.data;
  p.n = out.numel();
  p.offset = layout.offset;
  std::array<Dims, 1> strides = {layout.strides};
  Coalesce(layout.shape, strides);
  if (layout.shape.size() > kMaxAxes) {
    return KernelStatus::Unsupported("needs at most " + std::to_string(kMaxAxes) +
                                     " axes after joining neighbours, got " +
                                     std::to_string(layout.shape.size()));
  }
  p.at = ToStrided<1>(std::move(layout.shape), std::move(strides));
  return QueueOf(args).Launch(p);
}

// Tiling splits each axis in two.
std::string SupportsTile(const CallSignature& call) {
  return 2 * call.inputs[0].rank() <= kMaxAxes ? std::string() : "needs at most 4 axes";
}

int64_t BytesBehind(const TensorView& view, int64_t axis) {
  return Product(view.shape.subspan(static_cast<size_t>(axis))) *
         static_cast<int64_t>(SizeOf(view.dtype));
}

KernelStatus CopyPiece(const RunArgs& args, PieceCopyParams p) {
  return p.rows * p.width == 0 ? KernelStatus::Ok() : QueueOf(args).Launch(p);
}

KernelStatus Concat(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::ConcatAttrs>().axis, out.rank());
  const int64_t rows = Product(out.shape.first(static_cast<size_t>(axis)));
  const int64_t pitch = BytesBehind(out, axis);
  int64_t at = 0;
  for (const TensorView& in : args.inputs) {
    const int64_t width = BytesBehind(in, axis);
    KernelStatus status =
        CopyPiece(args, {in.data, out.as<std::byte>() + at, rows, width, width, pitch});
    if (!status.ok()) return status;
    at += width;
  }
  return KernelStatus::Ok();
}

KernelStatus Split(const RunArgs& args) {
  const TensorView& in = args.inputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::SplitAttrs>().axis, in.rank());
  const int64_t rows = Product(in.shape.first(static_cast<size_t>(axis)));
  const int64_t pitch = BytesBehind(in, axis);
  int64_t at = 0;
  for (const TensorView& out : args.outputs) {
    const int64_t width = BytesBehind(out, axis);
    KernelStatus status =
        CopyPiece(args, {in.as<std::byte>() + at, out.data, rows, width, pitch, width});
    if (!status.ok()) return status;
    at += width;
  }
  return KernelStatus::Ok();
}

KernelStatus Gather(const RunArgs& args) {
  const TensorView &in = args.inputs[0], &indices = args.inputs[1];
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const int64_t axis = NormalizeAxis(args.get<ten::GatherAttrs>().axis, in.rank());
  GatherParams p = {};
  p.in = in.data;
  p.indices = indices.data;
  p.out = args.outputs[0].data;
  p.outer = Product(in.shape.first(static_cast<size_t>(axis)));
  p.extent = in.shape[static_cast<size_t>(axis)];
  p.count = indices.numel();
  p.width = BytesBehind(in, axis + 1);
  p.wide_indices = indices.dtype == DType::kI64;
  p.error = QueueOf(args).error_slot();
  return QueueOf(args).Launch(p);
}

std::string SupportsGather(const CallSignature& call) {
  const DType index = call.inputs[1].dtype;
  return index == DType::kI32 || index == DType::kI64
             ? std::string()
             : std::string("needs indices of i32 or i64, got ") + Name(index);
}

}  // namespace

void AddMovementKernels(KernelRegistry& registry) {
  registry.Add(
      MakeKernel("ten.transpose", "cuda.transpose", CopyStrided<TransposeLayout>, CheckRanks));
  registry.Add(MakeKernel("ten.expand", "cuda.expand", CopyStrided<ExpandLayout>, CheckRanks));
  registry.Add(MakeKernel("ten.slice", "cuda.slice", CopyStrided<SliceLayout>, CheckRanks));
  registry.Add(MakeKernel("ten.tile", "cuda.tile", CopyStrided<TileLayout>, SupportsTile));
  // Bounds and extents are read by the host.
  Kernel slice = MakeKernel("ten.dynamic_slice", "cuda.dynamic_slice",
                            CopyStrided<DynamicSliceLayout>, CheckRanks);
  slice.host_inputs = 0b11110;
  registry.Add(slice);
  Kernel expand = MakeKernel("ten.dynamic_expand", "cuda.dynamic_expand", CopyStrided<ExpandLayout>,
                             CheckRanks);
  expand.host_inputs = 0b10;
  registry.Add(expand);
  registry.Add(MakeKernel("ten.concat", "cuda.concat", Concat, nullptr));
  registry.Add(MakeKernel("ten.split", "cuda.split", Split, nullptr));
  registry.Add(MakeKernel("ten.gather", "cuda.gather", Gather, SupportsGather));
}

}  // namespace tenon::kernels::gpu
