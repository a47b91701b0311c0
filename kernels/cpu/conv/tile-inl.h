// The loops of tile.h for the instruction set of the including file.
#ifndef TENON_KERNELS_CPU_CONV_TILE_INL_H_
#define TENON_KERNELS_CPU_CONV_TILE_INL_H_

#include "kernels/cpu/conv/loop_activation-inl.h"
#include "kernels/cpu/conv/tile.h"

namespace tenon::kernels::cpu {
namespace {

// Elements that a tile of many sums takes at once: where few registers make tiles small, what
// counts and moves pointers would take turns that multiplications need.
#if defined(__AVX2__) && !defined(__AVX512F__)
constexpr int kTileSteps = 2;
// As an instruction that replaces the sum: compilers that may replace a factor too move sums from
// register to register.
__attribute__((always_inline)) inline Vec AddTo(Vec sum, Vec a, Vec b) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  return sum;
}
#else
constexpr int kTileSteps = 1;
inline Vec AddTo(Vec sum, Vec a, Vec b) { return Fma(a, b, sum); }
#endif

inline float At(const char* p) { return *reinterpret_cast<const float*>(p); }

// The sums, columns past the end left out.
template <int kVectors, typename Activate>
__attribute__((always_inline)) inline void Finish(const Vec (&sum)[kVectors], const float* residual,
                                                  int64_t columns, Activate activate, float* out) {
  if (columns == kVectors * kLanes) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vec s = residual == nullptr ? sum[v] : sum[v] + Load(residual + v * kLanes);
      Store(out + v * kLanes, activate(s));
    }
    return;
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = columns - v * kLanes, n = left < kLanes ? left : kLanes;
    if (n <= 0) return;
    const Vec s = residual == nullptr ? sum[v] : sum[v] + LoadPart(residual + v * kLanes, n);
    StorePart(out + v * kLanes, activate(s), n);
  }
}

// Columns past the end are 0.
inline Vec LoadBias(const float* bias, int64_t columns, int v) {
  const int64_t left = columns - v * kLanes;
  if (bias == nullptr || left <= 0) return Vec{};
  return left >= kLanes ? Load(bias + v * kLanes) : LoadPart(bias + v * kLanes, left);
}

constexpr int kLine = 64;  // of the caches, in bytes
constexpr int kFloat = sizeof(float);

// The inner loop addresses the pixels of a group by one base and the multiples 1, 3 and 5 of the
// step, so that all addresses stay in registers.
template <int kGroup, int kGroups, int kVectors>
void RunTile(const TileCall& call, const ConvTile& tile) {
  constexpr int kPixels = kGroup * kGroups;
  static_assert(kGroup <= 7);
  int64_t step = call.pixel_step * static_cast<int64_t>(sizeof(float)), step2 = 2 * step;
  const int64_t step3 = 3 * step, step5 = 5 * step;
  constexpr int kMostSteps = kPixels * kVectors >= 8 ? kTileSteps : 1;
  const char* next = tile.next;
  const int64_t next_step = tile.next_step;
  for (int64_t t = 0; t < tile.repeat; ++t) {
    const int64_t first = t * kPixels;
    Vec sum[kPixels][kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vec bias = LoadBias(tile.bias, tile.columns, v);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) sum[p][v] = bias;
    }
    // What the sums are added to comes while they are computed.
    if (tile.residual[0] != nullptr) {
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const int64_t at = (first + p % kGroup) * call.out_step;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          __builtin_prefetch(tile.residual[p / kGroup] + at + v * kLanes);
        }
      }
    }
    const float* w = tile.weights;
    for (int64_t r = 0; r < call.num_runs; ++r) {
      const int64_t at = first * call.pixel_step + call.runs[r];
      const char* a = reinterpret_cast<const char*>(tile.x[0] + at);
      const char* b = reinterpret_cast<const char*>(tile.x[kGroups - 1] + at);
      if (call.weight_rows != nullptr) {
        w = tile.weights + call.weight_rows[r] * (kVectors * kLanes);
      }
      const auto steps = [&]<int kSteps>() __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) {
          if constexpr (kMostSteps > 1) {
            // Keeps the compiler from moving loads to other steps and from computing addresses
            // beforehand: there are registers for neither.
            asm volatile("" : "+r"(step), "+r"(step2) : : "memory");
          }
          const char *from_a = a + i * kFloat, *from_b = b + i * kFloat;
          Vec weights[kVectors];
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) weights[v] = Load(w + (i * kVectors + v) * kLanes);
#pragma GCC unroll 2
          for (int line = 0; line < kVectors * kLanes * kFloat; line += kLine) {
            __builtin_prefetch(next + i * next_step + line, 0, 2);
          }
          const auto add = [&](int p, const char* from) __attribute__((always_inline)) {
            const Vec x = Set(At(from));
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sum[p][v] = AddTo(sum[p][v], x, weights[v]);
          };
