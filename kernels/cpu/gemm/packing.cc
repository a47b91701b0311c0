// Packs the factors of matrix products: b in panels of columns, a in tiles of rows.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/row_tiles.h"

namespace tenon::kernels::cpu {

std::string PackedLayoutOfB(int64_t k, int64_t n) {
  return "gemm.f32." + std::to_string(ActiveGemmKernels().panel) + "x" + std::to_string(k) + "x" +
         std::to_string(n);
}

size_t PackedBytesOfB(int64_t k, int64_t n) {
  return static_cast<size_t>(GemmPanels(n) * ActiveGemmKernels().panel * k) * sizeof(float);
}

namespace {

// Rows [top, bottom) of panels [begin, end).
void PackPanels(const GemmMatrix& b, int64_t k, int64_t n, float* packed, int64_t begin,
                int64_t end, int64_t top, int64_t bottom) {
  const GemmKernels& kernels = ActiveGemmKernels();
  const int64_t panel = kernels.panel, rows = bottom - top;
  const bool aligned = reinterpret_cast<uintptr_t>(b.data) % alignof(float) == 0;
  std::vector<float> columns;  // of a panel, where they are not aligned
  for (int64_t i = begin; i < end; ++i) {
    const int64_t cols = std::min(panel, n - i * panel);
    float* out = packed + i * panel * k + top * panel;
    const float* in = b.data + i * panel * b.col + top * b.row;
    if (b.col == 1) {
      for (int64_t p = 0; p < rows; ++p, out += panel) {
        std::memcpy(out, in + p * b.row, static_cast<size_t>(cols) * sizeof(float));
        std::fill(out + cols, out + panel, 0.0f);
      }
    } else if (b.row == 1) {
      if (aligned) {
        kernels.pack_columns(in, b.col, rows, cols, out);
        continue;
      }
      columns.resize(static_cast<size_t>(panel * rows));
      for (int64_t j = 0; j < cols; ++j) {
        std::memcpy(columns.data() + j * rows, in + j * b.col,
                    static_cast<size_t>(rows) * sizeof(float));
      }
      kernels.pack_columns(columns.data(), rows, rows, cols, out);
    } else {
      for (int64_t p = 0; p < rows; ++p, out += panel) {
        for (int64_t j = 0; j < cols; ++j) {
          std::memcpy(out + j, in + p * b.row + j * b.col, sizeof(float));
        }
        std::fill(out + cols, out + panel, 0.0f);
      }
    }
  }
}

// Panels, of so many rows, that are worth a thread of their own.
int64_t PackingGrain(int64_t rows) {
  return std::max<int64_t>(1, 65536 / std::max<int64_t>(1, rows * GemmPanel()));
}

}  // namespace

void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, int64_t begin, int64_t end) {
  PackPanels(b, k, n, packed, begin, end, 0, k);
}

void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel) {
  parallel(GemmPanels(n), PackingGrain(k),
           [&](int64_t begin, int64_t end) { PackB(b, k, n, packed, begin, end); });
}

void PackB(const GemmMatrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel,
           const std::function<void(int64_t first, int64_t last)>& read) {
  constexpr int64_t kPartFloats = int64_t{1} << 20;
  const int64_t panels = GemmPanels(n), panel = GemmPanel();
  if (b.col == 1) {
    const int64_t parts = std::clamp<int64_t>(k * n / kPartFloats, 1, k);
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t top = k * i / parts, bottom = k * (i + 1) / parts;
      parallel(panels, PackingGrain(bottom - top), [&](int64_t begin, int64_t end) {
        PackPanels(b, k, n, packed, begin, end, top, bottom);
      });
      read(top * n, bottom * n);
    }
    return;
  }
  const int64_t parts = std::clamp<int64_t>(k * n / kPartFloats, 1, panels);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = panels * i / parts, last = panels * (i + 1) / parts;
    parallel(last - first, PackingGrain(k), [&](int64_t begin, int64_t end) {
      PackPanels(b, k, n, packed, first + begin, first + end, 0, k);
    });
    read(first * panel * k, std::min(n, last * panel) * k);
  }
}

bool PackingAPays(int64_t m, int64_t n, int64_t a_row) {
  // Lower tiles are the better way while they are not much lower.
  const int64_t most = ActiveGemmKernels().max_rows, ways = ActiveCaches().first_ways;
  return RowsCollide(a_row) && 4 * ways < 3 * most && m > ways && n > 4 * GemmPanel();
}

int64_t RowOfCopiedA(int64_t elements) {
  constexpr int64_t kLine = 64 / sizeof(float);
  const int64_t row = CeilDiv(elements, kLine) * kLine;
  return RowsCollide(row) ? row + kLine : row;
}

size_t PackedBytesOfA(int64_t m, int64_t k) { return static_cast<size_t>(m * k) * sizeof(float); }

namespace {

void PackTilesOfA(const GemmMatrix& a, int64_t m, int64_t k, float* packed, int64_t begin,
                  int64_t end) {
  const RowTiles tiles = TilesOfPackedA(m);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t row = tiles.Begin(t), rows = tiles.Begin(t + 1) - row;
    const float* in = a.data + row * a.row;
    float* out = packed + row * k;
    if (a.col == 1) {
      ActiveGemmKernels().pack_rows(in, a.row, rows, k, out);
      continue;
    }
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < rows; ++i) out[p * rows + i] = in[i * a.row + p * a.col];
    }
  }
}

}  // namespace

void PackA(const GemmMatrix& a, int64_t m, int64_t k, float* packed) {
  PackTilesOfA(a, m, k, packed, 0, TilesOfPackedA(m).count);
}

void PackA(const GemmMatrix& a, int64_t m, int64_t k, float* packed, ParallelFor& parallel) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, k * 14));
  parallel(TilesOfPackedA(m).count, grain,
           [&](int64_t begin, int64_t end) { PackTilesOfA(a, m, k, packed, begin, end); });
}

}  // namespace tenon::kernels::cpu
