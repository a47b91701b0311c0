// Tiles whose b is int8 numbers with a factor for each column and group of rows. Included as
// tile-inl.h is.
#ifndef TENON_KERNELS_CPU_GEMM_INT8_TILE_INL_H_
#define TENON_KERNELS_CPU_GEMM_INT8_TILE_INL_H_

#include <cstdint>

#include "kernels/cpu/gemm/registers-inl.h"
#include "kernels/cpu/gemm/tile.h"

namespace tenon::kernels::cpu {
namespace {

// Bytes of b that are fetched ahead of their use, which lie across pages.
constexpr int64_t kInt8Ahead = 8192;

template <int kRows, int kVectors>
void RunInt8Tile(const Int8Tile& u) {
  using Reg = V::Reg;
  constexpr int kLanes = V::kLanes;
  constexpr int64_t kLine = 64, kFactorBytes = kInt8Strip * sizeof(float);
  const Tile& t = u.tile;
  // Few rows sum each group by itself, and then take its factors. More rows have no registers for
  // that, and enough to do for each number of b to multiply it first.
  constexpr bool kSumsGroups = kRows <= V::kInt8SumRows;
  Reg acc[kRows][kVectors];
  StartTile(t, acc);
  const int64_t col = u.col;
  const std::byte* b = u.strip;
  // A pointer for three rows each, as in RunTile.
  constexpr int kGroups = (kRows + 2) / 3;
  const int64_t a_row = t.a_row;
  const float* a[kGroups];
  TENON_UNROLL
  for (int g = 0; g < kGroups; ++g) a[g] = t.a + 3 * g * a_row;
  for (int64_t begin = 0; begin < t.k; begin += u.group) {
    const float* factors = reinterpret_cast<const float*>(b) + col;
    for (int64_t at = 0; at < kFactorBytes; at += kLine) __builtin_prefetch(b + kInt8Ahead + at);
    b += kFactorBytes;
    Reg part[kSumsGroups ? kRows : 1][kVectors];
    Reg factor[kVectors];
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      TENON_UNROLL
      for (int i = 0; i < (kSumsGroups ? kRows : 0); ++i) part[i][v] = V::Zero();
      factor[v] = kSumsGroups ? V::Zero() : V::Load(factors + v * kLanes);
    }
    const int64_t depth = t.k - begin < u.group ? t.k - begin : u.group;
    for (int64_t p = 0; p < depth; ++p) {
      Reg row[kVectors];
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        row[v] = V::LoadInt8(reinterpret_cast<const int8_t*>(b) + col + v * kLanes);
        if (!kSumsGroups) row[v] = row[v] * factor[v];
      }
      __builtin_prefetch(b + kInt8Ahead);
      b += kInt8Strip;
      TENON_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const Reg x = V::Set(a[i / 3][i % 3 * a_row]);
        TENON_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          Reg& sum = kSumsGroups ? part[kSumsGroups ? i : 0][v] : acc[i][v];
          sum = V::Fma(x, row[v], sum);
        }
      }
      TENON_UNROLL
      for (int g = 0; g < kGroups; ++g) ++a[g];
    }
    TENON_UNROLL
    for (int v = 0; v < (kSumsGroups ? kVectors : 0); ++v) {
      const Reg last = V::Load(factors + v * kLanes);
      TENON_UNROLL
      for (int i = 0; i < kRows; ++i) {
        acc[i][v] = V::Fma(part[kSumsGroups ? i : 0][v], last, acc[i][v]);
      }
    }
  }
  StoreTile(t, acc);
}

void DequantizePanel(const std::byte* strip, int64_t col, int64_t k, int64_t group, float* out) {
  constexpr int kLanes = V::kLanes;
  for (int64_t begin = 0; begin < k; begin += group) {
    const float* factors = reinterpret_cast<const float*>(strip) + col;
    const V::Reg low = V::Load(factors), high = V::Load(factors + kLanes);
    strip += kInt8Strip * sizeof(float);
    const int64_t end = k - begin < group ? k : begin + group;
    for (int64_t p = begin; p < end; ++p, strip += kInt8Strip, out += 2 * kLanes) {
      const auto* values = reinterpret_cast<const int8_t*>(strip) + col;
      V::Store(out, V::LoadInt8(values) * low);
      V::Store(out + kLanes, V::LoadInt8(values + kLanes) * high);
    }
  }
}

template <int kRows>
constexpr void FillInt8Tiles(Int8Kernels& kernels) {
  if constexpr (kRows > 0) {
    kernels.tile[kRows][0] = &RunInt8Tile<kRows, 2>;
    if constexpr (kRows <= V::kInt8RowsOfTwoPanels) kernels.tile[kRows][1] = &RunInt8Tile<kRows, 4>;
    FillInt8Tiles<kRows - 1>(kernels);
  }
}

constexpr Int8Kernels MakeInt8Kernels() {
  Int8Kernels kernels;
  kernels.panel = 2 * V::kLanes;
  kernels.max_rows = V::kInt8Rows;
  kernels.dequantize = &DequantizePanel;
  FillInt8Tiles<V::kInt8Rows>(kernels);
  return kernels;
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_INT8_TILE_INL_H_
