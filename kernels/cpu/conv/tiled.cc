// Convolution of images with channels last as a matrix product of windows and filters, without
// copying windows where they lie in the image (or in a padded copy of some of its rows) with a
// fixed step between neighbouring pixels: nn.conv and fused.conv of one group.
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu/ceil_div.h"
#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/tile.h"
#include "kernels/cpu/conv/tiled_plan.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/parallel_slots.h"

namespace tenon::kernels {
namespace {

using cpu::CeilDiv;
using cpu::ConvTile;
using cpu::TileCall;
using cpu::TileKernels;
using cpu::TileSource;

struct TiledState : KernelState, cpu::TiledPlan {
  Activation rest;         // applied to the finished block
  size_t weights_at = 0;   // in the scratch; where packed is null
  PackedBytes packed;      // null: the weights are not constant
  bool reference = false;  // nothing to compute, or no channels
};

size_t PackedSize(const TiledState& s) {
  return static_cast<size_t>(s.depth * s.panels.Columns()) * sizeof(float);
}

// From [filters, channels, window…] to panels [window…, channels, columns], columns past the last
// filter 0.
void PackPanels(const TiledState& s, const float* w, float* packed) {
  const int64_t channels = s.image.channels;
  const int64_t window = s.image.rows.kernel * s.image.columns.kernel;
  for (int64_t p = 0; p < s.panels.count; ++p) {
    const int64_t columns = s.panels.ColumnsOf(p);
    for (int64_t i = 0; i < window; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t filter = s.panels.FirstOf(p) + j;
          *packed++ = filter < s.image.filters ? w[(filter * channels + c) * window + i] : 0;
        }
      }
    }
  }
}

template <typename Attrs>
KernelStatus Prepare(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  const TensorView& w = args.inputs[1];
  auto state = std::make_shared<TiledState>();
  out = state;
  TiledState& s = *state;
  s.reference = args.outputs[0].numel() == 0 || w.numel() == 0;
  if (s.reference) return KernelStatus::Ok();
  s.image = cpu::GeometryOf(attrs, args);
  const cpu::SplitActivation split = cpu::Split(ToActivation(attrs));
  s.call.activation = split.loop;
  s.rest = split.rest;
  const TileKernels& kernels = cpu::Tiles();
  s.depth = w.numel() / w.shape[0];
  const double flops =
      2.0 * static_cast<double>(args.outputs[0].numel()) * static_cast<double>(s.depth);
  s.Choose(kernels, cpu::ThreadsFor(flops, *args.device), flops);
  args.scratch_bytes = static_cast<size_t>(s.slots * s.slot_bytes);
  const size_t bytes = PackedSize(s);
  if (w.data == nullptr) {
    s.weights_at = args.scratch_bytes;
    args.scratch_bytes += bytes;
    return KernelStatus::Ok();
  }
  const int inputs[] = {1};
  s.packed = args.Pack(inputs, s.panels.Layout("conv.tiled"), bytes, [&](std::byte* to) {
    PackPanels(s, w.as<float>(), reinterpret_cast<float*>(to));
  });
  if (s.packed == nullptr) return KernelStatus::Internal("no memory for packed weights");
  return KernelStatus::Ok();
}

// `columns` pixels of row `row` of the image from column `first` on, which may lie outside; those
// are 0. They go to `to`, `step` elements apart.
void CopyRow(const cpu::ImageGeometry& image, const float* x, int64_t row, int64_t first,
             int64_t columns, float* to, int64_t step) {
  const int64_t channels = image.channels;
  const auto bytes = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
  const bool has_row = row >= 0 && row < image.rows.in;
  const int64_t begin = has_row ? std::clamp<int64_t>(-first, 0, columns) : columns;
  const int64_t end = std::clamp<int64_t>(image.columns.in - first, begin, columns);
  std::memset(to, 0, bytes(begin * step));
  std::memset(to + end * step, 0, bytes((columns - end) * step));
  const float* from = x + (row * image.columns.in + first + begin) * channels;
  to += begin * step;
  if (step == channels) {
    if (begin < end) std::memcpy(to, from, bytes((end - begin) * channels));
    return;
  }
  for (int64_t i = begin; i < end; ++i, to += step, from += channels) {
    std::memcpy(to, from, bytes(channels));
  }
}

