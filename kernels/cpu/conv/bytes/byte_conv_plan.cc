#include "kernels/cpu/conv/bytes/byte_conv_plan.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "ir/base/ceil_div.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/conv/tiled_plan.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kElementBytes = 4;      // bytes
constexpr int64_t kLeastBytePixels = 56;  // of a block, where there are so many
constexpr int64_t kBytePage = 4096;       // pixels at this distance fall into one set of the cache
constexpr int64_t kByteLine = 64;
constexpr int64_t kFoursBlock = 64;  // of ByteKernels::fours

int64_t AlignToLine(int64_t bytes) { return CeilDiv(bytes, kByteLine) * kByteLine; }

bool LiesInImage(const WindowAxis& axis, int64_t out) {
  return axis.pad_begin == 0 && (out - 1) * axis.stride + Reach(axis) <= axis.in;
}

int FilterValue(const ByteFilters& filters, int64_t i) {
  return filters.is_signed ? static_cast<int8_t>(filters.data[i]) : filters.data[i];
}

int FilterZero(const ByteFilters& filters, int64_t filter) {
  const uint8_t zero = filters.zero[filters.zero_each ? filter : 0];
  return filters.is_signed ? static_cast<int8_t>(zero) : zero;
}

// Weights of four bytes are signed: unsigned ones less this number, as their zero points.
int SignOffset(const ByteFilters& filters) { return filters.is_signed ? 0 : 128; }

}  // namespace

void BytesPlan::Choose(ByteResult result, int64_t threads) {
  const ByteKernels& kernels = ActiveByteKernels();
  group_channels = image.channels / group, group_filters = image.filters / group;
  is_depthwise = group > 1 && group_channels == 1 && group_filters == 1;
  taps = image.rows.kernel * image.columns.kernel;
  elements = CeilDiv(group_channels, kernels.depth);
  panels = FilterPanels::Of(group_filters, group_channels, kernels.lanes);
  call.finish.result = result;
  call.out_step = image.filters;
  ChooseSource();
  ChooseBlocks(threads);
}

void BytesPlan::ChooseSource() {
  const WindowAxis &rows = image.rows, &columns = image.columns;
  const bool fits = LiesInImage(rows, image.height) && LiesInImage(columns, image.width);
  const bool is_point = taps == 1 && rows.stride == 1 && columns.stride == 1;
  const int64_t padded_width = (image.width - 1) * columns.stride + Reach(columns);
  // Depthwise loops read bytes whatever the instruction set.
  const bool takes_bytes = is_depthwise || (ActiveByteKernels().depth == 4 && group == 1 &&
                                            group_channels % kElementBytes == 0);
  const bool collides = !is_depthwise && columns.stride * image.channels % kBytePage == 0;
  copies = !fits || is_signed || !takes_bytes || collides;
  is_flat =
      is_point && fits && !is_depthwise && image.height == rows.in && image.width == columns.in;
  if (!copies) {
    pixel_bytes = image.channels;
    row_bytes = columns.in * pixel_bytes;
  } else {
    pixel_bytes = is_depthwise ? image.channels : elements * kElementBytes;
    if (!is_depthwise && columns.stride * pixel_bytes % kBytePage == 0) pixel_bytes += kByteLine;
    row_bytes = padded_width * pixel_bytes;
  }
  call.pixel_step = columns.stride * pixel_bytes / kElementBytes;
  const bool is_dense = columns.dilation == 1 && pixel_bytes == elements * kElementBytes;
  for (int64_t i = 0; i < rows.kernel; ++i) {
    for (int64_t j = 0; j < (is_dense && !is_depthwise ? 1 : columns.kernel); ++j) {
      const int64_t at = i * rows.dilation * row_bytes + j * columns.dilation * pixel_bytes;
      runs.push_back(is_depthwise ? at : at / kElementBytes);
    }
  }
  call.run_size = (is_dense ? columns.kernel : 1) * elements;
  call.num_runs = static_cast<int64_t>(runs.size());
}

void BytesPlan::ChooseBlocks(int64_t threads) {
  int64_t total = image.height, images = image.batch;
  const int64_t budget = ActiveCaches().second_bytes / 4;
  int64_t least = CeilDiv(kLeastBytePixels, image.width);
  if (is_flat) {
    total = image.batch * image.height * image.width, images = 1;
    least = kLeastBytePixels;
    block = std::max(least, budget / pixel_bytes);
  } else {
    block = std::max(least, (budget / row_bytes - Reach(image.rows)) / image.rows.stride);
  }
  const int64_t wanted = threads > 1 ? 2 * threads : 1;
  if (threads > 1) block = std::min(block, std::max(least, total * images / (2 * wanted)));
  block = std::min(block, total);
  block = CeilDiv(total, CeilDiv(total, block));  // of even size
  if (is_flat) {
    const int64_t tile = 2 * ActiveByteKernels().max_group;
    block = CeilDiv(block, tile) * tile;
  }
  blocks_per_image = CeilDiv(total, block);
  const int64_t blocks = images * blocks_per_image * (is_depthwise ? 1 : group);
  splits = is_depthwise ? 1 : std::clamp<int64_t>(CeilDiv(wanted, blocks), 1, panels.count);
  slots = threads;
  slot_bytes = 0;
  if (copies) {
    const int64_t in_rows = (block - 1) * image.rows.stride + Reach(image.rows);
    slot_bytes =
        kCopyAt + AlignToLine(is_flat ? block * pixel_bytes : in_rows * row_bytes) + kByteLine;
  }
}

