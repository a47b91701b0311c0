// q.conv: convolution of bytes with constant filters, over one or two spatial axes, with sums of
// integers. Images with channels first are reordered.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/cpu/conv/bytes/byte_conv_plan.h"
#include "kernels/cpu/gemm/integers.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

using cpu::ByteKernels;
using cpu::ByteResult;

enum ByteOperand : uint8_t { kX, kW, kXZero, kWZero, kBias, kScale, kOutZero };

struct BytesState : KernelState, cpu::BytesPlan {
  bool is_empty = false;
  bool channels_last = true;
  size_t start_at = 0, scale_at = 0, x_at = 0, out_at = 0;  // in the scratch, behind the slots
  PackedBytes packed;
};

bool HasOperand(std::span<const TensorView> inputs, size_t i) {
  return i < inputs.size() && inputs[i].present();
}

int OneByte(const TensorView& byte) {
  return byte.dtype == DType::kI8 ? *byte.as<int8_t>() : *byte.as<uint8_t>();
}

ByteResult ByteResultOf(DType dtype) {
  if (dtype == DType::kI32) return ByteResult::kSums;
  return dtype == DType::kF32 ? ByteResult::kFloats : ByteResult::kBytes;
}

KernelStatus PrepareByteConv(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const q::ConvAttrs*>(args.attrs);
  const TensorView &x = args.inputs[kX], &w = args.inputs[kW], &result = args.outputs[0];
  auto state = std::make_shared<BytesState>();
  out = state;
  BytesState& s = *state;
  s.is_empty = result.numel() == 0 || w.numel() == 0;
  if (s.is_empty) return KernelStatus::Ok();
  const ImageLayout layout = ImageLayout::Of(attrs);
  s.channels_last = layout.channels_last();
  s.image = cpu::GeometryOf(attrs, args);
  s.image.channels = layout.Channels(x.shape), s.image.filters = w.shape[0];
  s.group = attrs.group;
  s.is_signed = x.dtype == DType::kI8;
  s.Choose(ByteResultOf(result.dtype), args.device->parallel->num_threads());
  args.scratch_bytes = 0;
  const auto reserve = [&](int64_t bytes) {
    const size_t at = args.scratch_bytes;
    args.scratch_bytes += static_cast<size_t>(bytes + 63) / 64 * 64;
    return at;
  };
  reserve(s.slots * s.slot_bytes);
  s.start_at = reserve(s.Columns() * 4);
  s.scale_at = reserve(s.Columns() * 4);
  if (!s.channels_last) {
    s.x_at = reserve(x.numel());
    s.out_at = reserve(static_cast<int64_t>(result.bytes()));
  }
  constexpr int kFrom[] = {kW, kWZero};
  const bool is_signed = w.dtype == DType::kI8;
  s.packed = args.Pack(kFrom, s.Layout(is_signed), s.PackedSize(), [&](std::byte* packed) {
    const TensorView& zero = args.inputs[kWZero];
    s.Pack({.data = static_cast<const uint8_t*>(args.inputs[kW].data),
            .is_signed = is_signed,
            .zero = static_cast<const uint8_t*>(zero.data),
            .zero_each = zero.numel() > 1},
           packed);
  });
  return s.packed == nullptr ? KernelStatus::OutOfMemory("no memory for packed weights")
                             : KernelStatus::Ok();
}

// What the tasks of one run share.
struct BytesJob {
  const BytesState* s;
  const uint8_t* x;
  std::byte* out;
  const int32_t* start;
  const float* scale;
  int zero;  // of the images as they are copied
  cpu::ByteTileCall call;
  bool takes_fours;

  int64_t size() const { return call.finish.result == ByteResult::kBytes ? 1 : 4; }
};

