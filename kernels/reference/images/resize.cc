// Reference kernel of ten.resize: each axis has, for each output position, a few weighted input
// taps.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/calls/resize_request.h"
#include "kernels/calls/resize_taps.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using ten::ResizeAttrs;
using ten::ResizeMode;
using ten::ResizeNearestMode;

struct ResizeState : KernelState {
  std::vector<AxisTaps> axes;
};

KernelStatus MakeTaps(const ResizeAttrs& attrs, const TensorView& x, const TensorView& out,
                      std::vector<AxisTaps>& axes) {
  if (out.numel() > 0 && x.numel() == 0)
    return KernelStatus::Invalid("an empty axis cannot be resized (expected one or more elements)");
  if (out.numel() > 0) axes = ResizeTaps(attrs, x.shape, out.shape);
  return KernelStatus::Ok();
}

KernelStatus PrepareResize(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  const auto& attrs = *static_cast<const ResizeAttrs*>(args.attrs);
  auto made = std::make_shared<ResizeState>();
  KernelStatus status = MakeTaps(attrs, args.inputs[0], args.outputs[0], made->axes);
  state = std::move(made);
  return status;
}

// The element that output `index` copies: the one tap of each axis.
template <typename T>
T Nearest(const std::vector<AxisTaps>& axes, const Dims& strides, const Dims& index, const T* x) {
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    x += axes[axis].taps[axes[axis].first[index[axis]]].index * strides[axis];
  }
  return *x;
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

// The element for an interpolated value: cubic weights overshoot the range of the samples, and so
// perhaps of an integer type. Plain linear interpolation truncates, as ONNX Runtime does.
template <typename T>
T ElementFor(const ResizeAttrs& attrs, double value) {
  if constexpr (kIsFloat<T>) {
    return Convert<T>(value);
  } else {
    if (attrs.mode == ResizeMode::kCubic || attrs.antialias) value = std::nearbyint(value);
    // 2^digits, the first value above the range, is a double; the last one within may not be.
    const double least = static_cast<double>(std::numeric_limits<T>::min());
    if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) {
      return std::numeric_limits<T>::max();
    }
    return value <= least ? std::numeric_limits<T>::min() : Convert<T>(value);
  }
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
      if (outside) {
        out.as<T>()[i] = ElementFor<T>(attrs, static_cast<double>(attrs.extrapolation_value));
      } else if (attrs.mode == ResizeMode::kNearest) {
        out.as<T>()[i] = Nearest(axes, strides, walk.index(), x.as<T>());
      } else {
        out.as<T>()[i] = ElementFor<T>(attrs, Sample(axes, strides, walk.index(), 0, x.as<T>()));
      }
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
  attrs.coordinate_mode = static_cast<ten::ResizeCoordinateMode>(given.coordinate_mode);
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
