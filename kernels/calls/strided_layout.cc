#include "kernels/calls/strided_layout.h"

#include <string>

#include "kernels/calls/slice_bounds.h"
#include "kernels/checked_index.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

KernelStatus AddSliceAxis(int64_t axis, int64_t start, int64_t step, const TensorView& x,
                          StridedLayout& layout) {
  if (axis < -x.rank() || axis >= x.rank()) {
    return KernelStatus::Invalid("slice axis " + std::to_string(axis) +
                                 " is out of range for rank " + std::to_string(x.rank()) +
                                 ExpectedRange<int64_t>(-x.rank(), x.rank() - 1));
  }
  if (step == 0) return KernelStatus::Invalid("slice step is 0 (expected any other number)");
  axis = NormalizeAxis(axis, x.rank());
  // A full int64 step would overflow the stride; beyond the extent only the first element is taken.
  step = std::clamp(step, -x.shape[axis] - 1, x.shape[axis] + 1);
  layout.offset += SliceStart(start, step, x.shape[axis]) * layout.strides[axis];
  layout.strides[axis] *= step;
  return KernelStatus::Ok();
}

}  // namespace

KernelStatus TransposeLayout(const RunArgs& args, StridedLayout& layout) {
  const auto& perm = args.get<ten::TransposeAttrs>().perm;
  const Dims strides = RowMajorStrides(args.inputs[0].shape);
  layout.shape = ToDims(args.outputs[0].shape);
  layout.strides.resize(layout.shape.size());
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    layout.strides[i] = strides[perm.empty() ? strides.size() - 1 - i : perm[i]];
  }
  return KernelStatus::Ok();
}

KernelStatus ExpandLayout(const RunArgs& args, StridedLayout& layout) {
  layout.shape = ToDims(args.outputs[0].shape);
  layout.strides = BroadcastStrides(args.inputs[0].shape, args.outputs[0].shape);
  return KernelStatus::Ok();
}

KernelStatus SliceLayout(const RunArgs& args, StridedLayout& layout) {
  const auto& attrs = args.get<ten::SliceAttrs>();
  layout.shape = ToDims(args.outputs[0].shape);
  layout.strides = RowMajorStrides(args.inputs[0].shape);
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    const int64_t step = i < attrs.steps.size() ? attrs.steps[i] : 1;
    KernelStatus status =
        AddSliceAxis(attrs.axes[i], attrs.starts[i], step, args.inputs[0], layout);
    if (!status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus DynamicSliceLayout(const RunArgs& args, StridedLayout& layout) {
  auto input = [&](size_t i) { return i < args.inputs.size() ? args.inputs[i] : TensorView{}; };
  const TensorView starts = args.inputs[1], axes = input(3), steps = input(4);
  layout.shape = ToDims(args.outputs[0].shape);
  layout.strides = RowMajorStrides(args.inputs[0].shape);
  for (int64_t i = 0; i < starts.numel(); ++i) {
    KernelStatus status =
        AddSliceAxis(axes.present() ? IndexAt(axes, i) : i, IndexAt(starts, i),
                     steps.present() ? IndexAt(steps, i) : 1, args.inputs[0], layout);
    if (!status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus TileLayout(const RunArgs& args, StridedLayout& layout) {
  const TensorView& x = args.inputs[0];
  const Dims strides = RowMajorStrides(x.shape);
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t extent = x.shape[i];
    layout.shape.push_back(extent == 0 ? 0 : args.outputs[0].shape[i] / extent);
    layout.strides.push_back(0);
    layout.shape.push_back(extent);
    layout.strides.push_back(strides[i]);
  }
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels
