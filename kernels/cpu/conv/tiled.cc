// Convolution of images with channels last as a matrix product of windows and filters, without
// copying windows where they lie in the image (or in a padded copy of some of its rows) with a
// fixed step between neighbouring pixels: nn.conv and fused.conv of one group.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/finite.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/image_rows.h"
#include "kernels/cpu/conv/strips.h"
#include "kernels/cpu/conv/tile.h"
#include "kernels/cpu/conv/tiled_plan.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

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
KernelStatus PrepareTiled(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
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
  if (s.packed == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
  return KernelStatus::Ok();
}

// The windows of pixels [first, first + count) of the batch behind each other.
void GatherWindows(const TiledState& s, const float* x, int64_t first, int64_t count, float* to) {
  const cpu::WindowAxis &rows = s.image.rows, &columns = s.image.columns;
  const int64_t plane = s.image.height * s.image.width, channels = s.image.channels;
  const int64_t in_size = rows.in * columns.in * channels;
  const cpu::ImageExtents image = {rows.in, columns.in, channels};
  for (int64_t p = first; p < first + count; ++p, to += s.call.pixel_step) {
    const float* from = x + p / plane * in_size;
    const int64_t row = p % plane / s.image.width * rows.stride - rows.pad_begin;
    const int64_t column = p % s.image.width * columns.stride - columns.pad_begin;
    for (int64_t i = 0; i < rows.kernel; ++i) {
      for (int64_t j = 0; j < columns.kernel; ++j) {
        CopyRow(image, from, row + i * rows.dilation, column + j * columns.dilation, 1,
                to + (i * columns.kernel + j) * channels, channels);
      }
    }
  }
}

// What the tasks of one run share.
struct TiledJob {
  const TiledState* s;
  cpu::StripFilters filters;  // all but the call
  const float* residual;
  float* out;

  // Strips of the result from `pixel` on, and the panels [first, last) of them.
  void Run(const cpu::TiledRegion& region, cpu::Strips strips, int64_t pixel, int64_t first,
           int64_t last) const {
    const int64_t at = pixel * s->image.filters;
    strips.out = out + at;
    strips.residual = residual == nullptr ? nullptr : residual + at;
    strips.out_step = s->image.width * s->image.filters;
    cpu::StripFilters of_region = filters;
    of_region.call = &region.call;
    RunStrips(of_region, strips, first, last);
  }
};

// Rows [row, row + count) of an image of the result, whose first pixel is `pixel`; `rows` says
// where they read.
void RunRegions(const TiledJob& job, const cpu::Strips& rows, int64_t row, int64_t count,
                int64_t pixel, int64_t first, int64_t last) {
  for (const cpu::TiledRegion& region : job.s->regions) {
    const int64_t begin = std::max(region.rows.first, row);
    const int64_t end = std::min(region.rows.end, row + count);
    if (begin >= end) continue;
    cpu::Strips strips = rows;
    strips.x += (begin - row) * rows.x_step + region.columns.first * job.s->call.pixel_step;
    strips.count = end - begin;
    strips.width = region.columns.end - region.columns.first;
    job.Run(region, strips, pixel + (begin - row) * job.s->image.width + region.columns.first,
            first, last);
  }
}

// `slot`: null where nothing is copied.
void RunTask(const TiledJob& job, const float* x, int64_t task, std::byte* slot) {
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
  int64_t pixel = 0, pixels = 0;
  cpu::Strips strips = {};
  if (s.is_one_strip()) {
    pixel = block * s.block;
    const int64_t total = s.image.batch * s.image.height * s.image.width;
    strips.x = x + pixel * s.depth;
    strips.count = 1;
    strips.width = pixels = std::min(s.block, total - pixel);
    if (s.source == TileSource::kGather) {
      if (!is_copied) GatherWindows(s, x, pixel, strips.width, copy);
      strips.x = copy;
    }
    job.Run(s.regions.front(), strips, pixel, first, last);
  } else {
    const int64_t n = block / s.blocks_per_image;
    const int64_t row = block % s.blocks_per_image * s.block;
    pixel = (n * s.image.height + row) * s.image.width;
    const float* image = x + n * rows.in * columns.in * s.image.channels;
    const int64_t count = std::min(s.block, s.image.height - row);
    pixels = count * s.image.width;
    if (s.source == TileSource::kImage) {
      strips.x_step = rows.stride * columns.in * s.image.channels;
      strips.x = image + row * strips.x_step;
    } else {
      const int64_t in_rows = (count - 1) * rows.stride + cpu::Reach(rows);
      const int64_t size = s.padded_width * s.copied_pixel;
      const cpu::ImageExtents extents = {rows.in, columns.in, s.image.channels};
      for (int64_t i = 0; i < in_rows && !is_copied; ++i) {
        CopyRow(extents, image, row * rows.stride - rows.pad_begin + i, -columns.pad_begin,
                s.padded_width, copy + i * size, s.copied_pixel);
      }
      strips.x = copy;
      strips.x_step = rows.stride * size;
    }
    RunRegions(job, strips, row, count, pixel, first, last);
  }
  if (s.rest.kind == ActivationKind::kNone) return;
  const int64_t filters = s.image.filters;
  float* out = job.out + pixel * filters;
  if (s.splits == 1) return cpu::ActivateInPlace(s.rest, out, pixels * filters);
  const int64_t begin = s.panels.FirstOf(first), end = std::min(filters, s.panels.FirstOf(last));
  for (int64_t i = 0; i < pixels; ++i) {
    cpu::ActivateInPlace(s.rest, out + i * filters + begin, end - begin);
  }
}

KernelStatus RunTiled(const RunArgs& args) {
  const auto& s = *static_cast<TiledState*>(args.state);
  TiledJob job = {};
  job.s = &s;
  job.filters = {.kernels = &cpu::Tiles(), .panels = &s.panels, .depth = s.depth};
  job.out = args.outputs[0].as<float>();
  if (cpu::Present(args.inputs, 2)) job.filters.bias = args.inputs[2].as<float>();
  if (cpu::Present(args.inputs, 3)) job.residual = args.inputs[3].as<float>();
  auto* scratch = static_cast<std::byte*>(args.scratch);
  if (s.packed != nullptr) {
    job.filters.weights = reinterpret_cast<const float*>(s.packed.get());
  } else {
    auto* packed = reinterpret_cast<float*>(scratch + s.weights_at);
    PackPanels(s, args.inputs[1].as<float>(), packed);
    job.filters.weights = packed;
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

bool NeedsReference(const RunArgs& args) {
  const auto& s = *static_cast<TiledState*>(args.state);
  return s.reference || (s.packed == nullptr && cpu::HasNonfiniteWeights(args));
}

KernelStatus ConvTiled(const RunArgs& args) {
  return NeedsReference(args) ? RefConv().run(args) : RunTiled(args);
}

KernelStatus FusedConvTiled(const RunArgs& args) {
  return NeedsReference(args) ? RefFusedConv().run(args) : RunTiled(args);
}

template <typename Attrs>
std::string SupportsTiled(const CallSignature& call) {
  if (static_cast<const Attrs*>(call.attrs)->group != 1) return "needs one group";
  return cpu::RequireImages<Attrs>(call);
}

}  // namespace

Kernel CpuConvTiled() {
  return {.op = "nn.conv",
          .name = "cpu.conv.tiled",
          .priority = 20,
          .run = ConvTiled,
          .prepare = PrepareTiled<nn::ConvAttrs>,
          .supports = SupportsTiled<nn::ConvAttrs>,
          .packs_once = true};
}

Kernel CpuFusedConvTiled() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.tiled",
          .priority = 20,
          .run = FusedConvTiled,
          .prepare = PrepareTiled<fused::ConvAttrs>,
          .supports = SupportsTiled<fused::ConvAttrs>,
          .inplace_mask = 8,  // the residual
          .packs_once = true};
}

}  // namespace tenon::kernels
