#include "kernels/cpu/gemm/gemm.h"

#include <algorithm>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/gemm/integers.h"
#include "kernels/cpu/gemm/row_tiles.h"
#include "kernels/cpu/gemm/tile.h"

namespace tenon::kernels::cpu {
namespace {

// Depths of more than this are summed in parts.
constexpr int64_t kMaxDepth = 4096, kLeastMaxDepth = 1024;
// Where panels stay, the ones after them are fetched during so many tiles, the last.
constexpr int64_t kTilesThatFetch = 4;
// Rows of b that are fetched into the first-level cache ahead of their use.
constexpr int64_t kAhead = 16, kFarAhead = 64;
constexpr int64_t kFloatBytes = sizeof(float);
// Operations worth a thread of their own, and how many take as long as to read a float from memory.
constexpr double kGrainOperations = 2e6;
constexpr double kOperationsPerFloat = 27;

// Parts of the second-level cache, in floats.
int64_t SecondLevel(int64_t eighths) {
  return ActiveCaches().second_bytes / 8 * eighths / kFloatBytes;
}
// Of the rows of a that stay there while the panels of b pass, and, where there are more rows, of
// the panels that stay there while the rows pass. c passes in both cases.
int64_t RowsThatStay() { return SecondLevel(5); }
int64_t PanelsThatStay() { return SecondLevel(3); }
// A panel of b stays there.
int64_t MaxDepth(int64_t panel) {
  return std::clamp(SecondLevel(4) / panel, kLeastMaxDepth, kMaxDepth);
}

const GemmKernels& KernelsOf(const GemmArgs& g) {
#if defined(__x86_64__)
  if (g.element == GemmElement::kBf16Pair) return GemmKernelsAvx512Bf16();
#endif
  if (g.element == GemmElement::kIntegers) return ActiveIntegerKernels().gemm;
  return ActiveGemmKernels();
}

// Panels that one tile of so many rows covers: few rows take several panels, or there would be too
// few accumulators to hide the latency of an addition.
int64_t PanelsOfTile(const GemmKernels& kernels, int64_t rows) {
  return kernels.tile[rows][3] != nullptr ? 4 : kernels.tile[rows][2] != nullptr ? 2 : 1;
}

// Few rows whose panels stay in the second-level cache from product to product, as in recurrent
// layers: one stream is read faster from there, several from memory.
bool IsStream(const GemmKernels& kernels, const GemmArgs& g, int64_t rows) {
  return kernels.stream[rows] != nullptr && g.b_row == 0 && !g.a_packed &&
         g.k * g.n <= SecondLevel(7);
}

// What the steps of a tile fetch into the second-level cache: so many floats for each panel, by so
// many bytes with each row of it.
struct Fetch {
  const float* at = nullptr;
  int64_t floats = 0;
  int64_t step = 0;
};

// One panel or group of panels times the rows of one tile, over depth [p, p + depth).
struct Step {
  int64_t row = 0, rows = 0;
  int64_t panel = 0, panels = 0;
  int64_t p = 0, depth = 0;
  // What is fetched meanwhile, as Tile has it.
  const float* next = nullptr;
  int64_t next_step = 0;
};

const float* TileOfA(const GemmArgs& g, int64_t row, int64_t rows, int64_t p) {
  return g.a_packed ? g.a + row * g.k + p * rows : g.a + row * g.a_row + p;
}

const float* PanelOfB(const GemmArgs& g, int64_t panel_columns, int64_t panel, int64_t p) {
  const int64_t col = panel * panel_columns;
  return g.b_row > 0 ? g.b + p * g.b_row + col : g.b + col * g.k + p * panel_columns;
}

// The product of some tiles with a block of panels, [first, last) of those before panel_end.
struct Pass {
  int64_t tile_begin, tile_end;
  int64_t first, last, panel_end;
  bool rows_stay;
};

// What a tile fetches of the panels after these. All tiles do, or, where that would take the place
// of the panels that stay, the last of them.
Fetch PanelsMeanwhile(const GemmArgs& g, int64_t panel_columns, const Pass& pass, int64_t tile,
                      int64_t p, int64_t depth) {
  const int64_t tiles = pass.tile_end - pass.tile_begin, panels = pass.last - pass.first;
  if (g.b_row > 0 || pass.last == pass.panel_end) return {};
  if (pass.rows_stay && tiles == 1) return {};  // reads on into them by itself
  const int64_t fetching = pass.rows_stay ? tiles : std::min(tiles, kTilesThatFetch);
  const int64_t turn = tile - (pass.tile_end - fetching);
  if (turn < 0) return {};
  const int64_t after = std::min(pass.panel_end - pass.last, panels);
  const int64_t share = after * panel_columns * depth / (panels * fetching);
  return {PanelOfB(g, panel_columns, pass.last, p) + share * turn * panels, share,
          CeilDiv(share * kFloatBytes, depth)};
}

// What a tile fetches of the rows of the next one, of which each panel of a pass has a share; after
// the last tile the next pass begins.
Fetch RowsMeanwhile(const GemmArgs& g, const RowTiles& tiles, const Pass& pass, int64_t tile,
                    int64_t p, int64_t depth) {
  const int64_t a_row = g.a_packed ? depth : g.a_row;
  if (a_row > 2 * depth) return {};  // mostly what is not needed
  const int64_t next = tile + 1 < pass.tile_end ? tile + 1 : pass.tile_begin;
  const int64_t row = tiles.Begin(next), rows = tiles.Begin(next + 1) - row;
  const int64_t share = CeilDiv(rows * a_row, pass.last - pass.first);
  return {TileOfA(g, row, rows, p), share, CeilDiv(share * kFloatBytes, depth)};
}

void RunStep(const GemmKernels& kernels, const GemmArgs& g, const Step& s) {
  const int64_t col = s.panel * kernels.panel;
  const GemmEpilogue& e = g.epilogue;
  const bool activate = e.activation.kind != ActivationKind::kNone;
  float* c = g.c + s.row * g.c_row + col;
  Tile t = {.a = TileOfA(g, s.row, s.rows, s.p),
            .a_row = g.a_row,
            .b = PanelOfB(g, kernels.panel, s.panel, s.p),
            .c = c,
            .c_row = g.c_row,
            .k = s.depth,
            .cols = std::min<int64_t>(s.panels * kernels.panel, g.n - col)};
  t.b_row = g.b_row > 0 ? g.b_row : kernels.panel;
  t.b_panel = g.b_row > 0 ? kernels.panel : g.k * kernels.panel;
  // One tile alone reads panels of b from memory, and one after the other.
  t.ahead = s.rows == g.m && s.panels == 1 ? kFarAhead : kAhead;
  t.out = c, t.out_row = g.c_row;
  t.next = s.next_step > 0 ? s.next : t.a;
  t.next_step = s.next_step;
  if (s.p == 0 && e.bias != nullptr) t.bias = e.bias + col;
  const float* residual =
      e.residual == nullptr ? nullptr : e.residual + s.row * e.residual_row + col;
  if (s.p > 0 || g.accumulate) {
    t.addend = t.c, t.addend_row = t.c_row;
  } else if (!activate) {
    t.addend = residual, t.addend_row = e.residual_row;
  }
  // The residual may lie where the result goes: it is read before that is written.
  alignas(64) float values[kMaxTileSize];
  const bool integers = e.integers_to_float || e.integer_row != nullptr;
  const bool finish = (activate || integers) && s.p + s.depth == g.k;
  if (finish) t.c = values, t.c_row = t.cols;
  if (IsStream(kernels, g, s.rows)) {
    kernels.stream[s.rows](t);
  } else if (g.a_packed) {
    kernels.packed_tile[s.rows][t.cols <= kernels.panel / 2 ? 0 : 1](t);
  } else {
    const int width = s.panels == 4 ? 3 : s.panels == 2 ? 2 : t.cols <= kernels.panel / 2 ? 0 : 1;
    kernels.tile[s.rows][width](t);
  }
  if (!finish) return;
  if (integers) {
    kernels.finish_integers({.x = values,
                             .x_row = t.c_row,
                             .y = c,
                             .y_row = g.c_row,
                             .rows = s.rows,
                             .cols = t.cols,
                             .row = e.integer_row == nullptr ? nullptr : e.integer_row + s.row,
                             .col = e.integer_col == nullptr ? nullptr : e.integer_col + col,
                             .to_float = e.integers_to_float});
    return;
  }
  FinishRows(e.activation, {.x = values,
                            .x_row = t.c_row,
                            .y = c,
                            .y_row = g.c_row,
                            .rows = s.rows,
                            .cols = t.cols,
                            .residual = residual,
                            .residual_row = e.residual_row});
}

// The largest group of whole panels from `panel` on that one tile may cover, and no further than
// `end`.
int64_t GroupAt(int64_t panel, int64_t end, int64_t whole, int64_t most) {
  int64_t group = most;
  while (group > 1 && (panel + group > end || panel + group > whole)) group /= 2;
  return group;
}

// How Gemm divides the work: `blocks` groups of tiles by groups of panels.
struct Units {
  int64_t tiles = 0, blocks = 1;
  int64_t panels = 0, panels_each = 1, columns = 1;

