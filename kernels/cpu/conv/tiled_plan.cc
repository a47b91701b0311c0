#include "kernels/cpu/conv/tiled_plan.h"

#include <algorithm>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/caches.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kLeastPixels = 56;     // of a block, where there are so many
constexpr double kLeastFlops = 500e3;    // of a task: a few microseconds
constexpr int64_t kTasksPerThread = 16;  // at most
constexpr int64_t kLine = 64 / sizeof(float);
// Pixels of a tile at multiples of this fall into one set of the first-level cache, which has fewer
// ways than a tile has pixels. Copies have pixels a line further apart.
constexpr int64_t kPage = 4096 / sizeof(float);

// Of the input that a block reads, with its weights in the second-level cache.
int64_t BlockBytes() { return ActiveCaches().second_bytes / 4; }

// Of all regions together: each names where its elements of the window lie, 16 bytes each.
constexpr int64_t kMostRuns = int64_t{1} << 18;

// The whole axis with the whole window.
TiledPart Whole(const WindowAxis& axis, int64_t out) { return {0, out, 0, axis.kernel}; }

// The elements of the window that result o finds in the image.
TiledPart Found(const WindowAxis& axis, int64_t o) {
  const int64_t start = o * axis.stride - axis.pad_begin;
  const int64_t tap = start >= 0 ? 0 : std::min(axis.kernel, CeilDiv(-start, axis.dilation));
  const int64_t end = start >= axis.in ? 0 : CeilDiv(axis.in - start, axis.dilation);
  return {o, o + 1, tap, std::clamp(end, tap, axis.kernel)};
}

// Does no result of the part meet padding?
bool IsExact(const TiledPart& part, const WindowAxis& axis) {
  const TiledPart first = Found(axis, part.first), last = Found(axis, part.end - 1);
  return first.tap == part.tap && last.tap_end == part.tap_end;
}

bool FitsImage(const WindowAxis& axis, int64_t out) {
  return axis.pad_begin == 0 && (out - 1) * axis.stride + Reach(axis) <= axis.in;
}

}  // namespace

std::vector<TiledPart> PartsOf(const WindowAxis& axis, int64_t out, int64_t least) {
  std::vector<TiledPart> parts;
  // Windows that lie in the image end before this one.
  const int64_t inside_end =
      std::min(out, (axis.in - Reach(axis) + axis.pad_begin + axis.stride) / axis.stride);
  int64_t taps = 0;
  for (int64_t o = 0; o < out; o = parts.back().end) {
    TiledPart found = Found(axis, o);
    if (found.tap_end - found.tap == axis.kernel) found.end = std::max(found.end, inside_end);
    taps += (found.end - found.first) * (found.tap_end - found.tap);
    if (!parts.empty() && parts.back().tap == found.tap && parts.back().tap_end == found.tap_end) {
      parts.back().end = found.end;
    } else {
      parts.push_back(found);
    }
  }
  constexpr int64_t kLeastPadding = 16;  // one in so many elements
  if (out * axis.kernel - taps < out * axis.kernel / kLeastPadding) return {Whole(axis, out)};
  for (size_t i = 0; parts.size() > 1 && i < parts.size();) {
    if (parts[i].end - parts[i].first >= least) {
      ++i;
      continue;
    }
    const size_t to = i == 0 ? 0 : i - 1;  // becomes one with the next
    TiledPart& joined = parts[to];
    joined.end = parts[to + 1].end;
    joined.tap = std::min(joined.tap, parts[to + 1].tap);
    joined.tap_end = std::max(joined.tap_end, parts[to + 1].tap_end);
    parts.erase(parts.begin() + static_cast<int64_t>(to) + 1);
    i = to;
  }
  return parts;
}

int64_t Reach(const WindowAxis& axis) { return (axis.kernel - 1) * axis.dilation + 1; }

void TiledPlan::Choose(const TileKernels& kernels, int64_t threads, double flops) {
  panels = FilterPanels::Of(image.filters, image.channels, kernels.lanes);
  ChooseSource(kernels);
  ChooseBlocks(threads, flops, kernels.max_group);
}