#pragma GCC unroll 2
          for (int g = 0; g < kGroups; ++g) {
            const char* base = g == 0 ? from_a : from_b;
            const int p = g * kGroup;
            add(p, base);
            if constexpr (kGroup > 1) add(p + 1, base + step);
            if constexpr (kGroup > 2) add(p + 2, base + step2);
            if constexpr (kGroup > 3) add(p + 3, base + step3);
            if constexpr (kGroup > 4) add(p + 4, base + 4 * step);
            if constexpr (kGroup > 5) add(p + 5, base + step5);
            if constexpr (kGroup > 6) add(p + 6, base + 2 * step3);
          }
        }
        next += kSteps * next_step;
        w += kSteps * kVectors * kLanes;
        a += kSteps * kFloat;
        b += kSteps * kFloat;
      };
      for (int64_t k = call.run_size / kMostSteps; k > 0; --k) {
        steps.template operator()<kMostSteps>();
      }
      if constexpr (kMostSteps > 1) {
        for (int64_t k = call.run_size % kMostSteps; k > 0; --k) steps.template operator()<1>();
      }
    }
    WithActivation(
        call.activation, [&](auto activate) __attribute__((always_inline)) {
#pragma GCC unroll 16
          for (int p = 0; p < kPixels; ++p) {
            const int g = p / kGroup;
            const int64_t at = (first + p % kGroup) * call.out_step;
            const float* residual = tile.residual[g] == nullptr ? nullptr : tile.residual[g] + at;
            Finish<kVectors>(sum[p], residual, tile.columns, activate, tile.out[g] + at);
          }
        });
  }
}

// One pixel and kPanels panels: several keep the multipliers busy.
template <int kPanels, int kVectors>
void RunPanels(const TileCall& call, const ConvTile& tile) {
  constexpr int64_t kColumns = kVectors * kLanes;
  const int64_t panel = call.num_runs * call.run_size * kColumns;
  Vec sum[kPanels][kVectors];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      sum[p][v] = LoadBias(tile.bias, tile.columns, p * kVectors + v);
    }
  }
  const float* w = tile.weights;
  for (int64_t r = 0; r < call.num_runs; ++r) {
    const float* x = tile.x[0] + call.runs[r];
    for (int64_t k = 0; k < call.run_size; ++k, w += kColumns) {
      const Vec element = Set(x[k]);
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        for (int v = 0; v < kVectors; ++v) {
          sum[p][v] = Fma(element, Load(w + p * panel + v * kLanes), sum[p][v]);
        }
      }
    }
  }
  WithActivation(
      call.activation, [&](auto activate) __attribute__((always_inline)) {
        for (int p = 0; p < kPanels; ++p) {
          const int64_t at = p * kColumns, left = tile.columns - at;
          Finish<kVectors>(sum[p], tile.residual[0] == nullptr ? nullptr : tile.residual[0] + at,
                           left < kColumns ? left : kColumns, activate, tile.out[0] + at);
        }
      });
}

#define TENON_TILES_OF_GROUP(g)                                                  \
  {                                                                              \
    {RunTile<g, 1, 1>, RunTile<g, 1, 2>}, { RunTile<g, 2, 1>, RunTile<g, 2, 2> } \
  }

// As many sums as leave room in the registers for two vectors of weights and one of the input.
#if defined(__AVX512F__)
constexpr TileKernels kTiles = {kLanes,
                                4,
                                7,
                                {TENON_TILES_OF_GROUP(4), TENON_TILES_OF_GROUP(5),
                                 TENON_TILES_OF_GROUP(6), TENON_TILES_OF_GROUP(7)},
                                RunPanels<1, 1>,
                                RunPanels<1, 2>,
                                RunPanels<4, 2>};
#else
constexpr TileKernels kTiles = {kLanes,
                                2,
                                3,
                                {TENON_TILES_OF_GROUP(2), TENON_TILES_OF_GROUP(3)},
                                RunPanels<1, 1>,
                                RunPanels<1, 2>,
                                RunPanels<4, 2>};
#endif

#undef TENON_TILES_OF_GROUP

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_TILE_INL_H_