// Pixels of up to four bytes, `step` bytes apart, as elements; bytes behind the channels are 0.
void CopyNarrowPixels(const uint8_t* from, int64_t step, int64_t channels, uint8_t flip, int64_t n,
                      std::byte* to) {
  uint8_t kept[4] = {}, flipped[4] = {};
  std::fill_n(kept, channels, uint8_t{0xff});
  std::fill_n(flipped, channels, flip);
  uint32_t mask, flips;
  std::memcpy(&mask, kept, sizeof(mask));
  std::memcpy(&flips, flipped, sizeof(flips));
  const int64_t end = (n - 1) * step + channels;  // of what may be read
  for (int64_t i = 0; i < n; ++i) {
    uint32_t pixel = 0;
    if (i * step + 4 <= end) {
      std::memcpy(&pixel, from + i * step, 4);
    } else {
      std::memcpy(&pixel, from + i * step, static_cast<size_t>(end - i * step));
    }
    pixel = (pixel & mask) ^ flips;
    std::memcpy(to + i * 4, &pixel, 4);
  }
}

// Pixels of one row from column `first` on, as tiles read them; null: padding.
void CopyBytePixels(const BytesJob& job, const uint8_t* row, int64_t first, int64_t count,
                    int64_t channel, std::byte* to) {
  const BytesState& s = *job.s;
  const int64_t channels = s.is_depthwise ? s.image.channels : s.group_channels;
  const bool is_wide = !s.is_depthwise && cpu::ActiveByteKernels().depth == 2;
  const uint8_t flip = s.is_signed ? 0x80 : 0;
  const int64_t in = s.image.columns.in;
  const auto fill = [&](int64_t n) {
    for (int64_t i = 0; i < n; ++i, to += s.pixel_bytes) {
      std::memset(to, 0, static_cast<size_t>(s.pixel_bytes));
      if (!is_wide) std::memset(to, job.zero, static_cast<size_t>(channels));
    }
  };
  const int64_t begin = row == nullptr ? count : std::clamp<int64_t>(-first, 0, count);
  const int64_t end = row == nullptr ? count : std::clamp<int64_t>(in - first, begin, count);
  fill(begin);
  if (begin < end) {
    const uint8_t* from = row + (first + begin) * s.image.channels + channel;
    if (!is_wide && flip == 0 && channels == s.image.channels && s.pixel_bytes == channels) {
      std::memcpy(to, from, static_cast<size_t>((end - begin) * s.pixel_bytes));
      to += (end - begin) * s.pixel_bytes;
    } else if (!is_wide && channels <= 4 && s.pixel_bytes == 4) {
      CopyNarrowPixels(from, s.image.channels, channels, flip, end - begin, to);
      to += (end - begin) * s.pixel_bytes;
    } else {
      const cpu::IntegerKernels& convert = cpu::ActiveIntegerKernels();
      const int64_t used = channels * (is_wide ? 2 : 1);
      for (int64_t i = begin; i < end; ++i, from += s.image.channels, to += s.pixel_bytes) {
        if (!is_wide && channels < 8) {
          for (int64_t c = 0; c < channels; ++c) {
            to[c] = static_cast<std::byte>(from[c] ^ flip);
          }
        } else if (is_wide || convert.depth == 4) {
          convert.convert(from, s.is_signed, is_wide ? job.zero : 0, channels, to);
        } else {
          for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<std::byte>(from[c] ^ flip);
        }
        std::memset(to + used, 0, static_cast<size_t>(s.pixel_bytes - used));
      }
    }
  }
  fill(count - end);
}

// Strips of equal length; distances in bytes.
struct ByteStrips {
  const std::byte* x;
  std::byte* out;
  int64_t x_step, out_step, count, width;
};

int64_t BestByteGroup(const ByteKernels& kernels, int64_t width) {
  const auto cost = [&](int64_t group) { return (width + group - 1) / group * (group + 1); };
  int64_t best = 1;
  for (int64_t g = 1; g <= std::min<int64_t>(kernels.max_group, width); ++g) {
    if (cost(g) <= cost(best)) best = g;
  }
  return best;
}

