// What tiles of all kinds share: their registers before and after the sums (see tile-inl.h).
#ifndef TENON_KERNELS_CPU_GEMM_REGISTERS_INL_H_
#define TENON_KERNELS_CPU_GEMM_REGISTERS_INL_H_

#include <cstdint>

#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/gemm/unroll-inl.h"

namespace tenon::kernels::cpu {
namespace {

// Columns that start with the bias, or with 0.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void StartTile(const Tile& t, V::Reg (&acc)[kRows][kVectors]) {
  TENON_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = Clamp(t.cols - int64_t{v} * V::kLanes, 0, V::kLanes);
    const V::Reg start = t.bias == nullptr ? V::Zero() : V::LoadN(t.bias + v * V::kLanes, left);
    TENON_UNROLL
    for (int i = 0; i < kRows; ++i) acc[i][v] = start;
  }
}

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void StoreTile(const Tile& t, V::Reg (&acc)[kRows][kVectors]) {
  using Reg = V::Reg;
  constexpr int kLanes = V::kLanes;
  // Copies of what the compiler must take to be overwritten by the vectors that are stored.
  float* c = t.c;
  const float* addend = t.addend;
  const int64_t c_row = t.c_row, addend_row = t.addend_row;
  if (t.cols >= int64_t{kVectors} * kLanes) {
    if (addend == nullptr) {
      TENON_UNROLL
      for (int i = 0; i < kRows; ++i, c += c_row) {
        TENON_UNROLL
        for (int v = 0; v < kVectors; ++v) V::Store(c + v * kLanes, acc[i][v]);
      }
      return;
    }
    TENON_UNROLL
    for (int i = 0; i < kRows; ++i, c += c_row, addend += addend_row) {
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        V::Store(c + v * kLanes, V::Add(acc[i][v], V::Load(addend + v * kLanes)));
      }
    }
    return;
  }
  alignas(64) float rest[kRows * kVectors * kLanes];
  TENON_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) V::Store(rest + (i * kVectors + v) * kLanes, acc[i][v]);
  }
  for (int i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < t.cols; j += kLanes) {
      const int64_t left = Clamp(t.cols - j, 0, kLanes);
      Reg x = V::Load(rest + i * kVectors * kLanes + j);
      if (t.addend != nullptr) x = V::Add(x, V::LoadN(t.addend + i * t.addend_row + j, left));
      V::StoreN(t.c + i * t.c_row + j, x, left);
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_REGISTERS_INL_H_
