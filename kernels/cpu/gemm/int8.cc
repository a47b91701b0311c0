#include "kernels/cpu/gemm/int8.h"

#include <algorithm>

#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

// Bytes worth a thread of their own where b is streamed.
constexpr int64_t kGrainBytes = 256 * 1024;

const Int8Kernels& ChooseKernels() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512) return Int8KernelsAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return Int8KernelsAvx2();
#endif
  return Int8KernelsPortable();
}

const Int8Kernels& Kernels() {
  static const Int8Kernels& kernels = ChooseKernels();
  return kernels;
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Factors follow the values; both panel by panel.
struct PackedInt8 {
  PackedInt8(const Int8Shape& shape, const std::byte* packed)
      : panels(GemmPanels(shape.n)),
        value_panel(shape.k * GemmPanel()),
        scale_panel(shape.groups() * GemmPanel()),
        values(reinterpret_cast<const int8_t*>(packed)),
        scales(reinterpret_cast<const float*>(packed + ScalesAt())) {}

  size_t ScalesAt() const { return static_cast<size_t>(CeilDiv(panels * value_panel, 64) * 64); }
  size_t bytes() const {
    return ScalesAt() + static_cast<size_t>(panels * scale_panel) * sizeof(float);
  }

  int64_t panels, value_panel, scale_panel;
  const int8_t* values;
  const float* scales;
};

// More rows than this are better served by panels of floats.
bool Streams(int64_t m) { return m <= 4 * Kernels().max_rows; }

// The product of at most Int8Kernels::max_rows rows with panels [begin, end).
void StreamRows(const GemmArgs& g, const Int8Shape& shape, const PackedInt8& b, int64_t begin,
                int64_t end) {
  const Int8Kernels& kernels = Kernels();
  const GemmEpilogue& e = g.epilogue;
  const bool activate = e.activation.kind != ActivationKind::kNone;
  alignas(64) float values[kMaxTileSize];
  while (begin < end) {
    int width = 2;
    while (width > 0 && (kernels.tile[g.m][width] == nullptr || begin + (1 << width) > end))
      --width;
    const int64_t col = begin * kernels.panel, count = int64_t{1} << width;
    Int8Tile u = {.tile = {.a = g.a,
                           .a_row = g.a_row,
                           .c = g.c + col,
                           .c_row = g.c_row,
                           .k = g.k,
                           .cols = std::min(count * kernels.panel, g.n - col)},
                  .b = b.values + begin * b.value_panel,
                  .b_panel = b.value_panel,
                  .scale = b.scales + begin * b.scale_panel,
                  .scale_panel = b.scale_panel,
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
    begin += count;
  }
}

void Stream(const GemmArgs& args, const Int8Shape& shape, const PackedInt8& b, int64_t begin,
            int64_t end) {
  const int64_t tiles = CeilDiv(args.m, Kernels().max_rows);
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t row = args.m * t / tiles;
    GemmArgs rows = args;
    rows.m = args.m * (t + 1) / tiles - row;
    rows.a += row * args.a_row;
    rows.c += row * args.c_row;
    if (rows.epilogue.residual != nullptr) {
      rows.epilogue.residual += row * rows.epilogue.residual_row;
    }
    StreamRows(rows, shape, b, begin, end);
  }
}

}  // namespace

std::string PackedLayoutOfInt8B(const Int8Shape& shape) {
  return "gemm.int8." + std::to_string(GemmPanel()) + "x" + std::to_string(shape.k) + "x" +
         std::to_string(shape.n) + ".group" + std::to_string(shape.group);
}

size_t PackedBytesOfInt8B(const Int8Shape& shape) { return PackedInt8(shape, nullptr).bytes(); }

void PackInt8B(const Int8Shape& shape, const int8_t* values, int64_t row, int64_t col,
               const float* scale, std::byte* packed, ParallelFor& parallel) {
  const PackedInt8 b(shape, packed);
  const int64_t panel = GemmPanel();
  auto* out_values = reinterpret_cast<int8_t*>(packed);
  auto* out_scales = reinterpret_cast<float*>(packed + b.ScalesAt());
  parallel(b.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * panel, cols = std::min(panel, shape.n - first);
      for (int64_t p = 0; p < shape.k; ++p) {
        int8_t* out = out_values + i * b.value_panel + p * panel;
        for (int64_t j = 0; j < cols; ++j) out[j] = values[p * row + (first + j) * col];
        std::fill(out + cols, out + panel, int8_t{0});
      }
      for (int64_t g = 0; g < shape.groups(); ++g) {
        float* out = out_scales + i * b.scale_panel + g * panel;
        std::copy_n(scale + g * shape.n + first, cols, out);
        std::fill(out + cols, out + panel, 0.0f);
      }
    }
  });
}

Int8Plan PlanInt8Gemm(int64_t m, const Int8Shape& shape, int threads) {
  Int8Plan plan;
  if (Streams(m)) return plan;
  constexpr int64_t kFloats = 64 * 1024;
  plan.panels_each = std::clamp<int64_t>(kFloats / (shape.k * GemmPanel()), 1, 4);
  const int64_t units = CeilDiv(GemmPanels(shape.n), plan.panels_each);
  plan.parts = threads == 1 ? 1 : std::min<int64_t>(units, int64_t{2} * threads);
  plan.scratch_bytes =
      static_cast<size_t>(plan.parts) * PackedBytesOfB(shape.k, plan.panels_each * GemmPanel());
  return plan;
}

void Int8Gemm(const GemmArgs& args, const Int8Shape& shape, const std::byte* packed,
              const Int8Plan& plan, float* scratch, ParallelFor& parallel) {
  const PackedInt8 b(shape, packed);
  if (Streams(args.m)) {
    // Whole groups of panels that a tile covers.
    constexpr int64_t kGroup = 4;
    const int64_t groups = CeilDiv(b.panels, kGroup);
    parallel(groups, kGrainBytes / (kGroup * b.value_panel) + 1, [&](int64_t begin, int64_t end) {
      Stream(args, shape, b, begin * kGroup, std::min(b.panels, end * kGroup));
    });
    return;
  }
  const int64_t units = CeilDiv(b.panels, plan.panels_each), panel = GemmPanel();
  const int64_t floats = shape.k * panel;
  parallel(plan.parts, 1, [&](int64_t part, int64_t part_end) {
    for (; part < part_end; ++part) {
      float* space = scratch + part * plan.panels_each * floats;
      for (int64_t u = units * part / plan.parts; u < units * (part + 1) / plan.parts; ++u) {
        const int64_t first = u * plan.panels_each;
        const int64_t last = std::min(b.panels, first + plan.panels_each);
        for (int64_t i = first; i < last; ++i) {
          Kernels().dequantize(b.values + i * b.value_panel, b.scales + i * b.scale_panel, shape.k,
                               shape.group, space + (i - first) * floats);
        }
        GemmArgs columns = ColumnsOf(args, first * panel, (last - first) * panel);
        columns.b = space;
        Gemm(columns);
      }
    }
  });
}

}  // namespace tenon::kernels::cpu
