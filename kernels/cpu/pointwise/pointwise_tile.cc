#include "kernels/cpu/pointwise/pointwise_tile.h"

#include <algorithm>
#include <cstring>

namespace tenon::kernels::cpu {
namespace {

template <typename T>
void Splat(const void* from, void* to, int64_t n) {
  const T value = *static_cast<const T*>(from);
  std::fill_n(static_cast<T*>(to), n, value);
}

// Elements [at, at + n) of the index space `shape`, read with `strides`.
template <typename T>
void Expand(const T* from, DimSpan shape, const Dims& strides, int64_t at, int64_t n, T* to) {
  const size_t last = shape.size() - 1;
  const int64_t inner = shape[last], step = strides[last];
  Dims index(last, 0);
  int64_t offset = 0, rest = at / inner, column = at % inner;
  for (size_t axis = last; axis-- > 0;) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
    offset += index[axis] * strides[axis];
  }
  while (n > 0) {
    const int64_t count = std::min(n, inner - column);
    const T* row = from + offset + column * step;
    if (step == 0) {
      std::fill_n(to, count, *row);
    } else {
      std::memcpy(to, row, static_cast<size_t>(count) * sizeof(T));
    }
    to += count, n -= count, column = 0;
    for (size_t axis = last; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= shape[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

void SplatElement(const void* from, void* to, int64_t element, int64_t n) {
  switch (element) {
    case 1:
      return Splat<uint8_t>(from, to, n);
    case 4:
      return Splat<uint32_t>(from, to, n);
    default:
      return Splat<uint64_t>(from, to, n);
  }
}

void ExpandElements(const void* from, int64_t element, DimSpan shape, const Dims& strides,
                    int64_t at, int64_t n, void* to) {
  switch (element) {
    case 1:
      return Expand(static_cast<const uint8_t*>(from), shape, strides, at, n,
                    static_cast<uint8_t*>(to));
    case 4:
      return Expand(static_cast<const uint32_t*>(from), shape, strides, at, n,
                    static_cast<uint32_t*>(to));
    default:
      return Expand(static_cast<const uint64_t*>(from), shape, strides, at, n,
                    static_cast<uint64_t*>(to));
  }
}

}  // namespace tenon::kernels::cpu