  int64_t count() const { return blocks * columns; }
};

Units Divide(const GemmArgs& g, int threads) {
  const GemmKernels& kernels = KernelsOf(g);
  Units u;
  const RowTiles tiles = TilesOf(g);
  u.tiles = tiles.count;
  u.panels = GemmPanels(g.n);
  u.panels_each = g.a_packed ? 1 : PanelsOfTile(kernels, tiles.highest());
  u.columns = CeilDiv(u.panels, u.panels_each);
  if (threads > 1 && u.count() < int64_t{4} * threads) {
    u.blocks = std::clamp<int64_t>(CeilDiv(int64_t{4} * threads, u.columns), 1, u.tiles);
  }
  return u;
}

}  // namespace

int64_t GemmPanel() { return ActiveGemmKernels().panel; }
int64_t GemmPanels(int64_t n) { return CeilDiv(n, ActiveGemmKernels().panel); }
int64_t GemmTiles(const GemmArgs& args) { return TilesOf(args).count; }

GemmArgs ColumnsOf(const GemmArgs& args, int64_t first, int64_t count) {
  GemmArgs part = args;
  part.n = std::min(args.n - first, count);
  part.b = nullptr;
  part.c += first;
  if (part.epilogue.bias != nullptr) part.epilogue.bias += first;
  if (part.epilogue.residual != nullptr) part.epilogue.residual += first;
  return part;
}

void FinishRows(const Activation& activation, Finish rows) {
  rows.alpha = activation.alpha, rows.beta = activation.beta;
  ActiveGemmKernels().finish[static_cast<int>(activation.kind)](rows);
}

void GemmBlock(const GemmArgs& args, int64_t tile_begin, int64_t tile_end, int64_t panel_begin,
               int64_t panel_end) {
  const GemmKernels& kernels = KernelsOf(args);
  const RowTiles tiles = TilesOf(args);
  const int64_t whole = args.n / kernels.panel, count = tile_end - tile_begin;
  if (count <= 0) return;
  const int64_t most = args.a_packed ? 1 : PanelsOfTile(kernels, tiles.highest());
  // Partial sums go to c, which may be where a residual lies that is added after an activation.
  const bool whole_depth =
      args.epilogue.residual != nullptr && args.epilogue.activation.kind != ActivationKind::kNone;
  const int64_t depth =
      whole_depth ? args.k : CeilDiv(args.k, CeilDiv(args.k, MaxDepth(kernels.panel)));
  const bool rows_stay = count * tiles.highest() * std::min(depth, args.k) <= RowsThatStay();
  for (int64_t p = 0; p < args.k; p += depth) {
    const int64_t end = std::min(args.k, p + depth), panel_floats = kernels.panel * (end - p);
    const int64_t stay = std::max(most, PanelsThatStay() / panel_floats);
    for (int64_t first = panel_begin, last; first < panel_end; first = last) {
      last = rows_stay ? first + GroupAt(first, panel_end, whole, most)
                       : std::min(panel_end, first + stay);
      const Pass pass = {tile_begin, tile_end, first, last, panel_end, rows_stay};
      for (int64_t t = tile_begin; t < tile_end; ++t) {
        Fetch fetch = PanelsMeanwhile(args, kernels.panel, pass, t, p, end - p);
        if (!rows_stay && fetch.step == 0) {
          fetch = RowsMeanwhile(args, tiles, pass, t, p, end - p);
        }
        Step step;
        step.row = tiles.Begin(t), step.rows = tiles.Begin(t + 1) - step.row;
        step.p = p, step.depth = end - p;
        for (step.panel = first; step.panel < last; step.panel += step.panels) {
          step.panels = GroupAt(step.panel, last, whole, most);
          step.next = fetch.at + (step.panel - first) * fetch.floats;
          step.next_step = fetch.step * step.panels;
          RunStep(kernels, args, step);
        }
      }
    }
  }
}

void Gemm(const GemmArgs& args) {
  const Units u = Divide(args, 1);
  for (int64_t b = 0; b < u.blocks; ++b) {
    GemmBlock(args, u.tiles * b / u.blocks, u.tiles * (b + 1) / u.blocks, 0, u.panels);
  }
}

void Gemm(const GemmArgs& args, ParallelFor& parallel) {
  const Units u = Divide(args, parallel.num_threads());
  const double operations = 2.0 * static_cast<double>(args.m) * static_cast<double>(args.n) *
                                static_cast<double>(args.k) +
                            kOperationsPerFloat * static_cast<double>(args.n * args.k);
  const double each = operations / static_cast<double>(std::max<int64_t>(1, u.count()));
  const auto grain = static_cast<int64_t>(kGrainOperations / std::max(1.0, each)) + 1;
  parallel(u.count(), grain, [&](int64_t begin, int64_t end) {
    // Units of one block of rows follow one another.
    while (begin < end) {
      const int64_t block = begin / u.columns, first = begin % u.columns;
      const int64_t count = std::min(end - begin, u.columns - first);
      GemmBlock(args, u.tiles * block / u.blocks, u.tiles * (block + 1) / u.blocks,
                first * u.panels_each, std::min(u.panels, (first + count) * u.panels_each));
      begin += count;
    }
  });
}

}  // namespace tenon::kernels::cpu
