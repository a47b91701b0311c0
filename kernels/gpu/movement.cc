// Host side of copies: transpose, expand, slice, tile, concat, split, gathers, padding.
#include <utility>

#include "kernels/calls/strided_layout.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

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
                                     " axes after joining adjacent ones, got " +
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

KernelStatus GatherElements(const RunArgs& args) {
  const TensorView &in = args.inputs[0], &indices = args.inputs[1];
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const int64_t axis = NormalizeAxis(args.get<ten::GatherElementsAttrs>().axis, in.rank());
  for (int64_t d = 0; d < in.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    if (d != axis && indices.shape[at] > in.shape[at]) {
      return KernelStatus::Invalid("indices have " + std::to_string(indices.shape[at]) +
                                   " elements on axis " + std::to_string(d) + ", x has " +
                                   std::to_string(in.shape[at]) + " (expected no more)");
    }
  }
  Dims strides = RowMajorStrides(in.shape);
  GatherElementsParams p = {};
  p.size = static_cast<int>(SizeOf(in.dtype));
  p.wide_indices = indices.dtype == DType::kI64;
  p.in = in.data;
  p.indices = indices.data;
  p.out = args.outputs[0].data;
  p.n = indices.numel();
  p.extent = in.shape[static_cast<size_t>(axis)];
  p.step = std::exchange(strides[static_cast<size_t>(axis)], 0);
  p.at = ToStrided<1>(ToDims(indices.shape), {std::move(strides)});
  p.error = QueueOf(args).error_slot();
  return QueueOf(args).Launch(p);
}

std::string SupportsGatherElements(const CallSignature& call) {
  std::string reason = SupportsGather(call);
  return reason.empty() ? CheckRanks(call) : reason;
}

// What is checked decides what later kernels read. These check it themselves, so that a wrong value
// does no harm until the report is read.
KernelStatus CheckRange(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  CheckRangeParams p = {};
  p.wide = out.dtype == DType::kI64;
  p.x = args.inputs[0].data;
  p.low = args.inputs[1].data;
  p.high = args.inputs[2].data;
  p.out = out.data;
  p.n = out.numel();
  p.at = ToStrided<3>(ToDims(out.shape), {RowMajorStrides(out.shape),
                                          BroadcastStrides(args.inputs[1].shape, out.shape),
                                          BroadcastStrides(args.inputs[2].shape, out.shape)});
  p.what = args.get<ten::CheckRangeAttrs>().what.c_str();
  p.error = QueueOf(args).error_slot();
  return QueueOf(args).Launch(p);
}

std::string SupportsCheckRange(const CallSignature& call) {
  const DType dtype = call.inputs[0].dtype;
  if (dtype == DType::kI32 || dtype == DType::kI64) return CheckRanks(call);
  return std::string("needs i32 or i64, got ") + Name(dtype);
}

KernelStatus RunPad(const RunArgs& args) {
  const auto& attrs = args.get<ten::PadAttrs>();
  const TensorView &in = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  if (in.numel() == 0 && attrs.mode != ten::PadMode::kConstant) {
    return KernelStatus::Invalid("an empty axis has nothing to pad with (expected mode constant)");
  }
  const Dims strides = RowMajorStrides(in.shape);
  PadParams p = {};
  p.size = static_cast<int>(SizeOf(in.dtype));
  p.mode = attrs.mode == ten::PadMode::kConstant  ? PadMode::kConstant
           : attrs.mode == ten::PadMode::kReflect ? PadMode::kReflect
           : attrs.mode == ten::PadMode::kEdge    ? PadMode::kEdge
                                                  : PadMode::kWrap;
  p.in = in.data;
  p.value = Operand(args.inputs, 1).data;
  p.out = out.data;
  p.n = out.numel();
  p.rank = static_cast<int>(in.rank());
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    p.out_shape[axis] = out.shape[axis];
    p.in_shape[axis] = in.shape[axis];
    p.strides[axis] = strides[axis];
    p.begins[axis] = attrs.pads[axis];
  }
  return QueueOf(args).Launch(p);
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
  registry.Add(MakeKernel("ten.gather_elements", "cuda.gather_elements", GatherElements,
                          SupportsGatherElements));
  registry.Add(
      MakeKernel("ten.check_range", "cuda.check_range", CheckRange, SupportsCheckRange, 1));
  registry.Add(MakeKernel("ten.pad", "cuda.pad", RunPad, CheckRanks));
}

}  // namespace tenon::kernels::gpu
