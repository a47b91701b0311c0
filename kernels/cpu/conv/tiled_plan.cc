#include "kernels/cpu/conv/tiled_plan.h"

#include <algorithm>

#include "kernels/cpu/caches.h"
#include "kernels/cpu/ceil_div.h"

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

bool FitsImage(const WindowAxis& axis, int64_t out) {
  return axis.pad_begin == 0 && (out - 1) * axis.stride + Reach(axis) <= axis.in;
}

}  // namespace

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
  if (image.width < kernels.min_group && !(is_point && fits && is_same)) {
    source = TileSource::kGather;
  } else if (is_point && fits) {
    source = collides ? TileSource::kGather : is_same ? TileSource::kFlat : TileSource::kImage;
  } else {
    source = fits && !collides ? TileSource::kImage : TileSource::kPadded;
  }
  if (is_one_strip()) {
    runs = {0};
    call.run_size = depth;
    call.pixel_step = depth;
    if (source == TileSource::kGather && depth % kPage == 0) call.pixel_step += kLine;
  } else {
    const bool is_copy = source == TileSource::kPadded;
    const int64_t width = is_copy ? padded_width : columns.in;
    const int64_t pixel = is_copy ? copied_pixel : channels;
    const bool is_dense = columns.dilation == 1 && pixel == channels;
    for (int64_t i = 0; i < rows.kernel; ++i) {
      for (int64_t j = 0; j < (is_dense ? 1 : columns.kernel); ++j) {
        runs.push_back((i * rows.dilation * width + j * columns.dilation) * pixel);
      }
    }
    call.run_size = is_dense ? columns.kernel * channels : channels;
    call.pixel_step = columns.stride * pixel;
  }
  call.runs = runs.data();
  call.num_runs = static_cast<int64_t>(runs.size());
  call.out_step = image.filters;
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