// The windows of pixels [first, first + count) of the batch behind each other.
void GatherWindows(const TiledState& s, const float* x, int64_t first, int64_t count, float* to) {
  const cpu::WindowAxis &rows = s.image.rows, &columns = s.image.columns;
  const int64_t plane = s.image.height * s.image.width, channels = s.image.channels;
  const int64_t in_size = rows.in * columns.in * channels;
  for (int64_t p = first; p < first + count; ++p, to += s.call.pixel_step) {
    const float* from = x + p / plane * in_size;
    const int64_t row = p % plane / s.image.width * rows.stride - rows.pad_begin;
    const int64_t column = p % s.image.width * columns.stride - columns.pad_begin;
    for (int64_t i = 0; i < rows.kernel; ++i) {
      for (int64_t j = 0; j < columns.kernel; ++j) {
        CopyRow(s.image, from, row + i * rows.dilation, column + j * columns.dilation, 1,
                to + (i * columns.kernel + j) * channels, channels);
      }
    }
  }
}

// Equally long strips of pixels: in the input, `stride` elements apart; in the result, behind each
// other.
struct Strips {
  const float* x;
  int64_t stride, count, width;
};

// What the tasks of one run share.
struct Job {
  const TiledState* s;
  const TileKernels* kernels;
  const float *weights, *bias, *residual;
  float* out;

  ConvTile Panel(int64_t p) const {
    const int64_t width = 2 * kernels->lanes;
    ConvTile tile = {};
    tile.weights = weights + p * s->depth * width;
    tile.bias = bias == nullptr ? nullptr : bias + p * width;
    tile.columns = std::min(width, s->image.filters - p * width);
    return tile;
  }

  void Place(ConvTile& tile, int group, const float* x, int64_t pixel, int64_t panel) const {
    const int64_t at = pixel * s->image.filters + panel * 2 * kernels->lanes;
    tile.x[group] = x;
    tile.out[group] = out + at;
    if (residual != nullptr) tile.residual[group] = residual + at;
  }
};

// Strips shorter than a group: pixel by pixel.
void RunPixels(const Job& job, const Strips& strips, int64_t pixel, int64_t first, int64_t last) {
  const TileKernels& kernels = *job.kernels;
  for (int64_t i = 0; i < strips.count * strips.width; ++i) {
    const float* x =
        strips.x + i / strips.width * strips.stride + i % strips.width * job.s->call.pixel_step;
    for (int64_t p = first; p < last;) {
      ConvTile tile = job.Panel(p);
      job.Place(tile, 0, x, pixel + i, p);
      if (job.s->panels.IsNarrow(p)) {
        kernels.narrow_row(job.s->call, tile), ++p;
      } else if (p + 4 <= last && !job.s->panels.IsNarrow(p + 3)) {
        tile.columns =
            std::min<int64_t>(8 * kernels.lanes, job.s->image.filters - p * 2 * kernels.lanes);
        kernels.four_wide_rows(job.s->call, tile), p += 4;
      } else {
        kernels.wide_row(job.s->call, tile), ++p;
      }
    }
  }
}

// A group from `pixel` on whose first `done` pixels have been computed in the place of the
// residual, which they no longer find there.
void RunAgain(const Job& job, const ConvTile& like, int group, int vectors, const float* x,
              int64_t pixel, int64_t done, int64_t panel) {
  constexpr int64_t kMostLanes = 16, kMostPixels = 7;
  float sums[kMostPixels * 2 * kMostLanes];
  const int64_t step = 2 * job.kernels->lanes;
  TileCall call = job.s->call;
  call.out_step = step;
  ConvTile tile = like;
  job.Place(tile, 0, x, pixel, panel);
  const float* residual = tile.residual[0];
  float* out = tile.out[0];
  const auto bytes = static_cast<size_t>(tile.columns) * sizeof(float);
  for (int64_t i = 0; i < group; ++i) {
    std::memcpy(sums + i * step, residual + i * job.s->call.out_step, bytes);
  }
  tile.repeat = 1;
  tile.residual[0] = tile.out[0] = sums;
  job.kernels->tiles[group - job.kernels->min_group][0][vectors](call, tile);
  for (int64_t i = done; i < group; ++i) {
    std::memcpy(out + i * job.s->call.out_step, sums + i * step, bytes);
  }
}