void TiledPlan::ChooseSource(const TileKernels& kernels) {
  const WindowAxis &rows = image.rows, &columns = image.columns;
  const bool fits = FitsImage(rows, image.height) && FitsImage(columns, image.width);
  const bool is_point = rows.kernel == 1 && columns.kernel == 1;
  const bool is_same = rows.in == image.height && columns.in == image.width;
  const int64_t channels = image.channels;
  const bool collides = columns.stride * channels % kPage == 0;
  padded_width = (image.width - 1) * columns.stride + Reach(columns);
  copied_pixel = collides ? channels + kLine : channels;
  std::vector<TiledPart> row_parts = PartsOf(rows, image.height, 1);
  std::vector<TiledPart> column_parts = PartsOf(columns, image.width, kernels.min_group);
  const auto parts = static_cast<int64_t>(row_parts.size() * column_parts.size());
  if (parts * rows.kernel * columns.kernel > kMostRuns) {
    row_parts = {Whole(rows, image.height)};
    column_parts = {Whole(columns, image.width)};
  }
  const auto are_exact = [](const std::vector<TiledPart>& of_axis, const WindowAxis& axis) {
    return std::ranges::all_of(of_axis, [&](const TiledPart& p) { return IsExact(p, axis); });
  };
  if (image.width < kernels.min_group && !(is_point && fits && is_same)) {
    source = TileSource::kGather;
  } else if (is_point && fits) {
    source = collides ? TileSource::kGather : is_same ? TileSource::kFlat : TileSource::kImage;
  } else {
    const bool reads_image = are_exact(row_parts, rows) && are_exact(column_parts, columns);
    source = reads_image && !collides ? TileSource::kImage : TileSource::kPadded;
  }
  call.out_step = image.filters;
  if (is_one_strip()) {
    call.run_size = depth;
    call.pixel_step = depth;
    if (source == TileSource::kGather && depth % kPage == 0) call.pixel_step += kLine;
    TiledRegion& all = regions.emplace_back();
    all.runs = {0};
    all.call = call;
    all.call.runs = all.runs.data();
    all.call.num_runs = 1;
    return;
  }
  call.pixel_step = columns.stride * (source == TileSource::kPadded ? copied_pixel : channels);
  for (const TiledPart& down : row_parts) {
    for (const TiledPart& across : column_parts) AddRegion(down, across);
  }
}

void TiledPlan::AddRegion(const TiledPart& down, const TiledPart& across) {
  const WindowAxis &rows = image.rows, &columns = image.columns;
  const bool is_copy = source == TileSource::kPadded;
  const int64_t width = is_copy ? padded_width : columns.in;
  const int64_t pixel = is_copy ? copied_pixel : image.channels;
  const bool is_dense = columns.dilation == 1 && pixel == image.channels;
  TiledRegion& region = regions.emplace_back();
  region.rows = down;
  region.columns = across;
  const int64_t taps = across.tap_end - across.tap;
  for (int64_t i = down.tap; i < down.tap_end; ++i) {
    const int64_t row = i * rows.dilation - (is_copy ? 0 : rows.pad_begin);
    for (int64_t j = across.tap; j < (is_dense ? across.tap + 1 : across.tap_end); ++j) {
      const int64_t column = j * columns.dilation - (is_copy ? 0 : columns.pad_begin);
      region.runs.push_back((row * width + column) * pixel);
      region.weight_rows.push_back((i * columns.kernel + j) * image.channels);
    }
  }
  region.call = call;
  region.call.run_size = (is_dense ? taps : 1) * image.channels;
  region.call.num_runs = static_cast<int64_t>(region.runs.size());
  region.call.runs = region.runs.data();
  const bool is_whole = (down.tap_end - down.tap) * taps == rows.kernel * columns.kernel;
  region.call.weight_rows = is_whole ? nullptr : region.weight_rows.data();
}

void TiledPlan::ChooseBlocks(int64_t threads, double flops, int64_t max_group) {
  const int64_t pixels = image.batch * image.height * image.width;
  const auto size = static_cast<int64_t>(sizeof(float));
  int64_t total = 0, images = 1;  // blocks are cut from so many rows or pixels, so many times
  int64_t least = kLeastPixels;
  if (is_one_strip()) {
    total = pixels;
    block = std::max(kLeastPixels, BlockBytes() / (depth * size));
  } else {
    total = image.height;
    images = image.batch;
    const int64_t row_bytes = padded_width * image.channels * size;
    const int64_t in_rows = BlockBytes() / row_bytes - Reach(image.rows);
    least = CeilDiv(kLeastPixels, image.width);
    block = std::max(in_rows / image.rows.stride, least);
    // Rows of different regions have little in common.
    if (source == TileSource::kImage && regions.size() > 1) block = total;
  }
  const bool copies = source == TileSource::kPadded || source == TileSource::kGather;
  int64_t wanted = 1;
  if (threads > 1) wanted = 2 * threads;
  if (threads > 1 && !copies) {
    const auto most = static_cast<int64_t>(flops / kLeastFlops);
    wanted = std::clamp(most, wanted, kTasksPerThread * threads);
    block = std::min(block, std::max(least, total / CeilDiv(wanted, images * panels.count)));
  }
  block = std::min(block, total);
  block = CeilDiv(total, CeilDiv(total, block));  // of even size
  if (is_one_strip()) {
    block = CeilDiv(block, 2 * max_group) * 2 * max_group;  // whole tiles
  }
  blocks_per_image = CeilDiv(total, block);
  const int64_t blocks = images * blocks_per_image;
  splits = std::clamp<int64_t>(CeilDiv(wanted, blocks), 1, panels.count);
  slots = threads;
  slot_bytes = 0;
  if (source == TileSource::kGather) {
    slot_bytes = block * call.pixel_step * size;
  } else if (source == TileSource::kPadded) {
    const int64_t in_rows = (block - 1) * image.rows.stride + Reach(image.rows);
    slot_bytes = in_rows * padded_width * copied_pixel * size;
  }
  if (slot_bytes > 0) slot_bytes = kCopyAt + CeilDiv(slot_bytes, 64) * 64;
}

}  // namespace tenon::kernels::cpu