// Panels [first, last) of group g.
void RunByteStrips(const BytesJob& job, const ByteStrips& strips, int64_t g, int64_t first,
                   int64_t last) {
  const BytesState& s = *job.s;
  const ByteKernels& kernels = cpu::ActiveByteKernels();
  const int64_t group = BestByteGroup(kernels, strips.width);
  const int64_t pixel = job.call.pixel_step * 4, out_pixel = job.call.out_step * job.size();
  const std::byte* weights = s.packed.get() + g * s.GroupBytes();
  for (int64_t p = first; p < last; ++p) {
    const int64_t at = s.panels.FirstOf(p), column = g * s.panels.Columns() + at;
    const auto& tiles = kernels.tiles[group - 1];
    const int vectors = s.panels.IsNarrow(p) ? 0 : 1;
    cpu::ByteTile tile;
    tile.weights = weights + at * s.taps * s.elements * 4;
    tile.start = job.start + column;
    tile.scale = job.scale + column;
    tile.zeros = s.CorrectionsOf(s.packed.get()).zeros + column;
    tile.columns = std::min<int64_t>(2 * kernels.lanes, s.group_filters - at);
    int filled = 0;
    for (int64_t strip = 0; strip < strips.count; ++strip) {
      for (int64_t next = 0; next < strips.width; next += group) {
        const int64_t pixels = std::min(next, strips.width - group);  // may be computed twice
        tile.x[filled] = strips.x + strip * strips.x_step + pixels * pixel;
        tile.out[filled] = strips.out + strip * strips.out_step + pixels * out_pixel +
                           (g * s.group_filters + at) * job.size();
        if (++filled == 2) tiles[1][vectors](job.call, tile), filled = 0;
      }
    }
    if (filled == 1) tiles[0][vectors](job.call, tile);
  }
}

void RunChannelRows(const BytesJob& job, const ByteStrips& rows) {
  const BytesState& s = *job.s;
  const ByteKernels& kernels = cpu::ActiveByteKernels();
  cpu::ByteChannels call = {.taps = s.runs.data(),
                            .num_taps = s.taps,
                            .x_step = s.image.columns.stride * s.pixel_bytes,
                            .pixels = rows.width,
                            .channels = s.image.channels,
                            .start = job.start,
                            .scale = job.scale,
                            .finish = job.call.finish};
  call.weights = job.takes_fours ? s.FoursOf(s.packed.get()) : s.packed.get();
  for (int64_t i = 0; i < rows.count; ++i) {
    call.x = reinterpret_cast<const uint8_t*>(rows.x + i * rows.x_step);
    call.out = rows.out + i * rows.out_step;
    (job.takes_fours ? kernels.fours : kernels.channels)(call);
  }
}

// `slot`: null where nothing is copied.
void RunByteTask(const BytesJob& job, int64_t task, std::byte* slot) {
  const BytesState& s = *job.s;
  const cpu::WindowAxis &rows = s.image.rows, &columns = s.image.columns;
  const int64_t split = task % s.splits, of_block = task / s.splits;
  const int64_t groups = s.is_depthwise ? 1 : s.group;
  const int64_t g = of_block % groups, block = of_block / groups;
  bool is_copied = true;
  if (slot != nullptr)
    is_copied = std::exchange(*reinterpret_cast<int64_t*>(slot), of_block) == of_block;
  std::byte* copy = slot == nullptr ? nullptr : slot + cpu::BytesPlan::kCopyAt;
  const int64_t channel = g * s.group_channels;
  ByteStrips strips = {};
  int64_t pixel = 0;  // of the result
  if (s.is_flat) {
    pixel = block * s.block;
    const int64_t total = s.image.batch * s.image.height * s.image.width;
    strips.count = 1, strips.width = std::min(s.block, total - pixel);
    strips.x = reinterpret_cast<const std::byte*>(job.x + pixel * s.image.channels);
    if (slot != nullptr && !is_copied) {
      // As pixels of one row, which are all there.
      for (int64_t i = 0; i < strips.width; ++i) {
        CopyBytePixels(job, job.x + (pixel + i) * s.image.channels, 0, 1, channel,
                       copy + i * s.pixel_bytes);
      }
    }
    if (slot != nullptr) strips.x = copy;
  } else {
    const int64_t n = block / s.blocks_per_image, row = block % s.blocks_per_image * s.block;
    pixel = (n * s.image.height + row) * s.image.width;
    const uint8_t* image = job.x + n * rows.in * columns.in * s.image.channels;
    const int64_t in_row = columns.in * s.image.channels;
    strips.count = std::min(s.block, s.image.height - row), strips.width = s.image.width;
    strips.x_step = rows.stride * s.row_bytes;
    if (slot == nullptr) {
      strips.x = reinterpret_cast<const std::byte*>(image + row * rows.stride * in_row);
    } else {
      const int64_t reach = (rows.kernel - 1) * rows.dilation + 1;
      const int64_t in_rows = (strips.count - 1) * rows.stride + reach;
      for (int64_t i = 0; i < in_rows && !is_copied; ++i) {
        const int64_t at = row * rows.stride - rows.pad_begin + i;
        CopyBytePixels(job, at >= 0 && at < rows.in ? image + at * in_row : nullptr,
                       -columns.pad_begin, s.row_bytes / s.pixel_bytes, channel,
                       copy + i * s.row_bytes);
      }
      strips.x = copy;
    }
  }
  strips.out = job.out + pixel * s.image.filters * job.size();
  strips.out_step = s.image.width * s.image.filters * job.size();
  if (s.is_depthwise) return RunChannelRows(job, strips);
  RunByteStrips(job, strips, g, s.panels.count * split / s.splits,
                s.panels.count * (split + 1) / s.splits);
}

