#include "kernels/cpu/gemm/int8.h"

#include <algorithm>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

// Bytes worth a thread of their own where b is streamed.
constexpr int64_t kStripGrainBytes = int64_t{256} * 1024;

const Int8Kernels& ChooseInt8Kernels() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return Int8KernelsAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return Int8KernelsAvx2();
#endif
  return Int8KernelsPortable();
}

const Int8Kernels& Kernels() {
  static const Int8Kernels& kernels = ChooseInt8Kernels();
  return kernels;
}

int64_t Int8Strips(const Int8Shape& shape) { return CeilDiv(shape.n, kInt8Strip); }

int64_t BytesOfStrip(const Int8Shape& shape) {
  return kInt8Strip * (shape.k + shape.groups() * static_cast<int64_t>(sizeof(float)));
}

// More rows than this are better served by panels of floats.
bool Streams(int64_t m) { return m <= int64_t{4} * Kernels().max_rows; }

// The product of at most Int8Kernels::max_rows rows with one strip: all columns of `g`.
void StreamRows(const GemmArgs& g, const Int8Shape& shape, const std::byte* strip) {
  const Int8Kernels& kernels = Kernels();
  const GemmEpilogue& e = g.epilogue;
  const bool activate = e.activation.kind != ActivationKind::kNone;
  alignas(64) float values[kMaxTileSize];
  for (int64_t col = 0; col < g.n;) {
    const int width = kernels.tile[g.m][1] != nullptr && g.n - col > kernels.panel ? 1 : 0;
    const int64_t columns = int64_t{width + 1} * kernels.panel;
    Int8Tile u = {.tile = {.a = g.a,
                           .a_row = g.a_row,
                           .c = g.c + col,
                           .c_row = g.c_row,
                           .k = g.k,
                           .cols = std::min(columns, g.n - col)},
                  .strip = strip,
                  .col = col,
                  .group = shape.group};
    Tile& t = u.tile;
    if (e.bias != nullptr) t.bias = e.bias + col;
    const float* residual = e.residual == nullptr ? nullptr : e.residual + col;
    if (activate) {
      t.c = values, t.c_row = t.cols;
    } else {
      t.addend = residual, t.addend_row = e.residual_row;
    }
    kernels.tile[g.m][width](u);
    if (activate) {
      FinishRows(e.activation, {.x = values,
                                .x_row = t.c_row,
                                .y = g.c + col,
                                .y_row = g.c_row,
                                .rows = g.m,
                                .cols = t.cols,
                                .residual = residual,
                                .residual_row = e.residual_row});
    }
    col += columns;
  }
}

// Strips [begin, end).
void Stream(const GemmArgs& args, const Int8Shape& shape, const std::byte* packed, int64_t begin,
            int64_t end) {
  const int64_t tiles = CeilDiv(args.m, Kernels().max_rows);
  for (int64_t strip = begin; strip < end; ++strip) {
    const GemmArgs columns = ColumnsOf(args, strip * kInt8Strip, kInt8Strip);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t row = args.m * t / tiles;
      GemmArgs rows = columns;
      rows.m = args.m * (t + 1) / tiles - row;
      rows.a += row * args.a_row;
      rows.c += row * args.c_row;
      if (rows.epilogue.residual != nullptr) {
        rows.epilogue.residual += row * rows.epilogue.residual_row;
      }
      StreamRows(rows, shape, packed + strip * BytesOfStrip(shape));
    }
  }
}

}  // namespace

std::string PackedLayoutOfInt8B(const Int8Shape& shape) {
  return "gemm.int8.strips." + std::to_string(shape.k) + "x" + std::to_string(shape.n) + ".group" +
         std::to_string(shape.group);
}

size_t PackedBytesOfInt8B(const Int8Shape& shape) {
  return static_cast<size_t>(Int8Strips(shape) * BytesOfStrip(shape));
}

void PackInt8B(const Int8Shape& shape, const int8_t* values, int64_t row, int64_t col,
               const float* scale, std::byte* packed, ParallelFor& parallel) {
  parallel(Int8Strips(shape), 1, [&](int64_t begin, int64_t end) {
    std::byte* out = packed + begin * BytesOfStrip(shape);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * kInt8Strip, cols = std::min(kInt8Strip, shape.n - first);
      for (int64_t p = 0; p < shape.k; ++p) {
        if (p % shape.group == 0) {
          auto* factors = reinterpret_cast<float*>(out);
          std::copy_n(scale + p / shape.group * shape.n + first, cols, factors);
          std::fill(factors + cols, factors + kInt8Strip, 0.0f);
          out += kInt8Strip * sizeof(float);
        }
        auto* bytes = reinterpret_cast<int8_t*>(out);
        for (int64_t j = 0; j < cols; ++j) bytes[j] = values[p * row + (first + j) * col];
        std::fill(bytes + cols, bytes + kInt8Strip, int8_t{0});
        out += kInt8Strip;
      }
    }
  });
}

Int8Plan PlanInt8Gemm(int64_t m, const Int8Shape& shape, int threads) {
  Int8Plan plan;
  if (Streams(m)) return plan;
  constexpr int64_t kFloats = int64_t{96} * 1024;
  plan.strips_each = std::clamp<int64_t>(kFloats / (shape.k * kInt8Strip), 1, 4);
  const int64_t units = CeilDiv(Int8Strips(shape), plan.strips_each);
  plan.parts = threads == 1 ? 1 : std::min<int64_t>(units, int64_t{2} * threads);
  plan.scratch_bytes =
      static_cast<size_t>(plan.parts) * PackedBytesOfB(shape.k, plan.strips_each * kInt8Strip);
  return plan;
}

void Int8Gemm(const GemmArgs& args, const Int8Shape& shape, const std::byte* packed,
              const Int8Plan& plan, float* scratch, ParallelFor& parallel) {
  const int64_t strips = Int8Strips(shape), strip_bytes = BytesOfStrip(shape);
  if (Streams(args.m)) {
    parallel(strips, kStripGrainBytes / strip_bytes + 1,
             [&](int64_t begin, int64_t end) { Stream(args, shape, packed, begin, end); });
    return;
  }
  const int64_t units = CeilDiv(strips, plan.strips_each), panel = GemmPanel();
  parallel(plan.parts, 1, [&](int64_t part, int64_t part_end) {
    for (; part < part_end; ++part) {
      float* space = scratch + part * plan.strips_each * kInt8Strip * shape.k;
      for (int64_t u = units * part / plan.parts; u < units * (part + 1) / plan.parts; ++u) {
        const int64_t first = u * plan.strips_each;
        const int64_t last = std::min(strips, first + plan.strips_each);
        float* out = space;
        for (int64_t strip = first; strip < last; ++strip) {
          for (int64_t col = 0; col < kInt8Strip; col += panel, out += panel * shape.k) {
            Kernels().dequantize(packed + strip * strip_bytes, col, shape.k, shape.group, out);
          }
        }
        GemmArgs columns = ColumnsOf(args, first * kInt8Strip, (last - first) * kInt8Strip);
        columns.b = space;
        Gemm(columns);
      }
    }
  });
}

}  // namespace tenon::kernels::cpu
