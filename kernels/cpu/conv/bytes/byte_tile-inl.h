// The loops of byte_tile.h over a struct V of vectors of integers, which the including file has
// defined in an unnamed namespace.
#ifndef TENON_KERNELS_CPU_CONV_BYTES_BYTE_TILE_INL_H_
#define TENON_KERNELS_CPU_CONV_BYTES_BYTE_TILE_INL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/conv/bytes/byte_tile.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int kElement = sizeof(int32_t);  // bytes

template <typename Vectors>
constexpr bool kStoresRows = requires {
  &Vectors::StoreRows;
};

inline V::Reg BroadcastElement(const std::byte* p) {
  float bits;
  std::memcpy(&bits, p, sizeof(bits));
  return V::Set(bits);
}

inline V::Reg LoadInts(const int32_t* p) { return V::Load(reinterpret_cast<const float*>(p)); }

// A vector of sums as the result has them, the first n lanes.
template <ByteResult kResult>
[[gnu::always_inline]] inline void Finish(V::Reg sum, V::Reg scale, const ByteFinish& finish,
                                          std::byte* out, int64_t n) {
  if constexpr (kResult == ByteResult::kBytes) {
    V::Reg y = V::FromInt(sum) * scale;
    y = V::MaxKeepingNan(V::Set(finish.low), y);  // NaN becomes the lowest
    y = V::MinKeepingNan(V::Set(finish.high), y);
    y = V::Add(V::ToInt(y), V::SetInt(finish.zero));
    V::StoreBytes(reinterpret_cast<uint8_t*>(out), y, n);
  } else {
    const V::Reg y = kResult == ByteResult::kFloats ? V::FromInt(sum) : sum;
    auto* to = reinterpret_cast<float*>(out);
    if (n >= V::kLanes) {
      V::Store(to, y);
    } else if (n > 0) {
      V::StoreN(to, y, n);
    }
  }
}

constexpr int64_t SizeOf(ByteResult result) { return result == ByteResult::kBytes ? 1 : 4; }

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")  // below that GCC leaves loops of bytes scalar
#endif

// The sum of the bytes of a window.
[[maybe_unused]] int32_t SumOfWindow(const ByteTileCall& call, const std::byte* pixel) {
  uint32_t sum = 0;
  for (int64_t r = 0; r < call.num_runs; ++r) {
    const auto* x = reinterpret_cast<const uint8_t*>(pixel + call.runs[r] * kElement);
    for (int64_t i = 0; i < call.run_size * kElement; ++i) sum += x[i];
  }
  return static_cast<int32_t>(sum);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

// Vectors that store rows of bytes do the zero point as they store, and the bounds of integers of
// 16 bits and of bytes.
template <typename Vectors, bool kFitsInt, int kPixels, int kGroup>
[[gnu::always_inline]] inline void FinishRows(const ByteTileCall& call, const ByteTile& tile,
                                              const typename Vectors::Reg (&sum)[kPixels][2]) {
  const ByteFinish finish = call.finish;
  const bool is_signed = finish.low + static_cast<float>(finish.zero) < 0;
  const typename Vectors::Reg high = Vectors::Set(finish.high);
  const typename Vectors::Reg scale[2] = {Vectors::Load(tile.scale),
                                          Vectors::Load(tile.scale + Vectors::kLanes)};
  const int64_t columns = tile.columns, step = call.out_step;
  std::byte* const out[2] = {tile.out[0], tile.out[1]};
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; p += 2) {
    typename Vectors::Reg y[2][2];
    uint8_t* to[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const int q = p + i < kPixels ? p + i : p;  // the last of an odd number twice
      to[i] = reinterpret_cast<uint8_t*>(out[q / kGroup] + (q % kGroup) * step);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        // Integers beyond the range, and NaN, become the least one.
        const typename Vectors::Reg scaled = Vectors::FromInt(sum[q][v]) * scale[v];
        y[i][v] = Vectors::ToInt(kFitsInt ? scaled : Vectors::MinKeepingNan(scaled, high));
      }
    }
    Vectors::StoreRows(y, finish.zero, is_signed, to, columns);
  }
}

