// Reference kernel of ten.resize: each axis has, for each output position, a few weighted input
// taps.
#include <cmath>
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/resize_request.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using ten::ResizeAttrs;
using ten::ResizeCoordinateMode;
using ten::ResizeMode;
using ten::ResizeNearestMode;

struct Tap {
  int64_t index;
  double weight;
};

struct AxisTaps {
  std::vector<Tap> taps;       // of all output positions, one after the other
  std::vector<int64_t> first;  // position o has taps [first[o], first[o + 1])
  std::vector<bool> outside;   // position o takes the extrapolation value
};

struct ResizeState : KernelState {
  std::vector<AxisTaps> axes;
};

// The coordinate in the input of output position o. `length`: of the result; where a scale is
// given, scale * in, which is not rounded.
template <typename F>
F SourceCoordinate(const ResizeAttrs& attrs, F scale, F length, int64_t in, int64_t out, F o,
                   F roi_start, F roi_end) {
  const F last = static_cast<F>(in - 1), half = F{0.5};
  switch (attrs.coordinate_mode) {
    case ResizeCoordinateMode::kHalfPixel:
      return (o + half) / scale - half;
    case ResizeCoordinateMode::kHalfPixelSymmetric: {
      const F adjustment = static_cast<F>(out) / (scale * static_cast<F>(in));
      const F center = static_cast<F>(in) / 2;
      return center * (1 - adjustment) + (o + half) / scale - half;
    }
    case ResizeCoordinateMode::kPytorchHalfPixel:
      return out > 1 ? (o + half) / scale - half : F{0};
    case ResizeCoordinateMode::kAlignCorners:
      return out > 1 ? o * last / (length - 1) : F{0};
    case ResizeCoordinateMode::kAsymmetric:
      return o / scale;
    case ResizeCoordinateMode::kTfHalfPixelForNn:
      return (o + half) / scale;
    case ResizeCoordinateMode::kTfCropAndResize:
      return out > 1 ? roi_start * last + o * (roi_end - roi_start) * last / (length - 1)
                     : half * (roi_start + roi_end) * last;
  }
  return o;
}

int64_t Nearest(ResizeNearestMode mode, double x) {
  switch (mode) {
    case ResizeNearestMode::kRoundPreferFloor:
      return static_cast<int64_t>(std::ceil(x - 0.5));
    case ResizeNearestMode::kRoundPreferCeil:
      return static_cast<int64_t>(std::floor(x + 0.5));
    case ResizeNearestMode::kFloor:
      return static_cast<int64_t>(std::floor(x));
    case ResizeNearestMode::kCeil:
      return static_cast<int64_t>(std::ceil(x));
  }
  return 0;
}