// Panels [first, last) of strips that begin at `pixel` of the result.
void RunStrips(const Job& job, const Strips& strips, int64_t pixel, int64_t first, int64_t last) {
  const TileKernels& kernels = *job.kernels;
  if (strips.width < kernels.min_group) return RunPixels(job, strips, pixel, first, last);
  const int64_t group = cpu::BestGroup(kernels, strips.width);
  const auto& tiles = kernels.tiles[group - kernels.min_group];
  const bool is_in_place = job.residual == job.out;
  // While one panel is used, the next comes into the second-level cache.
  const int64_t tiles_of_panel = CeilDiv(strips.count * CeilDiv(strips.width, group), 2);
  for (int64_t p = first; p < last; ++p) {
    ConvTile tile = job.Panel(p);
    const int vectors = job.s->panels.IsNarrow(p) ? 0 : 1;
    tile.next =
        reinterpret_cast<const char*>(job.Panel(std::min(p + 1, job.s->panels.count - 1)).weights);
    tile.next_step =
        CeilDiv(2 * kernels.lanes * static_cast<int64_t>(sizeof(float)), tiles_of_panel);
    int filled = 0;
    const int64_t pairs = strips.width / (2 * group);
    const auto run = [&](int groups, int64_t repeat) {
      tile.repeat = repeat;
      tiles[groups - 1][vectors](job.s->call, tile);
      tile.next += tile.next_step * job.s->depth * repeat;
    };
    for (int64_t strip = 0; strip < strips.count; ++strip) {
      const float* x = strips.x + strip * strips.stride;
      const int64_t first_pixel = pixel + strip * strips.width, step = job.s->call.pixel_step;
      int64_t column = 0;
      if (filled == 0 && pairs > 0) {
        job.Place(tile, 0, x, first_pixel, p);
        job.Place(tile, 1, x + group * step, first_pixel + group, p);
        run(2, pairs);
        column = 2 * group * pairs;
      }
      for (; column < strips.width; column += group) {
        const int64_t at = std::min(column, strips.width - group);
        if (at < column && is_in_place) {
          RunAgain(job, tile, static_cast<int>(group), vectors, x + at * step, first_pixel + at,
                   column - at, p);
          break;
        }
        job.Place(tile, filled, x + at * step, first_pixel + at, p);
        if (++filled == 2) {
          run(2, 1);
          filled = 0;
        }
      }
    }
    if (filled == 1) run(1, 1);
  }
}

// `slot`: null where nothing is copied.
void RunTask(const Job& job, const float* x, int64_t task, std::byte* slot) {
  const TiledState& s = *job.s;
  const int64_t block = task / s.splits, split = task % s.splits;
  bool is_copied = true;
  float* copy = nullptr;
  if (slot != nullptr) {
    auto& copied = *reinterpret_cast<int64_t*>(slot);
    is_copied = std::exchange(copied, block) == block;
    copy = reinterpret_cast<float*>(slot + cpu::TiledPlan::kCopyAt);
  }
  const int64_t first = s.panels.count * split / s.splits,
                last = s.panels.count * (split + 1) / s.splits;
  const cpu::WindowAxis &rows = s.image.rows, &columns = s.image.columns;
  int64_t pixel = 0;
  Strips strips = {};
  if (s.is_one_strip()) {
    pixel = block * s.block;
    const int64_t total = s.image.batch * s.image.height * s.image.width;
    strips = {x + pixel * s.depth, 0, 1, std::min(s.block, total - pixel)};
    if (s.source == TileSource::kGather) {
      if (!is_copied) GatherWindows(s, x, pixel, strips.width, copy);
      strips.x = copy;
    }
  } else {
    const int64_t n = block / s.blocks_per_image;
    const int64_t row = block % s.blocks_per_image * s.block;
    pixel = (n * s.image.height + row) * s.image.width;
    const float* image = x + n * rows.in * columns.in * s.image.channels;
    const int64_t count = std::min(s.block, s.image.height - row);
    if (s.source == TileSource::kImage) {
      const int64_t step = rows.stride * columns.in * s.image.channels;
      strips = {image + row * step, step, count, s.image.width};
    } else {
      const int64_t in_rows = (count - 1) * rows.stride + cpu::Reach(rows);
      const int64_t size = s.padded_width * s.copied_pixel;
      for (int64_t i = 0; i < in_rows && !is_copied; ++i) {
        CopyRow(s.image, image, row * rows.stride - rows.pad_begin + i, -columns.pad_begin,
                s.padded_width, copy + i * size, s.copied_pixel);
      }
      strips = {copy, rows.stride * size, count, s.image.width};
    }
  }
  RunStrips(job, strips, pixel, first, last);
  if (s.rest.kind == ActivationKind::kNone) return;
  const int64_t filters = s.image.filters, pixels = strips.count * strips.width;
  float* out = job.out + pixel * filters;
  if (s.splits == 1) return cpu::ActivateInPlace(s.rest, out, pixels * filters);
  const int64_t begin = first * 2 * job.kernels->lanes;
  const int64_t end = std::min(filters, last * 2 * job.kernels->lanes);
  for (int64_t i = 0; i < pixels; ++i) {
    cpu::ActivateInPlace(s.rest, out + i * filters + begin, end - begin);
  }
}