template <ByteResult kResult, int kPixels, int kVectors, int kGroup>
[[gnu::always_inline]] inline void FinishTile(const ByteTileCall& call, const ByteTile& tile,
                                              const V::Reg (&sum)[kPixels][kVectors]) {
  if constexpr (kResult == ByteResult::kBytes && kVectors == 2 && kStoresRows<V>) {
    return call.finish.fits_int ? FinishRows<V, true, kPixels, kGroup>(call, tile, sum)
                                : FinishRows<V, false, kPixels, kGroup>(call, tile, sum);
  }
  const ByteFinish finish = call.finish;
  V::Reg scale[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    scale[v] = kResult == ByteResult::kBytes ? V::Load(tile.scale + v * V::kLanes) : V::Zero();
  }
  const int64_t size = SizeOf(kResult), columns = tile.columns;
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) {
    std::byte* out = tile.out[p / kGroup] + (p % kGroup) * call.out_step * size;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Finish<kResult>(sum[p][v], scale[v], finish, out + v * V::kLanes * size,
                      columns - v * V::kLanes);
    }
  }
}

// The inner loop addresses the pixels of a group by one base and multiples of the step.
template <int kGroup, int kGroups, int kVectors>
void RunByteTile(const ByteTileCall& call, const ByteTile& tile) {
  constexpr int kPixels = kGroup * kGroups;
  static_assert(kGroup <= 7);
  const int64_t step = call.pixel_step * kElement, step3 = 3 * step, step5 = 5 * step;
  V::Reg sum[kPixels][kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const V::Reg start = LoadInts(tile.start + v * V::kLanes);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) sum[p][v] = start;
  }
  const std::byte* w = tile.weights;
  for (int64_t r = 0; r < call.num_runs; ++r) {
    const std::byte* a = tile.x[0] + call.runs[r] * kElement;
    const std::byte* b = tile.x[kGroups - 1] + call.runs[r] * kElement;
    for (int64_t k = call.run_size; k > 0; --k) {
      V::Reg weights[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        weights[v] = V::Load(reinterpret_cast<const float*>(w) + v * V::kLanes);
      }
      const auto add = [&](int p, const std::byte* from) __attribute__((always_inline)) {
        const V::Reg x = BroadcastElement(from);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[p][v] = V::Dot(x, weights[v], sum[p][v]);
      };
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        const std::byte* base = g == 0 ? a : b;
        const int p = g * kGroup;
        add(p, base);
        if constexpr (kGroup > 1) add(p + 1, base + step);
        if constexpr (kGroup > 2) add(p + 2, base + 2 * step);
        if constexpr (kGroup > 3) add(p + 3, base + step3);
        if constexpr (kGroup > 4) add(p + 4, base + 4 * step);
        if constexpr (kGroup > 5) add(p + 5, base + step5);
        if constexpr (kGroup > 6) add(p + 6, base + 2 * step3);
      }
      w += kVectors * V::kLanes * kElement;
      a += kElement;
      b += kElement;
    }
  }
  if (call.has_zeros) {
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
      const V::Reg row = V::SetInt(SumOfWindow(call, tile.x[p / kGroup] + p % kGroup * step));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        sum[p][v] = V::SubProduct(sum[p][v], row, LoadInts(tile.zeros + v * V::kLanes));
      }
    }
  }
  switch (call.finish.result) {
    case ByteResult::kSums:
      return FinishTile<ByteResult::kSums, kPixels, kVectors, kGroup>(call, tile, sum);
    case ByteResult::kFloats:
      return FinishTile<ByteResult::kFloats, kPixels, kVectors, kGroup>(call, tile, sum);
    case ByteResult::kBytes:
      return FinishTile<ByteResult::kBytes, kPixels, kVectors, kGroup>(call, tile, sum);
  }
}

