// The tiles of a matrix product, written once over a struct V of vector operations. Included once
// by the file of each instruction set, after it has defined V in an unnamed namespace; everything
// here has internal linkage, so that no copy for one instruction set is used for another.
//
// All loops over the registers of a tile are unrolled: an array of vectors that is indexed by a
// variable would live in memory. tests/kernels/gemm_registers_test.py checks that none does.
#include <cstdint>

#include "kernels/cpu/gemm/activation-inl.h"
#include "kernels/cpu/gemm/registers-inl.h"
#include "kernels/cpu/gemm/tile.h"

namespace tenon::kernels::cpu {
namespace {

inline int64_t Bytes(int64_t floats) { return floats * static_cast<int64_t>(sizeof(float)); }

inline const float* At(const float* p, int64_t bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const char*>(p) + bytes);
}

// V::Dot where the sum stays in its register (kInPlace): compilers that may let the result replace
// a factor instead do so, and then move sums from register to register, or to memory.
template <bool kInPlace>
[[gnu::always_inline]] inline V::Reg AddDot(V::Reg sum, V::Reg a, V::Reg b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (kInPlace) {
    asm volatile("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
  }
#endif
  return V::Dot(a, b, sum);
}

template <int kRows, int kVectors, bool kPacked>
void RunTile(const Tile& t) {
  using Reg = V::Reg;
  constexpr int kLanes = V::kLanes;
  constexpr int kPanels = kVectors > 2 ? kVectors / 2 : 1;
  constexpr int kPerPanel = kVectors / kPanels;
  constexpr int kLine = 64 / sizeof(float);

  // Rows of b that are taken at once: where tiles are small and multiplications many, instructions
  // that count and move pointers would take turns that multiplications need.
  constexpr int kMostSteps = kRows >= 4 && kVectors == 2 ? V::kSteps : 1;

  Reg acc[kRows][kVectors];
  StartTile(t, acc);
  // Distances in bytes.
  int64_t b_row = Bytes(t.b_row), two_b_rows = 2 * b_row, three_b_rows = 3 * b_row;
  const int64_t b_panel = Bytes(t.b_panel);
  const float* fetch = At(t.b, t.ahead * b_row);
  const float* b[kPanels];
  TENON_UNROLL
  for (int p = 0; p < kPanels; ++p) b[p] = At(t.b, p * b_panel);
  // A pointer for three rows each: the other two are reached by scaled indices.
  constexpr int kGroups = kPacked ? 1 : (kRows + 2) / 3;
  int64_t a_row = Bytes(t.a_row), two_a_rows = 2 * a_row;
  const float* a[kGroups];
  TENON_UNROLL
  for (int g = 0; g < kGroups; ++g) a[g] = At(t.a, 3 * g * a_row);

  const float* out = t.out;
  const float* addend = t.addend;
  const int64_t out_row = t.out_row, addend_row = t.addend_row;
  if (addend == nullptr) {
    TENON_UNROLL
    for (int i = 0; i < kRows; ++i, out += out_row) {
      TENON_UNROLL
      for (int v = 0; v < kVectors * kLanes; v += kLine) __builtin_prefetch(out + v, 1, 2);
    }
  } else {
    for (int i = 0; i < kRows; ++i, out += out_row, addend += addend_row) {
      TENON_UNROLL
      for (int v = 0; v < kVectors * kLanes; v += kLine) {
        __builtin_prefetch(out + v, 1, 2);
        __builtin_prefetch(addend + v);
      }
    }
  }
  const char* next = reinterpret_cast<const char*>(t.next);
  const int64_t next_step = t.next_step;
  const auto steps = [&]<int kSteps>() __attribute__((always_inline)) {
    TENON_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      if constexpr (kMostSteps > 1) {
        // Keeps the compiler from moving loads to other steps and from computing addresses
        // beforehand: there are registers for neither.
        asm volatile("" : "+r"(b_row), "+r"(two_b_rows), "+r"(three_b_rows) : : "memory");
        if (!kPacked) asm volatile("" : "+r"(a_row), "+r"(two_a_rows));
      }
      const int64_t to_row = s == 3 ? three_b_rows : s == 2 ? two_b_rows : s * b_row;
      Reg row[kVectors];
      if (s % 2 == 0) {
        __builtin_prefetch(next, 0, 2);
        next += s + 1 < kSteps ? 2 * next_step : next_step;
      }
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        row[v] = V::Load(At(b[v / kPerPanel], to_row) + v % kPerPanel * kLanes);
      }
      TENON_UNROLL
      for (int q = 0; q < kPanels; ++q) {
        TENON_UNROLL
        for (int line = 0; line < kPerPanel * kLanes; line += kLine) {
          __builtin_prefetch(At(fetch, q * b_panel + to_row) + line);
        }
      }
      TENON_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const Reg x = V::Set(
            kPacked ? a[0][s * kRows + i]
                    : At(a[i / 3 * (kPacked ? 0 : 1)], i % 3 == 2 ? two_a_rows : i % 3 * a_row)[s]);
        TENON_UNROLL
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = AddDot<(kMostSteps > 1)>(acc[i][v], x, row[v]);
      }
    }
    TENON_UNROLL
    for (int q = 0; q < kPanels; ++q) b[q] = At(b[q], kSteps * b_row);
    fetch = At(fetch, kSteps * b_row);
    TENON_UNROLL
    for (int g = 0; g < kGroups; ++g) a[g] += kSteps * (kPacked ? kRows : 1);
  };
  const int64_t k = t.k;
  int64_t p = 0;
  for (; p + kMostSteps <= k; p += kMostSteps) steps.template operator()<kMostSteps>();
  if constexpr (kMostSteps > 1) {
    for (; p < k; ++p) steps.template operator()<1>();
  }

  StoreTile(t, acc);
}

