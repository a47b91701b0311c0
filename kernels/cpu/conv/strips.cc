#include "kernels/cpu/conv/strips.h"

#include <algorithm>
#include <cstring>

#include "ir/base/ceil_div.h"

namespace tenon::kernels::cpu {
namespace {

ConvTile Panel(const StripFilters& f, int64_t p) {
  const int64_t at = f.panels->FirstOf(p);
  ConvTile tile = {};
  tile.weights = f.weights + at * f.depth;
  tile.bias = f.bias == nullptr ? nullptr : f.bias + at;
  tile.columns = std::min<int64_t>(2 * f.kernels->lanes, f.panels->filters - at);
  return tile;
}

// Group `group` of the tile begins at pixel `column` of strip `strip`.
void Place(const StripFilters& f, const Strips& strips, int64_t strip, int64_t column,
           int64_t panel, int group, ConvTile& tile) {
  const int64_t at = strip * strips.out_step + column * f.call->out_step + f.panels->FirstOf(panel);
  tile.x[group] = strips.x + strip * strips.x_step + column * f.call->pixel_step;
  tile.out[group] = strips.out + at;
  if (strips.residual != nullptr) tile.residual[group] = strips.residual + at;
}

// Strips shorter than a group: pixel by pixel.
void RunPixels(const StripFilters& f, const Strips& strips, int64_t first, int64_t last) {
  const TileKernels& kernels = *f.kernels;
  for (int64_t i = 0; i < strips.count * strips.width; ++i) {
    for (int64_t p = first; p < last;) {
      ConvTile tile = Panel(f, p);
      Place(f, strips, i / strips.width, i % strips.width, p, 0, tile);
      if (f.panels->IsNarrow(p)) {
        kernels.narrow_row(*f.call, tile), ++p;
      } else if (p + 4 <= last && !f.panels->IsNarrow(p + 3)) {
        tile.columns =
            std::min<int64_t>(8 * kernels.lanes, f.panels->filters - f.panels->FirstOf(p));
        kernels.four_wide_rows(*f.call, tile), p += 4;
      } else {
        kernels.wide_row(*f.call, tile), ++p;
      }
    }
  }
}

// A group from `column` on whose first `done` pixels have been computed in the place of the
// residual, which they no longer find there.
void RunAgain(const StripFilters& f, const Strips& strips, const ConvTile& like, int group,
              int vectors, int64_t strip, int64_t column, int64_t done, int64_t panel) {
  constexpr int64_t kMostLanes = 16, kMostPixels = 7;
  float sums[kMostPixels * 2 * kMostLanes];
  const int64_t step = 2 * f.kernels->lanes;
  TileCall call = *f.call;
  call.out_step = step;
  ConvTile tile = like;
  Place(f, strips, strip, column, panel, 0, tile);
  const float* residual = tile.residual[0];
  float* out = tile.out[0];
  const auto bytes = static_cast<size_t>(tile.columns) * sizeof(float);
  for (int64_t i = 0; i < group; ++i) {
    std::memcpy(sums + i * step, residual + i * f.call->out_step, bytes);
  }
  tile.repeat = 1;
  tile.residual[0] = tile.out[0] = sums;
  f.kernels->tiles[group - f.kernels->min_group][0][vectors](call, tile);
  for (int64_t i = done; i < group; ++i) {
    std::memcpy(out + i * f.call->out_step, sums + i * step, bytes);
  }
}

}  // namespace

void RunStrips(const StripFilters& f, const Strips& strips, int64_t first, int64_t last) {
  const TileKernels& kernels = *f.kernels;
  if (strips.width < kernels.min_group) return RunPixels(f, strips, first, last);
  const int64_t group = BestGroup(kernels, strips.width);
  const auto& tiles = kernels.tiles[group - kernels.min_group];
  const bool is_in_place = strips.residual == strips.out;
  // While one panel is used, the next comes into the second-level cache.
  const int64_t tiles_of_panel = CeilDiv(strips.count * CeilDiv(strips.width, group), 2);
  for (int64_t p = first; p < last; ++p) {
    ConvTile tile = Panel(f, p);
    const int vectors = f.panels->IsNarrow(p) ? 0 : 1;
    tile.next =
        reinterpret_cast<const char*>(Panel(f, std::min(p + 1, f.panels->count - 1)).weights);
    tile.next_step =
        CeilDiv(2 * kernels.lanes * static_cast<int64_t>(sizeof(float)), tiles_of_panel);
    int filled = 0;
    const int64_t pairs = strips.width / (2 * group);
    const auto run = [&](int groups, int64_t repeat) {
      tile.repeat = repeat;
      tiles[groups - 1][vectors](*f.call, tile);
      tile.next += tile.next_step * f.depth * repeat;
    };
    for (int64_t strip = 0; strip < strips.count; ++strip) {
      int64_t column = 0;
      if (filled == 0 && pairs > 0) {
        Place(f, strips, strip, 0, p, 0, tile);
        Place(f, strips, strip, group, p, 1, tile);
        run(2, pairs);
        column = 2 * group * pairs;
      }
      for (; column < strips.width; column += group) {
        const int64_t at = std::min(column, strips.width - group);
        if (at < column && is_in_place) {
          RunAgain(f, strips, tile, static_cast<int>(group), vectors, strip, at, column - at, p);
          break;
        }
        Place(f, strips, strip, at, p, filled, tile);
        if (++filled == 2) {
          run(2, 1);
          filled = 0;
        }
      }
    }
    if (filled == 1) run(1, 1);
  }
}

}  // namespace tenon::kernels::cpu
