// Reference kernels that read or write at positions held by an index tensor.
#include <cstring>
#include <string>

#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

KernelStatus Gather(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1], &out = args.outputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::GatherAttrs>().axis, x.rank());
  const int64_t extent = x.shape[axis], count = indices.numel();
  const int64_t outer = Product(x.shape.first(axis));
  const int64_t bytes = Product(x.shape.subspan(axis + 1)) * SizeOf(x.dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = IndexAt(indices, i);
    if (!ResolveIndex(index, extent)) return IndexOutOfRange(index, extent);
    for (int64_t o = 0; o < outer && bytes > 0; ++o) {
      std::memcpy(out.as<char>() + (o * count + i) * bytes,
                  x.as<char>() + (o * extent + index) * bytes, bytes);
    }
  }
  return KernelStatus::Ok();
}

KernelStatus GatherElements(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1], &out = args.outputs[0];
  const int64_t axis = NormalizeAxis(args.get<ten::GatherElementsAttrs>().axis, x.rank());
  const int64_t extent = x.shape[axis], n = out.numel();
  const Dims strides = RowMajorStrides(x.shape);
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis && indices.shape[d] > x.shape[d]) {
      return KernelStatus::Invalid("indices have " + std::to_string(indices.shape[d]) +
                                   " elements on axis " + std::to_string(d) + ", x has " +
                                   std::to_string(x.shape[d]) + " (expected no more)");
    }
  }
  return DispatchSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    StridedWalk<1> walk(indices.shape, {strides});
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      int64_t index = IndexAt(indices, i);
      if (!ResolveIndex(index, extent)) return IndexOutOfRange(index, extent);
      const int64_t own = walk.index()[axis];
      out.as<T>()[i] = x.as<T>()[walk[0] + (index - own) * strides[axis]];
    }
    return KernelStatus::Ok();
  });
}

// Reads the index tuple number `i` and gives the element offset of the slice it names in a tensor
// of `shape`, whose axes it addresses from `first_axis` on.
KernelStatus SliceOffset(const TensorView& indices, int64_t i, DimSpan shape, int64_t first_axis,
                         int64_t& offset) {
  const int64_t depth = indices.dim(-1);
  offset = 0;
  int64_t stride = Product(shape.subspan(first_axis));
  for (int64_t d = 0; d < depth; ++d) {
    const int64_t extent = shape[first_axis + d];
    int64_t index = IndexAt(indices, i * depth + d);
    if (!ResolveIndex(index, extent)) return IndexOutOfRange(index, extent);
    stride /= extent;
    offset += index * stride;
  }
  return KernelStatus::Ok();
}

KernelStatus GatherNd(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &indices = args.inputs[1], &out = args.outputs[0];
  const int64_t batch_dims = args.get<ten::GatherNdAttrs>().batch_dims, depth = indices.dim(-1);
  const int64_t batches = Product(x.shape.first(batch_dims));
  const int64_t tuples =
      Product(indices.shape.subspan(batch_dims, indices.shape.size() - 1 - batch_dims));
  const int64_t batch_size = Product(x.shape.subspan(batch_dims));
  const int64_t slice = Product(x.shape.subspan(batch_dims + depth));
  const int64_t size = static_cast<int64_t>(SizeOf(x.dtype));
  for (int64_t i = 0; i < batches * tuples; ++i) {
    int64_t offset = 0;
    KernelStatus status = SliceOffset(indices, i, x.shape, batch_dims, offset);
    if (!status.ok()) return status;
    if (slice == 0) continue;
    std::memcpy(out.as<char>() + i * slice * size,
                x.as<char>() + (i / tuples * batch_size + offset) * size, slice * size);
  }
  return KernelStatus::Ok();
}

// Both scatters name the reductions alike.
template <typename T, typename Reduction>
T Combine(T old, T update, Reduction reduction) {
  using C = Compute<T>;
  const C a = static_cast<C>(old), b = static_cast<C>(update);
  // Integers wrap, as in the elementwise ops.
  using W = std::conditional_t<kIsFloat<T>, C, uint64_t>;
  switch (reduction) {
    case Reduction::kNone:
      return update;
    case Reduction::kAdd:
      return static_cast<T>(static_cast<C>(static_cast<W>(a) + static_cast<W>(b)));
    case Reduction::kMul:
      return static_cast<T>(static_cast<C>(static_cast<W>(a) * static_cast<W>(b)));
    case Reduction::kMax:
      return a != a || a > b ? old : update;
    case Reduction::kMin:
      return a != a || a < b ? old : update;
  }
  return update;
}

KernelStatus ScatterNd(const RunArgs& args) {
  const auto reduction = args.get<ten::ScatterNdAttrs>().reduction;
  const TensorView &x = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2];
  const TensorView& out = args.outputs[0];
  if (out.numel() > 0 && out.data != x.data) std::memcpy(out.data, x.data, out.bytes());
  const int64_t depth = indices.dim(-1);
  const int64_t slice = Product(x.shape.subspan(depth));
  const int64_t tuples = Product(indices.shape.first(indices.shape.size() - 1));
  return DispatchAny(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < tuples; ++i) {
      int64_t offset = 0;
      KernelStatus status = SliceOffset(indices, i, x.shape, 0, offset);
      if (!status.ok()) return status;
      T* to = out.as<T>() + offset;
      const T* from = updates.as<T>() + i * slice;
      for (int64_t j = 0; j < slice; ++j) to[j] = Combine(to[j], from[j], reduction);
    }
    return KernelStatus::Ok();
  });
}

KernelStatus ScatterElements(const RunArgs& args) {
  const auto& attrs = args.get<ten::ScatterElementsAttrs>();
  const TensorView &x = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2];
  const TensorView& out = args.outputs[0];
  if (out.numel() > 0 && out.data != x.data) std::memcpy(out.data, x.data, out.bytes());
  const int64_t axis = NormalizeAxis(attrs.axis, x.rank());
  const int64_t extent = x.shape[axis], n = indices.numel();
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (indices.shape[d] != updates.shape[d] || (d != axis && indices.shape[d] > x.shape[d])) {
      return KernelStatus::Invalid("axis " + std::to_string(d) + " has " +
                                   std::to_string(indices.shape[d]) + " indices and " +
                                   std::to_string(updates.shape[d]) + " updates for " +
                                   std::to_string(x.shape[d]) + " elements");
    }
  }
  const Dims strides = RowMajorStrides(x.shape);
  return DispatchAny(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    StridedWalk<1> walk(indices.shape, {strides});
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      int64_t index = IndexAt(indices, i);
      if (!ResolveIndex(index, extent)) return IndexOutOfRange(index, extent);
      T& to = out.as<T>()[walk[0] + (index - walk.index()[axis]) * strides[axis]];
      to = Combine(to, updates.as<T>()[i], attrs.reduction);
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefGather() {
  return {.op = "ten.gather", .name = "ref.gather", .run = Gather, .unaligned_inputs = 1};
}

Kernel RefGatherElements() {
  return {.op = "ten.gather_elements", .name = "ref.gather_elements", .run = GatherElements};
}

Kernel RefGatherNd() { return {.op = "ten.gather_nd", .name = "ref.gather_nd", .run = GatherNd}; }

Kernel RefScatterElements() {
  return {.op = "ten.scatter_elements",
          .name = "ref.scatter_elements",
          .run = ScatterElements,
          .inplace_mask = 1};
}

Kernel RefScatterNd() {
  return {.op = "ten.scatter_nd", .name = "ref.scatter_nd", .run = ScatterNd, .inplace_mask = 1};
}

}  // namespace tenon::kernels
