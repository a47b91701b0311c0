// Transposed convolution of images with channels last, phase by phase (transposed_plan.h), in the
// tiles of cpu.conv.tiled: nn.conv_transpose and fused.conv_transpose of one group.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/ceil_div.h"
#include "kernels/calls/image_layout.h"
#include "kernels/cpu/conv/finite.h"
#include "kernels/cpu/conv/image_rows.h"
#include "kernels/cpu/conv/strips.h"
#include "kernels/cpu/conv/transposed_plan.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

using cpu::AxisPhase;
using cpu::StripFilters;
using cpu::Strips;
using cpu::TransposedAxis;
using cpu::TransposedPhase;
using cpu::TransposedPlan;
using cpu::TransposedSource;

struct TransposedState : KernelState, TransposedPlan {
  Activation rest;         // applied to what has been computed
  size_t bias_at = 0;      // in the scratch: the bias once for each joined phase
  size_t weights_at = 0;   // in the scratch; where packed is null
  PackedBytes packed;      // null: the weights are not constant
  bool reference = false;  // nothing to compute, or no channels
};

// From [channels, filters, window…] to the panels of each phase: [taps…, channels, columns], whose
// columns are the filters of joined phases behind each other, those past the last 0.
void PackPhases(const TransposedState& s, const float* w, float* packed) {
  const int64_t window = s.rows.kernel * s.columns.kernel;
  for (const TransposedPhase& phase : s.phases) {
    const size_t across = phase.columns->taps[0].size();
    for (int64_t p = 0; p < phase.panels.count; ++p) {
      const int64_t width = phase.panels.ColumnsOf(p), first = phase.panels.FirstOf(p);
      for (const cpu::TransposedTap& down : phase.rows->taps[0]) {
        for (size_t a = 0; a < across; ++a) {
          for (int64_t c = 0; c < s.channels; ++c) {
            for (int64_t j = first; j < first + width; ++j, ++packed) {
              const int64_t joined = j / s.filters;
              if (joined >= phase.columns->joined) {
                *packed = 0;
                continue;
              }
              const int64_t element = phase.columns->taps[static_cast<size_t>(joined)][a].element;
              *packed = w[(c * s.filters + j % s.filters) * window +
                          down.element * s.columns.kernel + element];
            }
          }
        }
      }
    }
  }
}

// What panels depend on: the elements of the window in each phase that has any.
void DescribePhases(const std::vector<AxisPhase>& phases, std::string& text) {
  for (const AxisPhase& phase : phases) {
    text += phase.joined > 1 ? '+' : '|';
    for (const auto& taps : phase.taps) {
      for (const cpu::TransposedTap& tap : taps)
        fmt::format_to(std::back_inserter(text), "{},", tap.element);
      text += ';';
    }
  }
}

std::string LayoutOf(const TransposedState& s, int lanes) {
  std::string text = fmt::format("conv_transpose:{}:{}x{}:{}x{}:", lanes, s.filters, s.channels,
                                 s.rows.kernel, s.columns.kernel);
  DescribePhases(s.row_phases, text);
  text += 'x';
  DescribePhases(s.column_phases, text);
  return text;
}

// REQUIRES: one or two spatial axes; a single one counts as columns of one row.
template <typename Attrs>
void SetGeometry(const Attrs& attrs, const PrepareArgs& args, TransposedPlan& plan) {
  const ImageLayout layout(true);
  const DimSpan x = args.inputs[0].shape, out = args.outputs[0].shape;
  const DimSpan in = layout.Spatial(x), result = layout.Spatial(out);
  const DimSpan kernel = args.inputs[1].shape.subspan(2);
  const auto axis = [&](size_t i) -> TransposedAxis {
    return {kernel[i], attrs.strides[i], attrs.dilations[i], attrs.pads[i], in[i], result[i]};
  };
  plan.batch = x[0];
  plan.channels = x.back();
  plan.filters = out.back();
  const size_t last = in.size() - 1;
  plan.rows = last == 0 ? TransposedAxis{1, 1, 1, 0, 1, 1} : axis(0);
  plan.columns = axis(last);
}

