#include "kernels/cpu/conv/transposed_plan.h"

#include <algorithm>
#include <utility>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/caches.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kLeastPhasePixels = 56;  // of a block, where there are so many
constexpr int64_t kMostGathered = 224;     // pixels of a block
constexpr int64_t kPixelLine = 64 / sizeof(float);
// Pixels at multiples of this fall into one set of the first-level cache: see TiledPlan.
constexpr int64_t kPixelPage = 4096 / sizeof(float);
constexpr auto kFloatSize = static_cast<int64_t>(sizeof(float));

// Of the input that a block reads, with its weights in the second-level cache.
int64_t TransposedBlockBytes() { return ActiveCaches().second_bytes / 4; }

bool ReadAlike(const std::vector<TransposedTap>& a, const std::vector<TransposedTap>& b) {
  return std::ranges::equal(a, b, {}, &TransposedTap::offset, &TransposedTap::offset);
}

bool AreNeighbours(const std::vector<TransposedTap>& taps) {
  for (size_t i = 1; i < taps.size(); ++i) {
    if (taps[i].offset != taps[i - 1].offset + 1) return false;
  }
  return true;
}

// Pixels that results read outside of the image: so many before, so many behind it.
std::pair<int64_t, int64_t> Outside(const std::vector<AxisPhase>& phases, int64_t in) {
  int64_t before = 0, behind = 0;
  for (const AxisPhase& phase : phases) {
    for (const TransposedTap& tap : phase.taps[0]) {
      before = std::max(before, -tap.offset);
      behind = std::max(behind, phase.count + tap.offset - in);
    }
  }
  return {before, behind};
}

}  // namespace

int64_t StepOf(const TransposedAxis& axis) {
  const int64_t span = (axis.kernel - 1) * axis.dilation + 1;
  return axis.in == 1 ? std::max(axis.stride, span) : axis.stride;
}

std::vector<AxisPhase> PhasesOf(const TransposedAxis& axis, bool joins) {
  const int64_t step = StepOf(axis);
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(step, axis.out); ++first) {
    const int64_t count = CeilDiv(axis.out - first, step);
    std::vector<TransposedTap> taps;
    for (int64_t element = axis.kernel - 1; element >= 0; --element) {
      const int64_t from = first + axis.pad_begin - element * axis.dilation;
      const int64_t offset = from >= 0 ? from / step : -CeilDiv(-from, step);
      if (offset * step != from || count + offset <= 0 || offset >= axis.in) continue;
      taps.push_back({element, offset});
    }
    if (joins && !phases.empty() && phases.back().count == count &&
        ReadAlike(phases.back().taps[0], taps)) {
      ++phases.back().joined;
      phases.back().taps.push_back(std::move(taps));
    } else {
      phases.push_back({first, count, 1, {std::move(taps)}});
    }
  }
  return phases;
}

void TransposedPlan::Choose(const TileKernels& kernels, int64_t threads) {
  row_step = StepOf(rows);
  column_step = StepOf(columns);
  row_phases = PhasesOf(rows, false);
  column_phases = PhasesOf(columns, true);
  ChooseSource(kernels);
  units = weights_size = 0;
  most_joined = 1;
  phases.reserve(row_phases.size() * column_phases.size());
  for (const AxisPhase& row : row_phases) {
    for (const AxisPhase& column : column_phases) AddPhase(row, column, kernels);
  }
  ChooseBlocks(threads, kernels.max_group);
}

void TransposedPlan::ChooseSource(const TileKernels& kernels) {
  const auto [above, below] = Outside(row_phases, rows.in);
  const auto [before, behind] = Outside(column_phases, columns.in);
  const bool fits = above == 0 && below == 0 && before == 0 && behind == 0;
  const bool collides = channels % kPixelPage == 0;
  pixel = collides ? channels + kPixelLine : channels;
  rows_before = above;
  columns_before = before;
  rows_behind = 0;
  int64_t most_columns = 0;
  for (const AxisPhase& phase : row_phases) {
    for (const TransposedTap& tap : phase.taps[0]) rows_behind = std::max(rows_behind, tap.offset);
  }
  width = 1;
  for (const AxisPhase& phase : column_phases) {
    most_columns = std::max(most_columns, phase.count);
    for (const TransposedTap& tap : phase.taps[0]) {
      width = std::max(width, before + phase.count + tap.offset);
    }
  }
  if (most_columns < kernels.min_group) {
    source = TransposedSource::kGather;
  } else {
    source = fits && !collides ? TransposedSource::kImage : TransposedSource::kPadded;
  }
  if (source == TransposedSource::kImage) width = columns.in;
}

