// The loops of box_overlaps.h, compiled for each instruction set.
#ifndef TENON_KERNELS_CPU_BOX_OVERLAPS_INL_H_
#define TENON_KERNELS_CPU_BOX_OVERLAPS_INL_H_

#include <algorithm>

#include "kernels/cpu/box_overlaps.h"

namespace tenon::kernels::cpu {
namespace {

// Products that are not rounded would give other bits on processors with fused additions.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=off")
#endif

bool Overlaps(const BoxBlocks& others, const Box& box, float most) {
  const float area = box.area();
  for (const BoxBlocks::Block& other : others.blocks) {
    int hits = 0;
    for (size_t i = 0; i < BoxBlocks::kBoxes; ++i) {
      const float bottom = std::min(box.bottom, other.bottom[i]);
      const float right = std::min(box.right, other.right[i]);
      const float height = bottom - std::max(box.top, other.top[i]);
      const float width = right - std::max(box.left, other.left[i]);
      const float shared = height * width;
      const float ratio = shared / (area + other.area[i] - shared);
      hits |= static_cast<int>(height > 0) & static_cast<int>(width > 0) &
              static_cast<int>(ratio > most);
    }
    if (hits != 0) return true;
  }
  return false;
}

int64_t Above(const float* scores, int64_t n, float least, uint32_t* places) {
  constexpr int64_t kBlock = 32;
  int64_t count = 0, i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int hits = 0;
    for (int64_t j = 0; j < kBlock; ++j) hits |= static_cast<int>(scores[i + j] > least);
    if (hits == 0) continue;
    for (int64_t j = 0; j < kBlock; ++j) {
      places[count] = static_cast<uint32_t>(i + j);
      count += static_cast<int64_t>(scores[i + j] > least);
    }
  }
  for (; i < n; ++i) {
    places[count] = static_cast<uint32_t>(i);
    count += static_cast<int64_t>(scores[i] > least);
  }
  return count;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_BOX_OVERLAPS_INL_H_