KernelStatus Run(const RunArgs& args) {
  const auto& s = *static_cast<TiledState*>(args.state);
  const TileKernels& kernels = cpu::Tiles();
  Job job = {};
  job.s = &s;
  job.kernels = &kernels;
  job.out = args.outputs[0].as<float>();
  if (cpu::Present(args.inputs, 2)) job.bias = args.inputs[2].as<float>();
  if (cpu::Present(args.inputs, 3)) job.residual = args.inputs[3].as<float>();
  auto* scratch = static_cast<std::byte*>(args.scratch);
  if (s.packed != nullptr) {
    job.weights = reinterpret_cast<const float*>(s.packed.get());
  } else {
    auto* packed = reinterpret_cast<float*>(scratch + s.weights_at);
    PackPanels(s, args.inputs[1].as<float>(), packed);
    job.weights = packed;
  }
  const float* x = args.inputs[0].as<float>();
  const int64_t tasks = (s.is_one_strip() ? 1 : s.image.batch) * s.blocks_per_image * s.splits;
  const auto slot_at = [&](int64_t slot) {
    return s.slot_bytes == 0 ? nullptr : scratch + slot * s.slot_bytes;
  };
  for (int64_t slot = 0; slot < s.slots && s.slot_bytes > 0; ++slot) {
    *reinterpret_cast<int64_t*>(slot_at(slot)) = -1;
  }
  ForRangesInSlots(*args.device->parallel, s.slots, tasks, 1,
                   [&](int64_t slot, int64_t begin, int64_t end) {
                     for (int64_t task = begin; task < end; ++task) {
                       RunTask(job, x, task, slot_at(slot));
                     }
                   });
  return KernelStatus::Ok();
}

KernelStatus Conv(const RunArgs& args) {
  return static_cast<TiledState*>(args.state)->reference ? RefConv().run(args) : Run(args);
}

KernelStatus FusedConv(const RunArgs& args) {
  return static_cast<TiledState*>(args.state)->reference ? RefFusedConv().run(args) : Run(args);
}

template <typename Attrs>
std::string Supports(const CallSignature& call) {
  if (static_cast<const Attrs*>(call.attrs)->group != 1) return "needs one group";
  return cpu::RequireImages<Attrs>(call);
}

}  // namespace

Kernel CpuConvTiled() {
  return {.op = "nn.conv",
          .name = "cpu.conv.tiled",
          .priority = 20,
          .run = Conv,
          .prepare = Prepare<nn::ConvAttrs>,
          .supports = Supports<nn::ConvAttrs>,
          .packs_once = true};
}

Kernel CpuFusedConvTiled() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.tiled",
          .priority = 20,
          .run = FusedConv,
          .prepare = Prepare<fused::ConvAttrs>,
          .supports = Supports<fused::ConvAttrs>,
          .inplace_mask = 8,  // the residual
          .packs_once = true};
}

}  // namespace tenon::kernels
