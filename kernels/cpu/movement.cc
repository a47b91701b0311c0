// Kernels that move elements of any dtype in long runs: strided copies, joining, cutting,
// gathering.
#include <cstring>

#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"
#include "kernels/strided_layout.h"

namespace tenon::kernels {
namespace {

// Copies a rows x cols matrix whose source has the given strides; one of them is usually 1.
template <typename T>
void CopyMatrix(const T* x, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols,
                int64_t out_row, T* out) {
  constexpr int64_t kBlock = 16;  // a block of source and result stays in the first-level cache
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    const int64_t i1 = std::min(rows, i0 + kBlock);
    for (int64_t j0 = 0; j0 < cols; j0 += kBlock) {
      const int64_t j1 = std::min(cols, j0 + kBlock);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) out[i * out_row + j] = x[i * row_stride + j * col_stride];
      }
    }
  }
}

// The axis (other than the last) along which the source is contiguous, or the last but one.
size_t PartnerAxis(const Dims& strides) {
  for (size_t axis = 0; axis + 1 < strides.size(); ++axis) {
    if (strides[axis] == 1) return axis;
  }
  return strides.size() - 2;
}

// Cuts [0, rows) of a matrix into pieces so that copying can be shared among threads.
constexpr int64_t kRowsPerTask = 64;

template <typename T>
void CopyStrided(const RunArgs& args, const T* x, Dims shape, Dims strides) {
  T* out = args.outputs[0].as<T>();
  std::array<Dims, 1> joined = {std::move(strides)};
  Coalesce(shape, joined);
  Dims& from = joined[0];
  const int64_t n = shape.back();
  if (shape.size() == 1) {
    const int64_t step = from[0];
    (*args.device->parallel)(n, cpu::kGrain, [=](int64_t begin, int64_t end) {
      if (step == 1) {
        std::memcpy(out + begin, x + begin, static_cast<size_t>(end - begin) * sizeof(T));
      } else {
        for (int64_t i = begin; i < end; ++i) out[i] = x[i * step];
      }
    });
    return;
  }
  if (from.back() == 1) {
    const Dims outer(shape.begin(), shape.end() - 1), steps(from.begin(), from.end() - 1);
    (*args.device->parallel)(
        Product(View(outer)), cpu::RowGrain(n), [&](int64_t begin, int64_t end) {
          StridedWalk<1> walk(View(outer), {steps}, begin);
          for (int64_t r = begin; r < end; ++r, walk.Next()) {
            std::memcpy(out + r * n, x + walk[0], static_cast<size_t>(n) * sizeof(T));
          }
        });
    return;
  }
  // A matrix over (partner axis, last axis) for every index of the other axes.
  const size_t partner = PartnerAxis(from);
  const Dims to = RowMajorStrides(View(shape));
  const int64_t rows = shape[partner], row_from = from[partner], col_from = from.back();
  const int64_t row_to = to[partner];
  Dims outer, outer_from, outer_to;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (axis == partner) continue;
    outer.push_back(shape[axis]);
    outer_from.push_back(from[axis]);
    outer_to.push_back(to[axis]);
  }
  const int64_t blocks = (rows + kRowsPerTask - 1) / kRowsPerTask;
  outer.push_back(blocks);
  outer_from.push_back(kRowsPerTask * row_from);
  outer_to.push_back(kRowsPerTask * row_to);
  (*args.device->parallel)(Product(View(outer)), cpu::RowGrain(n * std::min(rows, kRowsPerTask)),
                           [&](int64_t begin, int64_t end) {
                             StridedWalk<2> walk(View(outer), {outer_from, outer_to}, begin);
                             for (int64_t r = begin; r < end; ++r, walk.Next()) {
                               const int64_t first = r % blocks * kRowsPerTask;
                               CopyMatrix(x + walk[0], row_from, col_from,
                                          std::min(kRowsPerTask, rows - first), n, row_to,
                                          out + walk[1]);
                             }
                           });
}

template <LayoutFn kLayout>
KernelStatus StridedCopy(const RunArgs& args) {
  StridedLayout layout;
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  if (KernelStatus status = kLayout(args, layout); !status.ok()) return status;
  return DispatchSize(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    CopyStrided(args, args.inputs[0].as<T>() + layout.offset, layout.shape, layout.strides);
    return KernelStatus::Ok();
  });
}

