// Reference kernels of pooling, for any number of spatial axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/calls/image_layout.h"
#include "kernels/calls/window.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

// Calls visit(offset in the plane) for each window element inside the input, and counts those
// inside the input or its padding.
template <typename F>
int64_t VisitWindow(const Window& window, DimSpan in, const Dims& position, F visit) {
  // Elements [first, first + count) of each axis lie inside; a window may be far larger.
  Dims first, count;
  int64_t padded = 1;
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t start = window.At(axis, position[axis], 0), step = window.dilations[axis];
    const auto below = [&](int64_t end) {
      return start >= end ? 0 : std::min(window.kernel[axis], (end - start + step - 1) / step);
    };
    first.push_back(below(0));
    count.push_back(below(in[axis]) - first.back());
    padded *= below(in[axis] + window.pads_end[axis]);
  }
  const int64_t size = Product(View(count));
  StridedWalk<0> walk(View(count), {});
  for (int64_t i = 0; i < size; ++i, walk.Next()) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      const int64_t k = first[axis] + walk.index()[axis];
      offset = offset * in[axis] + window.At(axis, position[axis], k);
    }
    visit(offset);
  }
  return padded;
}

// Sets each output to f(channel, window, spatial extents, spatial position); channel(offset) is the
// element at that offset in the plane of the output's channel.
template <typename T, typename Attrs, typename F>
KernelStatus ForEachOutput(const RunArgs& args, F f) {
  const auto& attrs = args.get<Attrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const ImageLayout layout = ImageLayout::Of(attrs);
  const DimSpan in = layout.Spatial(x.shape), out_spatial = layout.Spatial(out.shape);
  const Window window = Window::Of(attrs, attrs.kernel, in, out_spatial);
  const int64_t channels = layout.Channels(x.shape), positions = Product(out_spatial);
  const int64_t plane = Product(in), x_stride = layout.PositionStride(x.shape);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const T* from = x.as<T>() + n * channels * plane + c * layout.ChannelStride(x.shape);
      T* to = out.as<T>() + n * channels * positions + c * layout.ChannelStride(out.shape);
      StridedWalk<0> walk(out_spatial, {});
      for (int64_t i = 0; i < positions; ++i, walk.Next()) {
        to[i * layout.PositionStride(out.shape)] =
            f([&](int64_t offset) { return from[offset * x_stride]; }, window, in, walk.index());
      }
    }
  }
  return KernelStatus::Ok();
}

template <typename T>
KernelStatus MaxPool(const RunArgs& args) {
  using C = Compute<T>;
  return ForEachOutput<T, nn::MaxPoolAttrs>(args, [](auto x, const Window& window, DimSpan in,
                                                     const Dims& position) {
    C max = kIsFloat<T> ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
    VisitWindow(window, in, position, [&](int64_t offset) {
      const C v = static_cast<C>(x(offset));
      if (max < v || v != v) max = v;  // NaN wins, and stays
    });
    return static_cast<T>(max);
  });
}

template <typename T>
KernelStatus AveragePool(const RunArgs& args) {
  const bool include_pad = args.get<nn::AveragePoolAttrs>().count_include_pad;
  return ForEachOutput<T, nn::AveragePoolAttrs>(
      args, [&](auto x, const Window& window, DimSpan in, const Dims& position) {
        double sum = 0;
        int64_t inside = 0;
        const int64_t padded = VisitWindow(window, in, position, [&](int64_t offset) {
          sum += static_cast<Compute<T>>(x(offset));
          ++inside;
        });
        return static_cast<T>(sum / static_cast<double>(include_pad ? padded : inside));
      });
}

template <typename T>
KernelStatus LpPool(const RunArgs& args) {
  const auto p = static_cast<double>(args.get<nn::LpPoolAttrs>().p);
  return ForEachOutput<T, nn::LpPoolAttrs>(
      args, [&](auto x, const Window& window, DimSpan in, const Dims& position) {
        double sum = 0;
        VisitWindow(window, in, position, [&](int64_t offset) {
          sum += std::pow(std::fabs(static_cast<double>(static_cast<Compute<T>>(x(offset)))), p);
        });
        return static_cast<T>(std::pow(sum, 1 / p));
      });
}

// The offset in a plane of these extents when its first axis is the one that varies fastest.
int64_t ColumnMajor(int64_t offset, DimSpan extents) {
  int64_t result = 0;
  Dims index(extents.size(), 0);
  for (size_t axis = extents.size(); axis-- > 0;) {
    index[axis] = offset % extents[axis];
    offset /= extents[axis];
  }
  for (size_t axis = extents.size(); axis-- > 0;) result = result * extents[axis] + index[axis];
  return result;
}

template <typename T>
KernelStatus MaxPoolWithIndices(const RunArgs& args) {
  using C = Compute<T>;
  const auto& attrs = args.get<nn::MaxPoolWithIndicesAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const DimSpan in = x.shape.subspan(2), out_spatial = out.shape.subspan(2);
  const Window window = Window::Of(attrs, attrs.kernel, in, out_spatial);
  const int64_t planes = x.shape[0] * x.shape[1], positions = Product(out_spatial);
  const int64_t plane = Product(in);
  for (int64_t p = 0; p < planes; ++p) {
    StridedWalk<0> walk(out_spatial, {});
    for (int64_t i = 0; i < positions; ++i, walk.Next()) {
      const T* from = x.as<T>() + p * plane;
      int64_t best = -1;
      VisitWindow(window, in, walk.index(), [&](int64_t offset) {
        const C v = static_cast<C>(from[offset]);
        if (best < 0 || static_cast<C>(from[best]) < v || (v != v && from[best] == from[best])) {
          best = offset;
        }
      });
      if (best < 0) return KernelStatus::Invalid("a window holds padding only");
      out.as<T>()[p * positions + i] = from[best];
      args.outputs[1].as<int64_t>()[p * positions + i] =
          p * plane + (attrs.column_major ? ColumnMajor(best, in) : best);
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefLpPool() {
  return {.op = "nn.lp_pool", .name = "ref.lp_pool", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return LpPool<typename decltype(tag)::type>(args);
            });
          }};
}

Kernel RefMaxPoolWithIndices() {
  return {.op = "nn.max_pool_with_indices",
          .name = "ref.max_pool_with_indices",
          .run = [](const RunArgs& args) {
            return DispatchNumber(args.inputs[0].dtype, [&](auto tag) {
              return MaxPoolWithIndices<typename decltype(tag)::type>(args);
            });
          }};
}

Kernel RefAveragePool() {
  return {.op = "nn.average_pool", .name = "ref.average_pool", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return AveragePool<typename decltype(tag)::type>(args);
            });
          }};
}

Kernel RefMaxPool() {
  return {.op = "nn.max_pool", .name = "ref.max_pool", .run = [](const RunArgs& args) {
            return DispatchNumber(args.inputs[0].dtype, [&](auto tag) {
              return MaxPool<typename decltype(tag)::type>(args);
            });
          }};
}

}  // namespace tenon::kernels