// Few rows take the panels of a packed b one after the other, as one stream; the sums of every
// fourth row of b hide the latency of an addition.
template <int kRows>
void RunStream(const Tile& tile) {
  using Reg = V::Reg;
  constexpr int kLanes = V::kLanes, kPanel = 2 * kLanes, kSums = 4;
  constexpr int kLine = 64 / sizeof(float);
  Tile t = tile;
  const int64_t a_row = t.a_row, k = t.k;
  const char* next = reinterpret_cast<const char*>(t.next);
  const int64_t next_step = kSums * t.next_step;
  for (;;) {
    Reg acc[kSums][kRows][2];
    StartTile(t, acc[0]);
    TENON_UNROLL
    for (int s = 1; s < kSums; ++s) {
      TENON_UNROLL
      for (int i = 0; i < kRows; ++i) acc[s][i][0] = acc[s][i][1] = V::Zero();
    }
    const float *a = t.a, *b = t.b, *fetch = b + t.ahead * kPanel;
    int64_t p = 0;
    for (; p + kSums <= k; p += kSums) {
      __builtin_prefetch(next, 0, 2);
      next += next_step;
      TENON_UNROLL
      for (int s = 0; s < kSums; ++s) {
        const Reg first = V::Load(b + s * kPanel), second = V::Load(b + s * kPanel + kLanes);
        TENON_UNROLL
        for (int line = 0; line < kPanel; line += kLine) {
          __builtin_prefetch(fetch + s * kPanel + line);
        }
        TENON_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const Reg x = V::Set(a[i * a_row + s]);
          acc[s][i][0] = V::Dot(x, first, acc[s][i][0]);
          acc[s][i][1] = V::Dot(x, second, acc[s][i][1]);
        }
      }
      a += kSums;
      b += kSums * kPanel;
      fetch += kSums * kPanel;
    }
    for (; p < k; ++p, ++a, b += kPanel) {
      const Reg first = V::Load(b), second = V::Load(b + kLanes);
      TENON_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const Reg x = V::Set(a[i * a_row]);
        acc[0][i][0] = V::Dot(x, first, acc[0][i][0]);
        acc[0][i][1] = V::Dot(x, second, acc[0][i][1]);
      }
    }
    TENON_UNROLL
    for (int i = 0; i < kRows; ++i) {
      TENON_UNROLL
      for (int v = 0; v < 2; ++v) {
        acc[0][i][v] =
            V::Add(V::Add(acc[0][i][v], acc[1][i][v]), V::Add(acc[2][i][v], acc[3][i][v]));
      }
    }
    StoreTile(t, acc[0]);
    if (t.cols <= kPanel) return;
    t.cols -= kPanel;
    t.b += t.b_panel;
    t.c += kPanel;
    if (t.bias != nullptr) t.bias += kPanel;
    if (t.addend != nullptr) t.addend += kPanel;
  }
}

