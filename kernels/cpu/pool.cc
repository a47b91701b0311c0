// Pooling of floats over two spatial axes.
#include <cmath>
#include <limits>

#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/window.h"

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

KernelStatus MaxPool(const RunArgs& args) {
  return ForEachOutput<nn::MaxPoolAttrs>(
      args, [](const float* x, int64_t first, const Window& window, int64_t width,
               const Clipped& rows, const Clipped& cols, int64_t, int64_t) {
        float max = -std::numeric_limits<float>::infinity();
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          const int64_t row = first + i * window.dilations[0] * width;
          for (int64_t j = cols.begin; j < cols.end; ++j) {
            const float v = x[row + j * window.dilations[1]];
            if (max < v || std::isnan(v)) max = v;  // NaN wins, and stays
          }
        }
        return max;
      });
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

std::string Supports(const CallSignature& call) {
  return call.inputs[0].rank() != 4 ? "needs two spatial axes" : cpu::RequireF32(call);
}

}  // namespace

Kernel CpuAveragePool() {
  return {.op = "nn.average_pool",
          .name = "cpu.average_pool",
          .priority = 10,
          .run = AveragePool,
          .supports = Supports};
}

Kernel CpuMaxPool() {
  return {.op = "nn.max_pool",
          .name = "cpu.max_pool",
          .priority = 10,
          .run = MaxPool,
          .supports = Supports};
}

}  // namespace tenon::kernels