template <typename Attrs>
KernelStatus PrepareTransposed(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  const TensorView &x = args.inputs[0], &w = args.inputs[1];
  auto state = std::make_shared<TransposedState>();
  out = state;
  TransposedState& s = *state;
  s.reference = args.outputs[0].numel() == 0 || x.numel() == 0 || w.numel() == 0;
  if (s.reference) return KernelStatus::Ok();
  SetGeometry(attrs, args, s);
  const cpu::SplitActivation split = cpu::Split(ToActivation(attrs));
  s.rest = split.rest;
  const cpu::TileKernels& kernels = cpu::Tiles();
  const double flops =
      2.0 * static_cast<double>(x.numel()) * static_cast<double>(w.numel() / w.shape[0]);
  s.Choose(kernels, cpu::ThreadsFor(flops, *args.device));
  for (TransposedPhase& phase : s.phases) phase.call.activation = split.loop;
  s.bias_at = static_cast<size_t>(s.slots * s.slot_bytes);
  s.weights_at = s.bias_at;
  if (s.most_joined > 1 && cpu::Present(args.inputs, 2)) {
    s.weights_at += static_cast<size_t>(CeilDiv(s.most_joined * s.filters, 16) * 64);
  }
  args.scratch_bytes = s.weights_at;
  const size_t bytes = static_cast<size_t>(s.weights_size) * sizeof(float);
  if (w.data == nullptr) {
    args.scratch_bytes += bytes;
    return KernelStatus::Ok();
  }
  const int inputs[] = {1};
  s.packed = args.Pack(inputs, LayoutOf(s, kernels.lanes), bytes, [&](std::byte* to) {
    PackPhases(s, w.as<float>(), reinterpret_cast<float*>(to));
  });
  if (s.packed == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
  return KernelStatus::Ok();
}

// What the tasks of one run share.
struct TransposedJob {
  const TransposedState* s;
  const float *x, *weights, *bias;
  float* out;

  StripFilters FiltersOf(const TransposedPhase& phase) const {
    return {.kernels = &cpu::Tiles(),
            .call = &phase.call,
            .panels = &phase.panels,
            .depth = phase.depth,
            .weights = weights + phase.weights_at,
            .bias = bias};
  }
  float* ImageOf(int64_t n) const { return out + n * s->rows.out * s->columns.out * s->filters; }
  // Where result (i, 0) of a phase lies in an image of the result.
  int64_t RowOf(const TransposedPhase& phase, int64_t i) const {
    const int64_t row = phase.rows->first + i * s->row_step;
    return (row * s->columns.out + phase.columns->first) * s->filters;
  }
  cpu::ImageExtents extents() const { return {s->rows.in, s->columns.in, s->channels}; }
};

// The panels [first, last) of strips, and what loops leave of the activation.
void RunPhase(const TransposedJob& job, const TransposedPhase& phase, const Strips& strips,
              int64_t first, int64_t last) {
  RunStrips(job.FiltersOf(phase), strips, first, last);
  if (job.s->rest.kind == ActivationKind::kNone) return;
  const int64_t begin = phase.panels.FirstOf(first);
  const int64_t end = std::min(phase.panels.filters, phase.panels.FirstOf(last));
  for (int64_t i = 0; i < strips.count; ++i) {
    for (int64_t j = 0; j < strips.width; ++j) {
      cpu::ActivateInPlace(job.s->rest,
                           strips.out + i * strips.out_step + j * phase.call.out_step + begin,
                           end - begin);
    }
  }
}

// f(phase, first, last) for the panels of each phase among units [begin, end).
template <typename F>
void ForPhases(const TransposedState& s, int64_t begin, int64_t end, F&& f) {
  for (const TransposedPhase& phase : s.phases) {
    const int64_t first = std::max<int64_t>(begin - phase.first_unit, 0);
    const int64_t last = std::min(end - phase.first_unit, phase.panels.count);
    if (first < last) f(phase, first, last);
  }
}

// The windows of pixels [first, first + count) of a phase, of all images, behind each other.
void GatherWindows(const TransposedJob& job, const TransposedPhase& phase, int64_t first,
                   int64_t count, float* to) {
  const TransposedState& s = *job.s;
  const int64_t width = phase.columns->count, plane = phase.rows->count * width;
  for (int64_t p = first; p < first + count; ++p, to += phase.call.pixel_step) {
    const float* image = job.x + p / plane * s.rows.in * s.columns.in * s.channels;
    float* tap = to;
    for (const cpu::TransposedTap& down : phase.rows->taps[0]) {
      for (const cpu::TransposedTap& across : phase.columns->taps[0]) {
        CopyRow(job.extents(), image, p % plane / width + down.offset, p % width + across.offset, 1,
                tap, s.channels);
        tap += s.channels;
      }
    }
  }
}

void RunGathered(const TransposedJob& job, int64_t task, std::byte* slot) {
  const TransposedState& s = *job.s;
  auto* windows = reinterpret_cast<float*>(slot + TransposedPlan::kCopyAt);
  auto* sums = reinterpret_cast<float*>(slot + s.gathered_out);
  ForPhases(s, s.units * task / s.splits, s.units * (task + 1) / s.splits,
            [&](const TransposedPhase& phase, int64_t first, int64_t last) {
              const int64_t width = phase.columns->count, plane = phase.rows->count * width;
              const int64_t total = s.batch * plane;
              const int64_t begin = phase.panels.FirstOf(first);
              const int64_t end = std::min(phase.panels.filters, phase.panels.FirstOf(last));
              for (int64_t pixel = 0; pixel < total; pixel += s.block) {
                const int64_t count = std::min(s.block, total - pixel);
                GatherWindows(job, phase, pixel, count, windows);
                Strips strips = {};
                strips.x = windows;
                strips.out = sums;
                strips.count = 1;
                strips.width = count;
                RunPhase(job, phase, strips, first, last);
                for (int64_t p = pixel; p < pixel + count; ++p) {
                  float* to = job.ImageOf(p / plane) + job.RowOf(phase, p % plane / width) +
                              p % width * s.column_step * s.filters;
                  std::memcpy(to + begin, sums + (p - pixel) * phase.call.out_step + begin,
                              static_cast<size_t>(end - begin) * sizeof(float));
                }
              }
            });
}

// `slot`: null where nothing is copied.
void RunRows(const TransposedJob& job, int64_t task, std::byte* slot) {
  const TransposedState& s = *job.s;
  const int64_t block = task / s.splits, split = task % s.splits;
  const int64_t n = block / s.blocks_per_image, row = block % s.blocks_per_image * s.block;
  const int64_t row_size = s.width * s.pixel;
  const float* image = job.x + n * s.rows.in * s.columns.in * s.channels;
  const float* x = image + row * row_size;
  if (slot != nullptr) {
    auto* copy = reinterpret_cast<float*>(slot + TransposedPlan::kCopyAt);
    auto& copied = *reinterpret_cast<int64_t*>(slot);
    const int64_t rows = s.block + s.rows_before + s.rows_behind;
    for (int64_t i = 0; i < rows && copied != block; ++i) {
      CopyRow(job.extents(), image, row - s.rows_before + i, -s.columns_before, s.width,
              copy + i * row_size, s.pixel);
    }
    copied = block;
    x = copy;
  }
  ForPhases(s, s.units * split / s.splits, s.units * (split + 1) / s.splits,
            [&](const TransposedPhase& phase, int64_t first, int64_t last) {
              Strips strips = {};
              strips.x = x;
              strips.x_step = row_size;
              strips.out = job.ImageOf(n) + job.RowOf(phase, row);
              strips.out_step = s.row_step * s.columns.out * s.filters;
              strips.count = std::min(s.block, phase.rows->count - row);
              strips.width = phase.columns->count;
              if (strips.count > 0) RunPhase(job, phase, strips, first, last);
            });
}

KernelStatus RunTransposed(const RunArgs& args) {
  const auto& s = *static_cast<TransposedState*>(args.state);
  auto* scratch = static_cast<std::byte*>(args.scratch);
  TransposedJob job = {};
  job.s = &s;
  job.x = args.inputs[0].as<float>();
  job.out = args.outputs[0].as<float>();
  if (cpu::Present(args.inputs, 2)) {
    job.bias = args.inputs[2].as<float>();
    if (s.most_joined > 1) {
      auto* joined = reinterpret_cast<float*>(scratch + s.bias_at);
      for (int64_t i = 0; i < s.most_joined; ++i) {
        std::copy_n(job.bias, s.filters, joined + i * s.filters);
      }
      job.bias = joined;
    }
  }
  if (s.packed != nullptr) {
    job.weights = reinterpret_cast<const float*>(s.packed.get());
  } else {
    auto* packed = reinterpret_cast<float*>(scratch + s.weights_at);
    PackPhases(s, args.inputs[1].as<float>(), packed);
    job.weights = packed;
  }
  const bool gathers = s.source == TransposedSource::kGather;
  const int64_t tasks = (gathers ? 1 : s.batch * s.blocks_per_image) * s.splits;
  const auto slot_at = [&](int64_t slot) {
    return s.slot_bytes == 0 ? nullptr : scratch + slot * s.slot_bytes;
  };
  for (int64_t slot = 0; slot < s.slots && s.slot_bytes > 0; ++slot) {
    *reinterpret_cast<int64_t*>(slot_at(slot)) = -1;
  }
  ForRangesInSlots(
      *args.device->parallel, s.slots, tasks, 1, [&](int64_t slot, int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          gathers ? RunGathered(job, task, slot_at(slot)) : RunRows(job, task, slot_at(slot));
        }
      });
  return KernelStatus::Ok();
}