int64_t BytesPlan::Columns() const {
  return is_depthwise ? CeilDiv(image.channels, kFoursBlock) * kFoursBlock
                      : group * panels.Columns();
}

int64_t BytesPlan::ColumnOf(int64_t filter) const {
  if (!is_depthwise) return filter / group_filters * panels.Columns() + filter % group_filters;
  return filter;
}

int64_t BytesPlan::GroupBytes() const {
  return is_depthwise ? 0 : taps * elements * panels.Columns() * kElementBytes;
}

std::string BytesPlan::Layout(bool weights_are_signed) const {
  const ByteKernels& kernels = ActiveByteKernels();
  return fmt::format("conv.bytes:{}:{}:{}:{}:{}x{}x{}{}", weights_are_signed ? "i8" : "u8",
                     kernels.depth, kernels.lanes, group, image.filters, image.channels, taps,
                     HasFours() ? ":fours" : "");
}

size_t BytesPlan::PackedSize() const {
  int64_t bytes = group * GroupBytes();
  if (is_depthwise) {
    bytes = AlignToLine(taps * image.channels * static_cast<int64_t>(sizeof(int16_t)));
    if (HasFours()) bytes += Columns() * 4 * CeilDiv(taps, 4);
  }
  return static_cast<size_t>(bytes + (2 * Columns() + 1) * kElementBytes);
}

const std::byte* BytesPlan::FoursOf(const std::byte* packed) const {
  return packed + AlignToLine(taps * image.channels * static_cast<int64_t>(sizeof(int16_t)));
}

BytesPlan::Corrections BytesPlan::CorrectionsOf(const std::byte* packed) const {
  const auto size = static_cast<int64_t>(PackedSize());
  auto* at = reinterpret_cast<int32_t*>(
      const_cast<std::byte*>(packed + size - (2 * Columns() + 1) * kElementBytes));
  return {at, at + Columns(), at + 2 * Columns()};
}

void BytesPlan::Pack(const ByteFilters& filters, std::byte* packed) const {
  std::memset(packed, 0, PackedSize());
  if (is_depthwise) {
    PackChannels(filters, packed);
  } else {
    for (int64_t g = 0; g < group; ++g) PackGroup(filters, g, packed + g * GroupBytes());
  }
  const Corrections corrections = CorrectionsOf(packed);
  const int64_t size = taps * group_channels;
  for (int64_t m = 0; m < image.filters; ++m) {
    const int zero = FilterZero(filters, m);
    uint32_t sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      sum += static_cast<uint32_t>(FilterValue(filters, m * size + i) - zero);
    }
    corrections.sums[ColumnOf(m)] = static_cast<int32_t>(sum);
    corrections.zeros[ColumnOf(m)] = zero - SignOffset(filters);
    if (zero != SignOffset(filters)) *corrections.any = 1;
  }
}

// From [filters, channels, window…] to panels [window…, elements, columns, numbers of an element].
void BytesPlan::PackGroup(const ByteFilters& filters, int64_t g, std::byte* packed) const {
  const int depth = ActiveByteKernels().depth;
  for (int64_t p = 0; p < panels.count; ++p) {
    const int64_t columns = panels.ColumnsOf(p), first = panels.FirstOf(p);
    const int64_t filled = std::min(columns, group_filters - first);
    std::byte* panel = packed + first * taps * elements * kElementBytes;
    for (int64_t j = 0; j < filled; ++j) {
      const int64_t filter = g * group_filters + first + j;
      const int zero = depth == 4 ? SignOffset(filters) : FilterZero(filters, filter);
      for (int64_t c = 0; c < group_channels; ++c) {
        for (int64_t t = 0; t < taps; ++t) {
          const int value = FilterValue(filters, (filter * group_channels + c) * taps + t) - zero;
          const int64_t to = (t * elements + c / depth) * columns + j;
          if (depth == 4) {
            reinterpret_cast<int8_t*>(panel)[to * 4 + c % 4] = static_cast<int8_t>(value);
          } else {
            reinterpret_cast<int16_t*>(panel)[to * 2 + c % 2] = static_cast<int16_t>(value);
          }
        }
      }
    }
  }
}

void BytesPlan::PackChannels(const ByteFilters& filters, std::byte* packed) const {
  auto* wide = reinterpret_cast<int16_t*>(packed);
  auto* fours = reinterpret_cast<int8_t*>(const_cast<std::byte*>(FoursOf(packed)));
  const int64_t groups = CeilDiv(taps, 4);
  for (int64_t c = 0; c < image.channels; ++c) {
    const int64_t in = c % kFoursBlock, l = in / 16, j = in % 16 / 4, i = in % 4;
    for (int64_t t = 0; t < taps; ++t) {
      const int value = FilterValue(filters, c * taps + t);
      wide[t * image.channels + c] = static_cast<int16_t>(value - FilterZero(filters, c));
      if (!HasFours()) continue;
      const int64_t block = (c / kFoursBlock * groups + t / 4) * 4 * kFoursBlock;
      fours[block + (16 * j + 4 * l + i) * 4 + t % 4] =
          static_cast<int8_t>(value - SignOffset(filters));
    }
  }
}

}  // namespace tenon::kernels::cpu