// Where ByteKernels::fours has the number of channel m.
int64_t PlaceInFours(int64_t m) {
  const int64_t in = m % 64;
  return m - in + 16 * (in % 16 / 4) + 4 * (in / 16) + in % 4;
}

// Sets what sums start with, and the scales, for all columns. Sets job.call.finish.fits_int.
void StartSums(const RunArgs& args, const BytesState& s,
               const cpu::BytesPlan::Corrections& corrections, BytesJob& job, int32_t* start,
               float* scale) {
  const bool wide = !s.is_depthwise && cpu::ActiveByteKernels().depth == 2;
  const uint32_t zero = wide ? 0 : static_cast<uint32_t>(job.zero);
  const int32_t* bias = HasOperand(args.inputs, kBias) ? args.inputs[kBias].as<int32_t>() : nullptr;
  const float* scales = HasOperand(args.inputs, kScale) ? args.inputs[kScale].as<float>() : nullptr;
  const bool scale_each = scales != nullptr && args.inputs[kScale].numel() > 1;
  std::fill_n(start, s.Columns(), 0);
  std::fill_n(scale, s.Columns(), 0.0f);
  bool fits = scales != nullptr;
  // Filters whose columns lie side by side.
  const int64_t run = s.is_depthwise ? s.image.filters : s.group_filters;
  for (int64_t first = 0; first < s.image.filters; first += run) {
    const int64_t column = s.ColumnOf(first);
    for (int64_t i = 0; i < run; ++i) {
      const int64_t m = first + i, at = job.takes_fours ? PlaceInFours(m) : column + i;
      const uint32_t begin = bias == nullptr ? 0 : static_cast<uint32_t>(bias[m]);
      const auto sum = static_cast<uint32_t>(corrections.sums[column + i]);
      start[at] = static_cast<int32_t>(begin - zero * sum);
      if (scales == nullptr) continue;
      scale[at] = scales[scale_each ? m : 0];
      fits &= std::abs(scale[at]) < 1;  // of a sum of up to 2^31 as a float
    }
  }
  job.call.finish.fits_int = fits;
}

// [rows, columns] of elements to [columns, rows].
void ReorderImage(const std::byte* x, int64_t rows, int64_t columns, size_t size, std::byte* to) {
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t j = 0; j < rows; ++j) {
      std::memcpy(to, x + static_cast<size_t>(j * columns + i) * size, size);
      to += size;
    }
  }
}

