// Reference kernel of grid sampling, for any number of spatial axes.
#include <cmath>
#include <type_traits>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using nn::GridSampleMode;
using nn::GridSamplePadding;

// The borders at which coordinates of an axis are reflected.
struct Borders {
  double low, high;
};

Borders BordersOf(int64_t extent, bool align_corners) {
  const auto n = static_cast<double>(extent);
  return align_corners ? Borders{0, n - 1} : Borders{-0.5, n - 0.5};
}

double Reflect(double x, Borders b) {
  const double range = b.high - b.low;
  if (range <= 0) return b.low;
  if (x >= b.low && x <= b.high) return x;
  const double distance = x < b.low ? b.low - x : x - b.high;
  const double turns = std::floor(distance / range), rest = distance - turns * range;
  const bool from_low = (x < b.low) == (std::fmod(turns, 2) == 0);
  return from_low ? b.low + rest : b.high - rest;
}

// The sampled coordinate of an axis, from one in [-1, 1]. Cubic taps reach past the borders, where
// each is padded by itself.
double Coordinate(double n, int64_t extent, const nn::GridSampleAttrs& attrs) {
  const auto length = static_cast<double>(extent);
  double x = attrs.align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
  if (attrs.mode == GridSampleMode::kCubic) return x;
  if (attrs.mode == GridSampleMode::kNearest) x = std::nearbyint(x);
  const Borders b = BordersOf(extent, attrs.align_corners);
  if (x >= b.low && x <= b.high) return x;
  if (attrs.padding == GridSamplePadding::kBorder) return std::clamp(x, 0.0, length - 1);
  if (attrs.padding == GridSamplePadding::kReflection) return Reflect(x, b);
  return x;
}

// The element that stands at position i of an axis; -1: zero.
int64_t Resolve(int64_t i, int64_t extent, const nn::GridSampleAttrs& attrs) {
  if (i >= 0 && i < extent) return i;
  switch (attrs.padding) {
    case GridSamplePadding::kZeros:
      return -1;
    case GridSamplePadding::kBorder:
      return std::clamp<int64_t>(i, 0, extent - 1);
    case GridSamplePadding::kReflection: {
      const double x = Reflect(static_cast<double>(i), BordersOf(extent, attrs.align_corners));
      return std::clamp<int64_t>(static_cast<int64_t>(x), 0, extent - 1);
    }
  }
  return -1;
}

// The weight of a tap at distance d.
double Weight(GridSampleMode mode, double d) {
  d = std::fabs(d);
  if (mode == GridSampleMode::kNearest) return 1;
  if (mode == GridSampleMode::kLinear) return d < 1 ? 1 - d : 0.0;
  constexpr double kA = -0.75;
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  if (d < 2) return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  return 0;
}

// The value at the coordinates, over the axes from `axis` on.
template <typename T>
double Sample(const T* x, DimSpan extents, const Dims& strides, const double* coordinates,
              size_t axis, const nn::GridSampleAttrs& attrs) {
  if (axis == extents.size()) return static_cast<double>(static_cast<Compute<T>>(*x));
  const double at = coordinates[axis];
  const auto base = static_cast<int64_t>(std::floor(at));
  const int64_t first = attrs.mode == GridSampleMode::kCubic ? base - 1 : base;
  const int64_t taps = attrs.mode == GridSampleMode::kCubic    ? 4
                       : attrs.mode == GridSampleMode::kLinear ? 2
                                                               : 1;
  double sum = 0;
  for (int64_t i = first; i < first + taps; ++i) {
    const double weight = Weight(attrs.mode, at - static_cast<double>(i));
    const int64_t from = Resolve(i, extents[axis], attrs);
    if (weight == 0 || from < 0) continue;
    sum +=
        weight * Sample(x + from * strides[axis], extents, strides, coordinates, axis + 1, attrs);
  }
  return sum;
}

template <typename T>
KernelStatus GridSample(const RunArgs& args) {
  const auto& attrs = args.get<nn::GridSampleAttrs>();
  const TensorView &x = args.inputs[0], &grid = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const DimSpan extents = x.shape.subspan(2);
  const Dims strides = RowMajorStrides(extents);
  const int64_t axes = static_cast<int64_t>(extents.size()), plane = Product(extents);
  const int64_t positions = Product(out.shape.subspan(2)), channels = x.shape[1];
  if (plane == 0)
    return KernelStatus::Invalid(
        "an empty plane cannot be sampled (expected one or more elements)");
  absl::InlinedVector<double, 4> coordinates(axes);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t p = 0; p < positions; ++p) {
      for (int64_t axis = 0; axis < axes; ++axis) {
        const double v = DoubleAt(grid, (n * positions + p) * axes + axes - 1 - axis);
        // Far outside everything; keeps the conversion to integers defined.
        constexpr double kFar = 1e12;
        coordinates[axis] =
            std::isnan(v) ? -1 : Coordinate(std::clamp(v, -kFar, kFar), extents[axis], attrs);
      }
      for (int64_t c = 0; c < channels; ++c) {
        out.as<T>()[(n * channels + c) * positions + p] =
            static_cast<T>(Sample(x.as<T>() + (n * channels + c) * plane, extents, strides,
                                  coordinates.data(), 0, attrs));
      }
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefGridSample() {
  return {.op = "nn.grid_sample", .name = "ref.grid_sample", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return GridSample<typename decltype(tag)::type>(args);
            });
          }};
}

}  // namespace tenon::kernels
