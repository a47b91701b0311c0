#include "kernels/calls/resize_request.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

// Extents above this are a mistake.
constexpr double kMaxExtent = 1e15;

bool IsExtent(double v) { return v >= 0 && v <= kMaxExtent; }

// One scale for all axes: the smallest that the sizes ask for, or the largest.
float CommonScale(const ten::DynamicResizeAttrs& attrs, const TensorView& x,
                  const TensorView& sizes, std::span<const int64_t> axes) {
  float scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const float ratio = static_cast<float>(DoubleAt(sizes, static_cast<int64_t>(i))) /
                        static_cast<float>(x.shape[axes[i]]);
    if (i == 0) scale = ratio;
    scale = attrs.policy == ten::DynamicResizePolicy::kNotLarger ? std::min(scale, ratio)
                                                                 : std::max(scale, ratio);
  }
  return scale;
}

}  // namespace

ResizeRequest ReadResizeRequest(const ten::DynamicResizeAttrs& attrs,
                                std::span<const TensorView> inputs) {
  const TensorView &x = inputs[0], &roi = inputs[1], &scales = inputs[2], &sizes = inputs[3];
  ResizeRequest request;
  request.sizes.assign(x.shape.begin(), x.shape.end());
  std::vector<int64_t> axes = attrs.axes;
  for (int64_t axis = 0; attrs.axes.empty() && axis < x.rank(); ++axis) axes.push_back(axis);
  const TensorView& given = sizes.present() ? sizes : scales;
  if (given.numel() != static_cast<int64_t>(axes.size())) {
    request.error = std::to_string(given.numel()) + (sizes.present() ? " sizes" : " scales") +
                    " for " + std::to_string(axes.size()) + " axes (expected one for each)";
    return request;
  }
  const bool stretch = attrs.policy == ten::DynamicResizePolicy::kStretch;
  if (scales.present() || !stretch) request.scales.assign(x.shape.size(), 1.0f);
  const float common = sizes.present() && !stretch ? CommonScale(attrs, x, sizes, axes) : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto extent = static_cast<float>(x.shape[axes[i]]);
    double size = DoubleAt(given, static_cast<int64_t>(i));
    if (scales.present() && !(size > 0 && std::isfinite(size))) {
      request.error = "axis " + std::to_string(axes[i]) + " has the scale " + std::to_string(size) +
                      " (expected a finite number above 0)";
      return request;
    }
    if (scales.present()) {
      request.scales[axes[i]] = static_cast<float>(size);
      size = std::floor(extent * static_cast<float>(size));
    } else if (!stretch) {
      request.scales[axes[i]] = common;
      size = std::round(extent * common);
    }
    if (!IsExtent(size)) {
      request.error = "axis " + std::to_string(axes[i]) + " would have " + std::to_string(size) +
                      " elements (expected 0 to 1e15)";
      return request;
    }
    request.sizes[axes[i]] = static_cast<int64_t>(size);
  }
  if (attrs.coordinate_mode != ten::DynamicResizeCoordinateMode::kTfCropAndResize) return request;
  if (!roi.present() || roi.numel() != 2 * static_cast<int64_t>(axes.size())) {
    request.error = "roi has " + std::to_string(roi.present() ? roi.numel() : 0) +
                    " bounds (expected " + std::to_string(2 * axes.size()) + ")";
    return request;
  }
  for (int64_t i = 0; i < roi.numel(); ++i) {
    if (std::isfinite(DoubleAt(roi, i))) continue;
    request.error = "roi holds " + std::to_string(DoubleAt(roi, i)) + " (expected finite numbers)";
    return request;
  }
  request.roi.assign(x.shape.size(), 0.0f);
  request.roi.resize(2 * x.shape.size(), 1.0f);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<int64_t>(i), count = static_cast<int64_t>(axes.size());
    request.roi[axes[i]] = static_cast<float>(DoubleAt(roi, at));
    request.roi[x.shape.size() + axes[i]] = static_cast<float>(DoubleAt(roi, count + at));
  }
  return request;
}

}  // namespace tenon::kernels
