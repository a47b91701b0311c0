// Pooling of floats over two spatial axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

// The window elements [begin, end) that lie inside [low, high) for an output position.
struct Clipped {
  int64_t begin, end;
  Clipped(const Window& w, size_t axis, int64_t o, int64_t low, int64_t high) {
    const int64_t start = w.At(axis, o, 0), step = w.dilations[axis];
    begin = start >= low ? 0 : std::min(w.kernel[axis], (low - start + step - 1) / step);
    end = start >= high ? begin : std::min(w.kernel[axis], (high - start + step - 1) / step);
    end = std::max(begin, end);
  }
  int64_t size() const { return end - begin; }
};

// Calls pool(plane, offset of the window's first element, which may lie in the padding, window,
// width of the plane, rows and columns inside the plane, output row, output column) for each
// output.
template <typename Attrs, typename Pool>
KernelStatus ForEachOutput(const RunArgs& args, Pool pool) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const Window window = Window::Of(args.get<Attrs>(), args.get<Attrs>().kernel, x.shape.subspan(2),
                                   out.shape.subspan(2));
  const int64_t h = x.shape[2], w = x.shape[3], oh = out.shape[2], ow = out.shape[3];
  const int64_t cost = Product(View(window.kernel));
  (*args.device->parallel)(
      x.shape[0] * x.shape[1] * oh, cpu::RowGrain(ow, cost), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const float* plane = x.as<float>() + r / oh * h * w;
          const Clipped rows(window, 0, r % oh, 0, h);
          const int64_t base = window.At(0, r % oh, 0) * w;
          for (int64_t o = 0; o < ow; ++o) {
            const Clipped cols(window, 1, o, 0, w);
            out.as<float>()[r * ow + o] =
                pool(plane, base + window.At(1, o, 0), window, w, rows, cols, r % oh, o);
          }
        }
      });
  return KernelStatus::Ok();
}

constexpr int64_t kMaxColumns = 2048;  // of the input, reduced over the window's rows at once

// The smallest o with o * stride + first >= low, for outputs from 0 on.
int64_t FirstOutput(int64_t first, int64_t stride, int64_t low) {
  return first >= low ? 0 : (low - first + stride - 1) / stride;
}

// Outputs [begin, end) of one output row: first the maximum over the window's rows, on whole runs
// of columns, then over its columns.
void MaxPoolRow(const Window& window, const float* plane, int64_t height, int64_t width,
                int64_t row, int64_t begin, int64_t end, float* out) {
  const auto larger = cpu::LoopOf(cpu::BinaryOp::kMax);
  const Clipped rows(window, 0, row, 0, height);
  const int64_t low = std::max<int64_t>(0, window.At(1, begin, 0));
  const int64_t high = std::min(width, window.At(1, end - 1, window.kernel[1] - 1) + 1);
  std::fill(out + begin, out + end, -std::numeric_limits<float>::infinity());
  if (rows.size() == 0 || high <= low) return;
  float columns[kMaxColumns];
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const float* from = plane + window.At(0, row, i) * width + low;
    if (i == rows.begin) {
      std::copy(from, from + (high - low), columns);
    } else {
      larger(columns, from, columns, high - low);
    }
  }
  for (int64_t j = 0; j < window.kernel[1]; ++j) {
    const int64_t first = window.At(1, 0, j), stride = window.strides[1];
    const int64_t stop = std::min(end, FirstOutput(first, stride, high));
    for (int64_t o = std::max(begin, FirstOutput(first, stride, low)); o < stop; ++o) {
      const float v = columns[first + o * stride - low];
      if (out[o] < v || std::isnan(v)) out[o] = v;  // NaN wins, and stays
    }
  }
}

KernelStatus MaxPool(const RunArgs& args) {
  const auto& attrs = args.get<nn::MaxPoolAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const Window window = Window::Of(attrs, attrs.kernel, x.shape.subspan(2), out.shape.subspan(2));
  const int64_t h = x.shape[2], w = x.shape[3], oh = out.shape[2], ow = out.shape[3];
  const int64_t span = (window.kernel[1] - 1) * window.dilations[1] + 1;
  const int64_t tile = (kMaxColumns - span) / window.strides[1] + 1;
  (*args.device->parallel)(x.shape[0] * x.shape[1] * oh, cpu::RowGrain(w * window.kernel[0]),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t r = begin; r < end; ++r) {
                               for (int64_t o = 0; o < ow; o += tile) {
                                 MaxPoolRow(window, x.as<float>() + r / oh * h * w, h, w, r % oh, o,
                                            std::min(ow, o + tile), out.as<float>() + r * ow);
                               }
                             }
                           });
  return KernelStatus::Ok();
}

KernelStatus AveragePool(const RunArgs& args) {
  const bool include_pad = args.get<nn::AveragePoolAttrs>().count_include_pad;
  const DimSpan in = args.inputs[0].shape.subspan(2);
  return ForEachOutput<nn::AveragePoolAttrs>(
      args, [&](const float* x, int64_t first, const Window& window, int64_t width,
                const Clipped& rows, const Clipped& cols, int64_t oh, int64_t ow) {
        float sum = 0;
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          const int64_t row = first + i * window.dilations[0] * width;
          for (int64_t j = cols.begin; j < cols.end; ++j) sum += x[row + j * window.dilations[1]];
        }
        int64_t count = rows.size() * cols.size();
        if (include_pad) {
          count = Clipped(window, 0, oh, -window.pads_begin[0], in[0] + window.pads_end[0]).size() *
                  Clipped(window, 1, ow, -window.pads_begin[1], in[1] + window.pads_end[1]).size();
        }
        return sum / static_cast<float>(count);
      });
}

std::string MaxPoolSupports(const CallSignature& call) {
  const auto& attrs = *static_cast<const nn::MaxPoolAttrs*>(call.attrs);
  if (call.inputs[0].rank() != 4) return "needs two spatial axes";
  if (ImageLayout::Of(attrs).channels_last()) return "needs channels first";
  const int64_t dilation = attrs.dilations.size() > 1 ? attrs.dilations[1] : 1;
  if (attrs.kernel[1] > kMaxColumns / dilation) return "the window is too wide";
  return cpu::RequireF32(call);
}

std::string AveragePoolSupports(const CallSignature& call) {
  const auto& attrs = *static_cast<const nn::AveragePoolAttrs*>(call.attrs);
  if (call.inputs[0].rank() != 4) return "needs two spatial axes";
  if (ImageLayout::Of(attrs).channels_last()) return "needs channels first";
  return cpu::RequireF32(call);
}

}  // namespace

Kernel CpuAveragePool() {
  return {.op = "nn.average_pool",
          .name = "cpu.average_pool",
          .priority = 10,
          .run = AveragePool,
          .supports = AveragePoolSupports};
}

Kernel CpuMaxPool() {
  return {.op = "nn.max_pool",
          .name = "cpu.max_pool",
          .priority = 10,
          .run = MaxPool,
          .supports = MaxPoolSupports};
}

}  // namespace tenon::kernels
