// Kernels that read a tensor through strides: transpose, slice, expand, tile, pad. What depends on
// shapes alone is decided once, in a CopyPlan.
#include <cstring>

#include "kernels/calls/strided_layout.h"
#include "kernels/cpu/movement/copy_plan.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

template <LayoutFn kLayout>
KernelStatus MakePlan(const RunArgs& args, cpu::CopyPlan& plan) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  StridedLayout layout;
  if (KernelStatus status = kLayout(args, layout); !status.ok()) return status;
  const auto element = static_cast<int64_t>(SizeOf(args.outputs[0].dtype));
  plan = cpu::CopyPlan(layout.shape, layout.strides, RowMajorStrides(View(layout.shape)), element);
  plan.from_offset = layout.offset * element;
  return KernelStatus::Ok();
}

struct PlanState final : KernelState {
  cpu::CopyPlan plan;
};

KernelStatus RunPlan(const RunArgs& args) {
  static_cast<const PlanState*>(args.state)
      ->plan.Run(args.inputs[0].as<char>(), args.outputs[0].as<char>(), *args.device->parallel);
  return KernelStatus::Ok();
}

template <LayoutFn kLayout>
KernelStatus PreparePlan(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  auto made = std::make_shared<PlanState>();
  const RunArgs run = {.inputs = args.inputs, .outputs = args.outputs, .attrs = args.attrs};
  if (KernelStatus status = MakePlan<kLayout>(run, made->plan); !status.ok()) return status;
  state = std::move(made);
  return KernelStatus::Ok();
}

// The layout follows from shapes and attributes.
template <LayoutFn kLayout>
Kernel PlannedKernel(const char* op, const char* name) {
  return {.op = op, .name = name, .priority = 10, .run = RunPlan, .prepare = PreparePlan<kLayout>};
}

// The layout depends on the values of operands.
template <LayoutFn kLayout>
KernelStatus RunStrided(const RunArgs& args) {
  cpu::CopyPlan plan;
  if (KernelStatus status = MakePlan<kLayout>(args, plan); !status.ok()) return status;
  plan.Run(args.inputs[0].as<char>(), args.outputs[0].as<char>(), *args.device->parallel);
  return KernelStatus::Ok();
}

template <LayoutFn kLayout>
Kernel StridedKernel(const char* op, const char* name) {
  return {.op = op, .name = name, .priority = 10, .run = RunStrided<kLayout>};
}

std::string PadSupports(const CallSignature& call) {
  const auto mode = static_cast<const ten::PadAttrs*>(call.attrs)->mode;
  return mode == ten::PadMode::kConstant ? std::string() : "pads with one value only";
}

// The part of the operand that shows in the result.
KernelStatus PreparePad(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  const auto& pads = static_cast<const ten::PadAttrs*>(args.attrs)->pads;
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const auto element = static_cast<int64_t>(SizeOf(out.dtype));
  const Dims from = RowMajorStrides(x.shape), to = RowMajorStrides(out.shape);
  Dims shape;
  int64_t from_offset = 0, to_offset = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const int64_t begin = std::max<int64_t>(0, -pads[axis]);
    const int64_t end = std::min(x.shape[axis], out.shape[axis] - pads[axis]);
    shape.push_back(std::max<int64_t>(0, end - begin));
    from_offset += begin * from[axis];
    to_offset += (begin + pads[axis]) * to[axis];
  }
  auto made = std::make_shared<PlanState>();
  if (Product(View(shape)) > 0) {
    made->plan = cpu::CopyPlan(shape, from, to, element);
    made->plan.from_offset = from_offset * element;
    made->plan.to_offset = to_offset * element;
  }
  state = std::move(made);
  return KernelStatus::Ok();
}

template <typename T>
void Fill(const TensorView& value, const TensorView& out, ParallelFor& parallel) {
  const T element = value.present() ? *value.as<T>() : T{0};
  T* to = out.as<T>();
  parallel(out.numel(), cpu::kGrain,
           [=](int64_t begin, int64_t end) { std::fill(to + begin, to + end, element); });
}

KernelStatus Pad(const RunArgs& args) {
  const TensorView value = cpu::Present(args.inputs, 1) ? args.inputs[1] : TensorView();
  switch (SizeOf(args.outputs[0].dtype)) {
    case 1:
      Fill<uint8_t>(value, args.outputs[0], *args.device->parallel);
      break;
    case 2:
      Fill<uint16_t>(value, args.outputs[0], *args.device->parallel);
      break;
    case 4:
      Fill<uint32_t>(value, args.outputs[0], *args.device->parallel);
      break;
    default:
      Fill<uint64_t>(value, args.outputs[0], *args.device->parallel);
  }
  return RunPlan(args);
}

}  // namespace

Kernel CpuDynamicExpand() {
  return StridedKernel<ExpandLayout>("ten.dynamic_expand", "cpu.dynamic_expand");
}
Kernel CpuDynamicSlice() {
  return StridedKernel<DynamicSliceLayout>("ten.dynamic_slice", "cpu.dynamic_slice");
}
Kernel CpuDynamicTile() {
  return StridedKernel<TileLayout>("ten.dynamic_tile", "cpu.dynamic_tile");
}
Kernel CpuExpand() { return PlannedKernel<ExpandLayout>("ten.expand", "cpu.expand"); }
Kernel CpuPad() {
  return {.op = "ten.pad",
          .name = "cpu.pad",
          .priority = 10,
          .run = Pad,
          .prepare = PreparePad,
          .supports = PadSupports};
}
Kernel CpuSlice() { return PlannedKernel<SliceLayout>("ten.slice", "cpu.slice"); }
Kernel CpuTile() { return PlannedKernel<TileLayout>("ten.tile", "cpu.tile"); }
Kernel CpuTranspose() { return PlannedKernel<TransposeLayout>("ten.transpose", "cpu.transpose"); }

}  // namespace tenon::kernels
