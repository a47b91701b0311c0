// Tensors read through strides: the common part of transpose, expand, slice and tile.
#ifndef TENON_KERNELS_CALLS_STRIDED_LAYOUT_H_
#define TENON_KERNELS_CALLS_STRIDED_LAYOUT_H_

#include <span>

#include "kernels/kernel.h"
#include "kernels/shape.h"

namespace tenon::kernels {

// Element (i0, i1, …) of the result is x[offset + i0 * strides[0] + i1 * strides[1] + …]. `shape`
// has the elements of the result in row-major order, possibly with more axes.
struct StridedLayout {
  int64_t offset = 0;
  Dims shape, strides;
};

// Computes the layout of a call, from its attributes and the operands that hold bounds.
using LayoutFn = KernelStatus (*)(const RunArgs& args, StridedLayout& layout);

KernelStatus TransposeLayout(const RunArgs& args, StridedLayout& layout);
KernelStatus ExpandLayout(const RunArgs& args, StridedLayout& layout);  // also dynamic_expand
KernelStatus SliceLayout(const RunArgs& args, StridedLayout& layout);
KernelStatus DynamicSliceLayout(const RunArgs& args, StridedLayout& layout);
KernelStatus TileLayout(const RunArgs& args, StridedLayout& layout);  // also dynamic_tile

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_STRIDED_LAYOUT_H_
