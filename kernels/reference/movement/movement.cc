// Reference kernels that only move elements: the result is made of elements of the inputs.
#include <cstring>
#include <string>

#include "kernels/calls/pad_source.h"
#include "kernels/calls/strided_layout.h"
#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

KernelStatus Copy(const RunArgs& args) {
  const size_t bytes = static_cast<size_t>(args.outputs[0].bytes());
  if (bytes > 0 && args.outputs[0].data != args.inputs[0].data) {
    std::memcpy(args.outputs[0].data, args.inputs[0].data, bytes);
  }
  return KernelStatus::Ok();
}

template <LayoutFn kLayout>
KernelStatus StridedCopy(const RunArgs& args) {
  StridedLayout layout;
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  if (KernelStatus status = kLayout(args, layout); !status.ok()) return status;
  return DispatchSize(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto at = [&](int64_t i) {
      return args.inputs[0].as<char>() + i * static_cast<int64_t>(sizeof(T));
    };
    T* out = args.outputs[0].as<T>();
    const int64_t n = args.outputs[0].numel();
    StridedWalk<1> walk(View(layout.shape), {layout.strides});
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      std::memcpy(out + i, at(layout.offset + walk[0]), sizeof(T));
    }
    return KernelStatus::Ok();
  });
}

KernelStatus Concat(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::ConcatAttrs>().axis, out.rank());
  const int64_t outer = Product(out.shape.first(axis));
  const int64_t inner = Product(out.shape.subspan(axis + 1)) * SizeOf(out.dtype);
  char* to = out.as<char>();
  for (int64_t o = 0; o < outer; ++o) {
    for (const TensorView& input : args.inputs) {
      const int64_t bytes = input.shape[axis] * inner;
      const char* from = input.as<char>() + o * bytes;
      // The memory plan may have put the part where it belongs.
      if (bytes > 0 && from != to) std::memcpy(to, from, bytes);
      to += bytes;
    }
  }
  return KernelStatus::Ok();
}

KernelStatus Split(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::SplitAttrs>().axis, x.rank());
  const int64_t outer = Product(x.shape.first(axis));
  const int64_t inner = Product(x.shape.subspan(axis + 1)) * SizeOf(x.dtype);
  const char* from = x.as<char>();
  for (int64_t o = 0; o < outer; ++o) {
    for (const TensorView& output : args.outputs) {
      const int64_t bytes = output.shape[axis] * inner;
      char* to = output.as<char>() + o * bytes;
      if (bytes > 0 && from != to) std::memcpy(to, from, bytes);
      from += bytes;
    }
  }
  return KernelStatus::Ok();
}

// `pads`: as in ten.pad, for every axis.
KernelStatus PadBy(const RunArgs& args, DimSpan pads, ten::PadMode mode, const TensorView& fill) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const int64_t n = out.numel();
  if (n > 0 && x.numel() == 0 && mode != ten::PadMode::kConstant) {
    return KernelStatus::Invalid("an empty axis has nothing to pad with (expected mode constant)");
  }
  return DispatchSize(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = fill.present() ? *fill.as<T>() : T{0};
    const Dims strides = RowMajorStrides(x.shape);
    StridedWalk<0> walk(out.shape, {});
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      int64_t from = 0;
      bool inside = true;
      for (size_t axis = 0; axis < strides.size(); ++axis) {
        const int64_t at = PadSource(walk.index()[axis], x.shape[axis], pads[axis],
                                     pads[axis + strides.size()], mode);
        inside &= at >= 0;
        from += at * strides[axis];
      }
      out.as<T>()[i] = inside ? x.as<T>()[from] : value;
    }
    return KernelStatus::Ok();
  });
}

KernelStatus Pad(const RunArgs& args) {
  const auto& attrs = args.get<ten::PadAttrs>();
  return PadBy(args, attrs.pads, attrs.mode,
               args.inputs.size() > 1 ? args.inputs[1] : TensorView{});
}

KernelStatus DynamicPad(const RunArgs& args) {
  const TensorView &pads = args.inputs[1], &axes = args.inputs[3];
  const int64_t rank = args.inputs[0].rank();
  Dims padded_axes;
  if (axes.present()) {
    if (KernelStatus status = ReadAxes(axes, rank, padded_axes); !status.ok()) return status;
  } else {
    for (int64_t axis = 0; axis < rank; ++axis) padded_axes.push_back(axis);
  }
  const auto padded = static_cast<int64_t>(padded_axes.size());
  if (pads.numel() != 2 * padded) {
    return KernelStatus::Invalid(std::to_string(pads.numel()) + " pads for " +
                                 std::to_string(padded) + " axes (expected two for each)");
  }
  Dims all(2 * rank, 0);
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t axis = padded_axes[i];
    all[axis] = IndexAt(pads, i);
    all[rank + axis] = IndexAt(pads, padded + i);
  }
  // Both ops name the modes alike.
  const auto mode = static_cast<ten::PadMode>(args.get<ten::DynamicPadAttrs>().mode);
  return PadBy(args, View(all), mode, args.inputs[2]);
}

