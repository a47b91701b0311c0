// Index arithmetic shared by kernels: strides, broadcasting, walks over an index space. Nothing
// here allocates memory for tensors of up to eight axes.
#ifndef TENON_KERNELS_SHAPE_H_
#define TENON_KERNELS_SHAPE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"

namespace tenon::kernels {

using Dims = absl::InlinedVector<int64_t, 8>;
using DimSpan = std::span<const int64_t>;

// The number of elements of a shape.
inline int64_t Product(DimSpan dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

inline Dims ToDims(DimSpan dims) { return Dims(dims.begin(), dims.end()); }

// A view of a Dims; Abseil's container does not convert to std::span in older releases.
inline DimSpan View(const Dims& dims) { return DimSpan(dims.data(), dims.size()); }

inline int64_t NormalizeAxis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// Strides, in elements, of a dense row-major tensor.
inline Dims RowMajorStrides(DimSpan shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Strides with which a dense tensor of `shape` is read when broadcast to `out`; 0 where it repeats.
inline Dims BroadcastStrides(DimSpan shape, DimSpan out) {
  Dims strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size() && i < out.size(); ++i) {
    const int64_t extent = shape[shape.size() - 1 - i];
    if (extent != 1) strides[out.size() - 1 - i] = stride;
    stride *= extent;
  }
  return strides;
}

// The numpy broadcast of two shapes, which must be compatible.
inline Dims BroadcastShape(DimSpan a, DimSpan b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

// Drops axes of one element and joins neighboring axes that all N operands pass with even strides,
// so that the last axis becomes as long as possible. At least one axis remains.
template <size_t N>
void Coalesce(Dims& shape, std::array<Dims, N>& strides) {
  size_t kept = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool joins = kept > 0;
    for (size_t k = 0; k < N && joins; ++k) {
      joins = strides[k][kept - 1] == strides[k][axis] * shape[axis];
    }
    if (joins) --kept;
    shape[kept] = joins ? shape[kept] * shape[axis] : shape[axis];
    for (size_t k = 0; k < N; ++k) strides[k][kept] = strides[k][axis];
    ++kept;
  }
  if (kept == 0) {
    shape.assign(1, 1);
    for (size_t k = 0; k < N; ++k) strides[k].assign(1, 1);
    return;
  }
  shape.resize(kept);
  for (size_t k = 0; k < N; ++k) strides[k].resize(kept);
}

// Walks over the indices of `shape` in row-major order and tracks an offset for each of N operands,
// given by its strides. The walk may start anywhere.
template <size_t N>
class StridedWalk {
 public:
  StridedWalk(DimSpan shape, const std::array<Dims, N>& strides, int64_t start = 0)
      : shape_(ToDims(shape)), strides_(strides), index_(shape.size(), 0) {
    for (size_t axis = shape_.size(); axis-- > 0 && start > 0;) {
      index_[axis] = start % shape_[axis];
      start /= shape_[axis];
      for (size_t k = 0; k < N; ++k) offsets_[k] += index_[axis] * strides_[k][axis];
    }
  }

  int64_t operator[](size_t k) const { return offsets_[k]; }
  const Dims& index() const { return index_; }

  void Next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      for (size_t k = 0; k < N; ++k) offsets_[k] += strides_[k][axis];
      if (++index_[axis] < shape_[axis]) return;
      for (size_t k = 0; k < N; ++k) offsets_[k] -= strides_[k][axis] * shape_[axis];
      index_[axis] = 0;
    }
  }

 private:
  Dims shape_;
  std::array<Dims, N> strides_;
  Dims index_;
  std::array<int64_t, N> offsets_ = {};
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_SHAPE_H_