constexpr int64_t kChannelBlock = 64;

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

// Adds the products of one tap to the sums of n channels.
[[gnu::noinline]] void AddTap(const uint8_t* x, const int16_t* w, int64_t n, int32_t* sums) {
  if (n == kChannelBlock) {
    for (int64_t c = 0; c < kChannelBlock; ++c) sums[c] += int32_t{x[c]} * int32_t{w[c]};
  } else {
    for (int64_t c = 0; c < n; ++c) sums[c] += int32_t{x[c]} * int32_t{w[c]};
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

template <ByteResult kResult>
void FinishChannels(const ByteChannels& call, const int32_t* sums, int64_t first, int64_t n,
                    std::byte* out) {
  for (int64_t c = 0; c < n; c += V::kLanes) {
    const int64_t left = std::min<int64_t>(n - c, V::kLanes);
    V::Reg scale = V::Zero();
    if constexpr (kResult == ByteResult::kBytes) scale = V::LoadN(call.scale + first + c, left);
    Finish<kResult>(LoadInts(sums + c), scale, call.finish, out + (first + c) * SizeOf(kResult),
                    left);
  }
}

void RunByteChannels(const ByteChannels& call) {
  const auto* weights = reinterpret_cast<const int16_t*>(call.weights);
  const int64_t size = SizeOf(call.finish.result);
  for (int64_t first = 0; first < call.channels; first += kChannelBlock) {
    const int64_t n = std::min(kChannelBlock, call.channels - first);
    for (int64_t p = 0; p < call.pixels; ++p) {
      alignas(64) int32_t sums[kChannelBlock] = {};
      std::memcpy(sums, call.start + first, static_cast<size_t>(n) * sizeof(int32_t));
      const uint8_t* x = call.x + p * call.x_step + first;
      for (int64_t t = 0; t < call.num_taps; ++t) {
        AddTap(x + call.taps[t], weights + t * call.channels + first, n, sums);
      }
      std::byte* out = call.out + p * call.channels * size;
      switch (call.finish.result) {
        case ByteResult::kSums:
          FinishChannels<ByteResult::kSums>(call, sums, first, n, out);
          break;
        case ByteResult::kFloats:
          FinishChannels<ByteResult::kFloats>(call, sums, first, n, out);
          break;
        case ByteResult::kBytes:
          FinishChannels<ByteResult::kBytes>(call, sums, first, n, out);
          break;
      }
    }
  }
}

#define TENON_BYTE_TILES(g)                                                                      \
  {                                                                                              \
    {RunByteTile<g, 1, 1>, RunByteTile<g, 1, 2>}, { RunByteTile<g, 2, 1>, RunByteTile<g, 2, 2> } \
  }

// As many sums as leave room in the registers for two vectors of weights and one of the input.
constexpr ByteKernels MakeByteKernels() {
  ByteKernels kernels;
  kernels.lanes = V::kLanes;
  kernels.depth = V::kDepth;
  kernels.channels = &RunByteChannels;
  constexpr auto fill = [](ByteTileFn(&to)[2][2], const ByteTileFn(&from)[2][2]) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) to[i][j] = from[i][j];
    }
  };
  fill(kernels.tiles[0], TENON_BYTE_TILES(1));
  fill(kernels.tiles[1], TENON_BYTE_TILES(2));
  fill(kernels.tiles[2], TENON_BYTE_TILES(3));
  kernels.max_group = 3;
  if constexpr (V::kLanes == 16) {
    fill(kernels.tiles[3], TENON_BYTE_TILES(4));
    fill(kernels.tiles[4], TENON_BYTE_TILES(5));
    fill(kernels.tiles[5], TENON_BYTE_TILES(6));
    fill(kernels.tiles[6], TENON_BYTE_TILES(7));
    kernels.max_group = 7;
  }
  return kernels;
}

#undef TENON_BYTE_TILES

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_BYTES_BYTE_TILE_INL_H_