// The interpolation kernel at distance x from the sample.
double KernelAt(const ResizeAttrs& attrs, double x) {
  x = std::fabs(x);
  if (attrs.mode == ResizeMode::kLinear) return x < 1 ? 1 - x : 0.0;
  const double a = attrs.cubic_coeff_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Appends the taps of source coordinate x. Antialiasing widens the kernel when scaling down.
void AddTaps(const ResizeAttrs& attrs, double scale, int64_t in, double x, std::vector<Tap>& taps) {
  if (attrs.mode == ResizeMode::kNearest) {
    taps.push_back({std::clamp<int64_t>(Nearest(attrs.nearest_mode, x), 0, in - 1), 1.0});
    return;
  }
  const double stretch = attrs.antialias ? std::min(scale, 1.0) : 1.0;
  const double radius = attrs.mode == ResizeMode::kLinear ? 1 : 2;
  const int64_t reach = static_cast<int64_t>(std::ceil(radius / stretch));
  const int64_t base = static_cast<int64_t>(std::floor(x));
  const size_t begin = taps.size();
  double sum = 0;
  for (int64_t i = base - reach + 1; i <= base + reach; ++i) {
    const bool inside = i >= 0 && i < in;
    const double weight = KernelAt(attrs, (static_cast<double>(i) - x) * stretch);
    if (weight == 0 || (attrs.exclude_outside && !inside)) continue;
    taps.push_back({std::clamp<int64_t>(i, 0, in - 1), weight});
    sum += weight;
  }
  if (!attrs.antialias && !attrs.exclude_outside) return;
  for (size_t t = begin; t < taps.size(); ++t) taps[t].weight /= sum;
}

AxisTaps TapsOf(const ResizeAttrs& attrs, size_t axis, size_t rank, int64_t in, int64_t out) {
  AxisTaps result;
  const bool given = axis < attrs.scales.size();
  const double scale =
      given ? attrs.scales[axis] : static_cast<double>(out) / static_cast<double>(in);
  const double length = given ? scale * static_cast<double>(in) : static_cast<double>(out);
  const bool nearest = attrs.mode == ResizeMode::kNearest;
  const bool has_roi = attrs.roi.size() == 2 * rank;
  const double start = has_roi ? attrs.roi[axis] : 0, end = has_roi ? attrs.roi[rank + axis] : 1;
  const bool crops = attrs.coordinate_mode == ResizeCoordinateMode::kTfCropAndResize;
  for (int64_t o = 0; o < out; ++o) {
    result.first.push_back(static_cast<int64_t>(result.taps.size()));
    if (in == out && scale == 1 && !crops) {  // an axis that is not resized
      result.taps.push_back({o, 1.0});
      result.outside.push_back(false);
      continue;
    }
    // Which element is the nearest one is decided in f32, as frameworks do it: 3 / 0.6f is 5 there,
    // and less than 5 in f64. Between elements more digits only help.
    const double x =
        nearest ? SourceCoordinate<float>(
                      attrs, static_cast<float>(scale), static_cast<float>(length), in, out,
                      static_cast<float>(o), static_cast<float>(start), static_cast<float>(end))
                : SourceCoordinate<double>(attrs, scale, length, in, out, static_cast<double>(o),
                                           start, end);
    result.outside.push_back(crops && (x < 0 || x > static_cast<double>(in - 1)));
    AddTaps(attrs, scale, in, x, result.taps);
  }
  result.first.push_back(static_cast<int64_t>(result.taps.size()));
  return result;
}

KernelStatus MakeTaps(const ResizeAttrs& attrs, const TensorView& x, const TensorView& out,
                      std::vector<AxisTaps>& axes) {
  if (out.numel() > 0 && x.numel() == 0)
    return KernelStatus::Invalid("cannot resize an empty axis");
  for (size_t axis = 0; axis < x.shape.size() && out.numel() > 0; ++axis) {
    axes.push_back(TapsOf(attrs, axis, x.shape.size(), x.shape[axis], out.shape[axis]));
  }
  return KernelStatus::Ok();
}

KernelStatus PrepareResize(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  const auto& attrs = *static_cast<const ResizeAttrs*>(args.attrs);
  auto made = std::make_shared<ResizeState>();
  KernelStatus status = MakeTaps(attrs, args.inputs[0], args.outputs[0], made->axes);
  state = std::move(made);
  return status;
}

// The interpolated value at output `index`, over the axes from `axis` on.
template <typename T>
double Sample(const std::vector<AxisTaps>& axes, const Dims& strides, const Dims& index,
              size_t axis, const T* x) {
  if (axis == axes.size()) return static_cast<double>(static_cast<Compute<T>>(*x));
  const AxisTaps& taps = axes[axis];
  double sum = 0;
  for (int64_t t = taps.first[index[axis]]; t < taps.first[index[axis] + 1]; ++t) {
    sum += taps.taps[t].weight *
           Sample(axes, strides, index, axis + 1, x + taps.taps[t].index * strides[axis]);
  }
  return sum;
}

KernelStatus ResizeBy(const RunArgs& args, const ResizeAttrs& attrs,
                      const std::vector<AxisTaps>& axes) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const Dims strides = RowMajorStrides(x.shape);
  const int64_t n = out.numel();
  return DispatchNumber(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    StridedWalk<0> walk(out.shape, {});
    for (int64_t i = 0; i < n; ++i, walk.Next()) {
      bool outside = false;
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        outside |= axes[axis].outside[walk.index()[axis]];
      }
      out.as<T>()[i] = Convert<T>(outside ? static_cast<double>(attrs.extrapolation_value)
                                          : Sample(axes, strides, walk.index(), 0, x.as<T>()));
    }
    return KernelStatus::Ok();
  });
}

KernelStatus Resize(const RunArgs& args) {
  return ResizeBy(args, args.get<ResizeAttrs>(), static_cast<const ResizeState*>(args.state)->axes);
}

KernelStatus DynamicResize(const RunArgs& args) {
  const auto& given = args.get<ten::DynamicResizeAttrs>();
  ResizeRequest request = ReadResizeRequest(given, args.inputs);
  if (!request.error.empty()) return KernelStatus::Invalid(std::move(request.error));
  ResizeAttrs attrs;
  attrs.sizes = std::move(request.sizes);
  attrs.scales = std::move(request.scales);
  attrs.roi = std::move(request.roi);
  // Both ops name the modes alike.
  attrs.mode = static_cast<ResizeMode>(given.mode);
  attrs.coordinate_mode = static_cast<ResizeCoordinateMode>(given.coordinate_mode);
  attrs.nearest_mode = static_cast<ResizeNearestMode>(given.nearest_mode);
  attrs.cubic_coeff_a = given.cubic_coeff_a;
  attrs.exclude_outside = given.exclude_outside;
  attrs.antialias = given.antialias;
  attrs.extrapolation_value = given.extrapolation_value;
  std::vector<AxisTaps> axes;
  if (KernelStatus status = MakeTaps(attrs, args.inputs[0], args.outputs[0], axes); !status.ok()) {
    return status;
  }
  return ResizeBy(args, attrs, axes);
}

}  // namespace

Kernel RefDynamicResize() {
  return {.op = "ten.dynamic_resize", .name = "ref.dynamic_resize", .run = DynamicResize};
}

Kernel RefResize() {
  return {.op = "ten.resize", .name = "ref.resize", .run = Resize, .prepare = PrepareResize};
}

}  // namespace tenon::kernels