KernelStatus TriluBy(const RunArgs& args, bool upper, int64_t diagonal) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (x.numel() == 0) return KernelStatus::Ok();
  const int64_t rows = x.dim(-2), cols = x.dim(-1), matrices = x.numel() / (rows * cols);
  return DispatchSize(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t m = 0; m < matrices; ++m) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
          const int64_t at = (m * rows + i) * cols + j;
          // Compared without adding to i, so that an extreme diagonal cannot overflow.
          const bool keep = upper ? j - i >= diagonal : j - i <= diagonal;
          out.as<T>()[at] = keep ? x.as<T>()[at] : T{0};
        }
      }
    }
    return KernelStatus::Ok();
  });
}

KernelStatus Trilu(const RunArgs& args) {
  const auto& attrs = args.get<ten::TriluAttrs>();
  return TriluBy(args, attrs.upper, attrs.diagonal);
}

KernelStatus DynamicTrilu(const RunArgs& args) {
  if (args.inputs[1].numel() != 1)
    return KernelStatus::Invalid("diagonal has " + std::to_string(args.inputs[1].numel()) +
                                 " elements (expected 1)");
  return TriluBy(args, args.get<ten::DynamicTriluAttrs>().upper, IndexAt(args.inputs[1], 0));
}

KernelStatus Range(const RunArgs& args) {
  const int64_t n = args.outputs[0].numel();
  return DispatchNumber(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = args.outputs[0].as<T>();
    if constexpr (kIsFloat<T>) {
      const double start = DoubleAt(args.inputs[0], 0), delta = DoubleAt(args.inputs[2], 0);
      for (int64_t i = 0; i < n; ++i)
        out[i] = static_cast<T>(start + static_cast<double>(i) * delta);
    } else {
      const uint64_t start = static_cast<uint64_t>(IndexAt(args.inputs[0], 0));
      const uint64_t delta = static_cast<uint64_t>(IndexAt(args.inputs[2], 0));
      for (int64_t i = 0; i < n; ++i)
        out[i] = static_cast<T>(start + static_cast<uint64_t>(i) * delta);
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefConcat() {
  return {.op = "ten.concat", .name = "ref.concat", .run = Concat, .unaligned_inputs = ~0u};
}

Kernel RefDynamicExpand() {
  return {
      .op = "ten.dynamic_expand", .name = "ref.dynamic_expand", .run = StridedCopy<ExpandLayout>};
}

Kernel RefDynamicPad() {
  return {.op = "ten.dynamic_pad", .name = "ref.dynamic_pad", .run = DynamicPad};
}

Kernel RefDynamicReshape() {
  return {
      .op = "ten.dynamic_reshape", .name = "ref.dynamic_reshape", .run = Copy, .inplace_mask = 1};
}

Kernel RefDynamicSlice() {
  return {.op = "ten.dynamic_slice",
          .name = "ref.dynamic_slice",
          .run = StridedCopy<DynamicSliceLayout>};
}

Kernel RefDynamicSqueeze() {
  return {
      .op = "ten.dynamic_squeeze", .name = "ref.dynamic_squeeze", .run = Copy, .inplace_mask = 1};
}

Kernel RefDynamicTile() {
  return {.op = "ten.dynamic_tile", .name = "ref.dynamic_tile", .run = StridedCopy<TileLayout>};
}

Kernel RefDynamicTrilu() {
  return {.op = "ten.dynamic_trilu", .name = "ref.dynamic_trilu", .run = DynamicTrilu};
}

Kernel RefDynamicUnsqueeze() {
  return {.op = "ten.dynamic_unsqueeze",
          .name = "ref.dynamic_unsqueeze",
          .run = Copy,
          .inplace_mask = 1};
}

Kernel RefExpand() {
  return {.op = "ten.expand",
          .name = "ref.expand",
          .run = StridedCopy<ExpandLayout>,
          .unaligned_inputs = 1};
}

Kernel RefPad() { return {.op = "ten.pad", .name = "ref.pad", .run = Pad}; }

Kernel RefRange() { return {.op = "ten.range", .name = "ref.range", .run = Range}; }

Kernel RefReshape() {
  return {.op = "ten.reshape",
          .name = "ref.copy",
          .run = Copy,
          .inplace_mask = 1,
          .unaligned_inputs = 1};
}

Kernel RefSlice() {
  return {.op = "ten.slice",
          .name = "ref.slice",
          .run = StridedCopy<SliceLayout>,
          .unaligned_inputs = 1};
}

Kernel RefSplit() {
  return {.op = "ten.split", .name = "ref.split", .run = Split, .unaligned_inputs = 1};
}

Kernel RefTile() {
  return {
      .op = "ten.tile", .name = "ref.tile", .run = StridedCopy<TileLayout>, .unaligned_inputs = 1};
}

Kernel RefTranspose() {
  return {.op = "ten.transpose",
          .name = "ref.transpose",
          .run = StridedCopy<TransposeLayout>,
          .unaligned_inputs = 1};
}

Kernel RefTrilu() { return {.op = "ten.trilu", .name = "ref.trilu", .run = Trilu}; }

}  // namespace tenon::kernels