KernelStatus RunByteConv(const RunArgs& args) {
  const auto& s = *static_cast<const BytesState*>(args.state);
  if (s.is_empty) return RefQConv().run(args);
  auto* scratch = static_cast<std::byte*>(args.scratch);
  const TensorView &x = args.inputs[kX], &out = args.outputs[0];
  const size_t size = out.dtype == DType::kI32 || out.dtype == DType::kF32 ? 4 : 1;
  auto* start = reinterpret_cast<int32_t*>(scratch + s.start_at);
  auto* scale = reinterpret_cast<float*>(scratch + s.scale_at);
  const cpu::BytesPlan::Corrections corrections = s.CorrectionsOf(s.packed.get());
  BytesJob job = {};
  job.s = &s;
  job.call = s.call;
  job.call.runs = s.runs.data();
  job.call.has_zeros =
      !s.is_depthwise && cpu::ActiveByteKernels().depth == 4 && *corrections.any != 0;
  job.takes_fours = s.is_depthwise && cpu::ActiveByteKernels().fours != nullptr &&
                    *corrections.any == 0 && s.call.finish.result == ByteResult::kBytes;
  const bool wide = !s.is_depthwise && cpu::ActiveByteKernels().depth == 2;
  job.zero = OneByte(args.inputs[kXZero]) + (s.is_signed && !wide ? 128 : 0);
  if (s.call.finish.result == ByteResult::kBytes) {
    const bool is_signed = out.dtype == DType::kI8;
    const int zero = HasOperand(args.inputs, kOutZero) ? OneByte(args.inputs[kOutZero]) : 0;
    job.call.finish.zero = zero;
    job.call.finish.low = static_cast<float>((is_signed ? -128 : 0) - zero);
    job.call.finish.high = static_cast<float>((is_signed ? 127 : 255) - zero);
  }
  StartSums(args, s, corrections, job, start, scale);
  job.start = start, job.scale = scale;
  job.x = static_cast<const uint8_t*>(x.data);
  job.out = static_cast<std::byte*>(out.data);
  const int64_t in_pixels = s.image.rows.in * s.image.columns.in;
  const int64_t pixels = s.image.height * s.image.width;
  if (!s.channels_last) {
    for (int64_t n = 0; n < s.image.batch; ++n) {
      const int64_t at = n * in_pixels * s.image.channels;
      ReorderImage(reinterpret_cast<const std::byte*>(job.x + at), s.image.channels, in_pixels, 1,
                   scratch + s.x_at + at);
    }
    job.x = reinterpret_cast<const uint8_t*>(scratch + s.x_at);
    job.out = scratch + s.out_at;
  }
  const int64_t tasks = (s.is_flat ? 1 : s.image.batch) * s.blocks_per_image *
                        (s.is_depthwise ? 1 : s.group) * s.splits;
  const auto slot_at = [&](int64_t slot) {
    return s.slot_bytes == 0 ? nullptr : scratch + slot * s.slot_bytes;
  };
  for (int64_t slot = 0; slot < s.slots && s.slot_bytes > 0; ++slot) {
    *reinterpret_cast<int64_t*>(slot_at(slot)) = -1;
  }
  ForRangesInSlots(*args.device->parallel, s.slots, tasks, 1,
                   [&](int64_t slot, int64_t begin, int64_t end) {
                     for (int64_t task = begin; task < end; ++task) {
                       RunByteTask(job, task, slot_at(slot));
                     }
                   });
  if (!s.channels_last) {
    const auto image = static_cast<size_t>(pixels * s.image.filters) * size;
    for (int64_t n = 0; n < s.image.batch; ++n) {
      ReorderImage(job.out + static_cast<size_t>(n) * image, pixels, s.image.filters, size,
                   static_cast<std::byte*>(out.data) + static_cast<size_t>(n) * image);
    }
  }
  return KernelStatus::Ok();
}

std::string SupportsByteConv(const CallSignature& call) {
  const int rank = call.inputs[kX].rank();
  if (rank < 3 || rank > 4) return "needs one or two spatial axes";
  return call.constant_input[kW] && call.constant_input[kWZero]
             ? ""
             : "needs constant filters and zero points";
}

}  // namespace

Kernel CpuQConv() {
  return {.op = "q.conv",
          .name = "cpu.q_conv",
          .priority = 10,
          .run = RunByteConv,
          .prepare = PrepareByteConv,
          .supports = SupportsByteConv,
          .packs_once = true};
}

}  // namespace tenon::kernels