template <LayoutFn kLayout>
Kernel StridedKernel(const char* op, const char* name) {
  return {.op = op, .name = name, .priority = 10, .run = StridedCopy<kLayout>};
}

// Copies between `whole` (outer rows of all parts' bytes) and `parts`, in the direction of kJoin.
template <bool kJoin>
void CopyParts(const RunArgs& args, const TensorView& whole, std::span<const TensorView> parts,
               int64_t axis) {
  axis = NormalizeAxis(axis, whole.rank());
  const int64_t outer = Product(whole.shape.first(axis));
  const int64_t inner =
      Product(whole.shape.subspan(axis + 1)) * static_cast<int64_t>(SizeOf(whole.dtype));
  const int64_t row = whole.shape[axis] * inner;
  if (row == 0) return;
  (*args.device->parallel)(outer, cpu::RowGrain(row / 4), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      char* at = whole.as<char>() + o * row;
      for (const TensorView& part : parts) {
        const int64_t bytes = part.shape[axis] * inner;
        if (bytes == 0) continue;
        char* other = part.as<char>() + o * bytes;
        // The memory plan may have put the part where it belongs.
        if (at != other) {
          std::memcpy(kJoin ? at : other, kJoin ? other : at, static_cast<size_t>(bytes));
        }
        at += bytes;
      }
    }
  });
}

KernelStatus Gather(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1];
  const int64_t axis = NormalizeAxis(args.get<ten::GatherAttrs>().axis, x.rank());
  const int64_t extent = x.shape[axis], count = indices.numel();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = IndexAt(indices, i);
    if (index < -extent || index >= extent) {
      return KernelStatus::Invalid("index " + std::to_string(index) +
                                   " is out of range for an axis of " + std::to_string(extent) +
                                   " elements");
    }
  }
  const int64_t outer = Product(x.shape.first(axis));
  const int64_t bytes = Product(x.shape.subspan(axis + 1)) * static_cast<int64_t>(SizeOf(x.dtype));
  if (bytes == 0) return KernelStatus::Ok();
  const char* from = x.as<char>();
  char* to = args.outputs[0].as<char>();
  (*args.device->parallel)(
      outer * count, cpu::RowGrain(bytes / 4), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t index = IndexAt(indices, r % count);
          const int64_t row = r / count * extent + (index < 0 ? index + extent : index);
          std::memcpy(to + r * bytes, from + row * bytes, static_cast<size_t>(bytes));
        }
      });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuConcat() {
  return {.op = "ten.concat", .name = "cpu.concat", .priority = 10, .run = [](const RunArgs& args) {
            CopyParts<true>(args, args.outputs[0], args.inputs, args.get<ten::ConcatAttrs>().axis);
            return KernelStatus::Ok();
          }};
}

Kernel CpuDynamicExpand() {
  return StridedKernel<ExpandLayout>("ten.dynamic_expand", "cpu.dynamic_expand");
}
Kernel CpuDynamicSlice() {
  return StridedKernel<DynamicSliceLayout>("ten.dynamic_slice", "cpu.dynamic_slice");
}
Kernel CpuDynamicTile() {
  return StridedKernel<TileLayout>("ten.dynamic_tile", "cpu.dynamic_tile");
}
Kernel CpuExpand() { return StridedKernel<ExpandLayout>("ten.expand", "cpu.expand"); }
Kernel CpuGather() {
  return {.op = "ten.gather",
          .name = "cpu.gather",
          .priority = 10,
          .run = Gather,
          .unaligned_inputs = 1};
}
Kernel CpuSlice() { return StridedKernel<SliceLayout>("ten.slice", "cpu.slice"); }
Kernel CpuSplit() {
  return {.op = "ten.split", .name = "cpu.split", .priority = 10, .run = [](const RunArgs& args) {
            CopyParts<false>(args, args.inputs[0], args.outputs, args.get<ten::SplitAttrs>().axis);
            return KernelStatus::Ok();
          }};
}
Kernel CpuTile() { return StridedKernel<TileLayout>("ten.tile", "cpu.tile"); }
Kernel CpuTranspose() { return StridedKernel<TransposeLayout>("ten.transpose", "cpu.transpose"); }

}  // namespace tenon::kernels