template <ActivationKind kKind>
void RunFinish(const Finish& finish) {
  const Finish f = finish;  // the compiler knows that what is stored does not change it
  const Reg alpha = V::Set(f.alpha), beta = V::Set(f.beta);
  for (int64_t i = 0; i < f.rows; ++i) {
    const float* x = f.x + i * f.x_row;
    const float* add = f.residual == nullptr ? nullptr : f.residual + i * f.residual_row;
    float* y = f.y + i * f.y_row;
    int64_t j = 0;
    for (; j + 2 * V::kLanes <= f.cols; j += 2 * V::kLanes) {
      Reg value[2];
      TENON_UNROLL
      for (int v = 0; v < 2; ++v) {
        value[v] = Activated<kKind>(V::Load(x + j + v * V::kLanes), alpha, beta);
      }
      if (add != nullptr) {
        TENON_UNROLL
        for (int v = 0; v < 2; ++v) value[v] = value[v] + V::Load(add + j + v * V::kLanes);
      }
      TENON_UNROLL
      for (int v = 0; v < 2; ++v) V::Store(y + j + v * V::kLanes, value[v]);
    }
    for (; j + V::kLanes <= f.cols; j += V::kLanes) {
      Reg value = Activated<kKind>(V::Load(x + j), alpha, beta);
      if (add != nullptr) value = value + V::Load(add + j);
      V::Store(y + j, value);
    }
    const int64_t left = f.cols - j;
    if (left == 0) continue;
    Reg value = Activated<kKind>(V::LoadN(x + j, left), alpha, beta);
    if (add != nullptr) value = value + V::LoadN(add + j, left);
    V::StoreN(y + j, value, left);
  }
}

inline void PackColumns(const float* b, int64_t b_col, int64_t k, int64_t cols, float* panel) {
  constexpr int64_t kPanel = 2 * V::kLanes;
  for (int64_t j = 0; j < kPanel; j += V::kLanes) {
    const int64_t count = Clamp(cols - j, 0, V::kLanes);
    for (int64_t p = 0; p < k; p += V::kLanes) {
      V::Transpose(b + j * b_col + p, b_col, count, Clamp(k - p, 0, V::kLanes),
                   panel + p * kPanel + j, kPanel, V::kLanes);
    }
  }
}

inline void PackRows(const float* a, int64_t a_row, int64_t rows, int64_t k, float* packed) {
  for (int64_t p = 0; p < k; p += V::kLanes) {
    for (int64_t i = 0; i < rows; i += V::kLanes) {
      const int64_t count = Clamp(rows - i, 0, V::kLanes);
      V::Transpose(a + i * a_row + p, a_row, count, Clamp(k - p, 0, V::kLanes),
                   packed + p * rows + i, rows, count);
    }
  }
}

// Tiles of 1 to kRows rows; those that span more panels have fewer rows.
template <int kRows>
constexpr void FillTiles(GemmKernels& kernels) {
  if constexpr (kRows > 0) {
    kernels.tile[kRows][0] = &RunTile<kRows, 1, false>;
    kernels.tile[kRows][1] = &RunTile<kRows, 2, false>;
    if constexpr (kRows <= V::kRowsOfTwoPanels) {
      kernels.tile[kRows][2] = &RunTile<kRows, 4, false>;
    }
    if constexpr (kRows <= V::kRowsOfFourPanels) {
      kernels.tile[kRows][3] = &RunTile<kRows, 8, false>;
    }
    if constexpr (kRows <= V::kRowsOfStreams) kernels.stream[kRows] = &RunStream<kRows>;
    FillTiles<kRows - 1>(kernels);
  }
}

template <int kRows>
constexpr void FillPackedTiles(GemmKernels& kernels) {
  if constexpr (kRows > 0) {
    kernels.packed_tile[kRows][0] = &RunTile<kRows, 1, true>;
    kernels.packed_tile[kRows][1] = &RunTile<kRows, 2, true>;
    FillPackedTiles<kRows - 1>(kernels);
  }
}

template <int kKind>
constexpr void FillActivations(GemmKernels& kernels) {
  if constexpr (kKind < kNumActivations) {
    kernels.finish[kKind] = &RunFinish<static_cast<ActivationKind>(kKind)>;
    FillActivations<kKind + 1>(kernels);
  }
}

// Products alone, of whatever elements V has.
constexpr GemmKernels MakeTiles() {
  GemmKernels kernels;
  kernels.panel = 2 * V::kLanes;
  kernels.max_rows = V::kMaxRows;
  FillTiles<V::kMaxRows>(kernels);
  return kernels;
}

// And what there is for floats only. A template, so that others do not make it.
template <int kMaxRows = V::kMaxRows>
constexpr GemmKernels MakeGemmKernels() {
  GemmKernels kernels = MakeTiles();
  kernels.pack_columns = &PackColumns;
  kernels.pack_rows = &PackRows;
  FillPackedTiles<kMaxRows>(kernels);
  FillActivations<0>(kernels);
  return kernels;
}

}  // namespace
}  // namespace tenon::kernels::cpu