bool LeavesToReference(const RunArgs& args) {
  const auto& s = *static_cast<TransposedState*>(args.state);
  return s.reference || (s.packed == nullptr && cpu::HasNonfiniteWeights(args));
}

KernelStatus ConvTranspose(const RunArgs& args) {
  return LeavesToReference(args) ? RefConvTranspose().run(args) : RunTransposed(args);
}

KernelStatus FusedConvTranspose(const RunArgs& args) {
  return LeavesToReference(args) ? RefFusedConvTranspose().run(args) : RunTransposed(args);
}

template <typename Attrs>
std::string SupportsTransposed(const CallSignature& call) {
  const auto& attrs = *static_cast<const Attrs*>(call.attrs);
  const int rank = call.inputs[0].rank();
  if (!ImageLayout::Of(attrs).channels_last()) return "needs channels last";
  if (rank < 3 || rank > 4) return "needs one or two spatial axes";
  if (attrs.group != 1) return "needs one group";
  return cpu::RequireF32(call);
}

}  // namespace

Kernel CpuConvTranspose() {
  return {.op = "nn.conv_transpose",
          .name = "cpu.conv_transpose.tiled",
          .priority = 20,
          .run = ConvTranspose,
          .prepare = PrepareTransposed<nn::ConvTransposeAttrs>,
          .supports = SupportsTransposed<nn::ConvTransposeAttrs>};
}

Kernel CpuFusedConvTranspose() {
  return {.op = "fused.conv_transpose",
          .name = "cpu.fused_conv_transpose.tiled",
          .priority = 20,
          .run = FusedConvTranspose,
          .prepare = PrepareTransposed<fused::ConvTransposeAttrs>,
          .supports = SupportsTransposed<fused::ConvTransposeAttrs>};
}

}  // namespace tenon::kernels
