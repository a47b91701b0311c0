// Inputs that repeat, copied out for a tile of elements.
#ifndef TENON_KERNELS_CPU_POINTWISE_POINTWISE_TILE_H_
#define TENON_KERNELS_CPU_POINTWISE_POINTWISE_TILE_H_

#include <cstdint>

#include "kernels/shape.h"

namespace tenon::kernels::cpu {

// Writes one element of `element` bytes (1, 4 or 8) n times.
void SplatElement(const void* from, void* to, int64_t element, int64_t n);

// Copies elements [at, at + n) of the index space `shape`. `strides` are those of `from`, in
// elements; that of the last axis is 0 or 1.
void ExpandElements(const void* from, int64_t element, DimSpan shape, const Dims& strides,
                    int64_t at, int64_t n, void* to);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_POINTWISE_TILE_H_