void TransposedPlan::AddPhase(const AxisPhase& row, const AxisPhase& column,
                              const TileKernels& kernels) {
  TransposedPhase& phase = phases.emplace_back();
  phase.rows = &row;
  phase.columns = &column;
  phase.panels = FilterPanels::Of(column.joined * filters, channels, kernels.lanes);
  const std::vector<TransposedTap>&down = row.taps[0], &across = column.taps[0];
  phase.depth = static_cast<int64_t>(down.size() * across.size()) * channels;
  phase.call = {};
  if (source == TransposedSource::kGather) {
    phase.runs = {0};
    phase.call.run_size = phase.depth;
    phase.call.pixel_step = phase.depth % kPixelPage == 0 ? phase.depth + kPixelLine : phase.depth;
    phase.call.out_step = phase.panels.filters;
  } else {
    // From the first pixel of the row that the result stands in, or would stand in the image.
    const bool is_dense = pixel == channels && AreNeighbours(across);
    for (const TransposedTap& d : down) {
      for (const TransposedTap& a : across) {
        phase.runs.push_back(((d.offset + rows_before) * width + a.offset + columns_before) *
                             pixel);
        if (is_dense) break;
      }
    }
    phase.call.run_size = is_dense ? static_cast<int64_t>(across.size()) * channels : channels;
    phase.call.pixel_step = pixel;
    phase.call.out_step = column_step * filters;
  }
  phase.call.runs = phase.runs.data();
  phase.call.num_runs = static_cast<int64_t>(phase.runs.size());
  phase.weights_at = weights_size;
  phase.first_unit = units;
  weights_size += phase.depth * phase.panels.Columns();
  units += phase.panels.count;
  most_joined = std::max(most_joined, column.joined);
}

void TransposedPlan::ChooseBlocks(int64_t threads, int64_t max_group) {
  slots = threads;
  slot_bytes = 0;
  const int64_t wanted = threads > 1 ? 2 * threads : 1;
  if (source == TransposedSource::kGather) {
    // Tasks divide the units alone: a block of pixels is one of a phase.
    int64_t most = 0, window = 0, result = 0;
    for (const TransposedPhase& phase : phases) {
      most = std::max(most, batch * phase.rows->count * phase.columns->count);
      window = std::max(window, phase.call.pixel_step);
      result = std::max(result, phase.call.out_step);
    }
    block =
        std::clamp<int64_t>(TransposedBlockBytes() / (std::max<int64_t>(window, 1) * kFloatSize),
                            kLeastPhasePixels, kMostGathered);
    block = CeilDiv(std::min(block, most), 2 * max_group) * 2 * max_group;
    blocks_per_image = 1;
    splits = std::min(wanted, units);
    gathered_out = kCopyAt + CeilDiv(block * window * kFloatSize, 64) * 64;
    slot_bytes = gathered_out + CeilDiv(block * result * kFloatSize, 64) * 64;
    return;
  }
  int64_t total = 1, most_columns = 1;
  for (const AxisPhase& phase : row_phases) total = std::max(total, phase.count);
  for (const AxisPhase& phase : column_phases) most_columns = std::max(most_columns, phase.count);
  const int64_t around = rows_before + rows_behind;
  const int64_t least = CeilDiv(kLeastPhasePixels, most_columns);
  block = std::max(TransposedBlockBytes() / (width * channels * kFloatSize) - around, least);
  if (threads > 1 && source == TransposedSource::kImage) {
    block = std::min(block, std::max(least, CeilDiv(total * batch, 4 * wanted)));
  }
  block = std::min(block, total);
  block = CeilDiv(total, CeilDiv(total, block));  // of even size
  blocks_per_image = CeilDiv(total, block);
  splits = std::clamp<int64_t>(CeilDiv(wanted, batch * blocks_per_image), 1, units);
  if (source == TransposedSource::kPadded) {
    slot_bytes = kCopyAt + CeilDiv((block + around) * width * pixel * kFloatSize, 64) * 64;
  }
}

}  // namespace tenon::kernels::cpu
