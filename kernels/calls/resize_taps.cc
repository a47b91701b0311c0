#include "kernels/calls/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace tenon::kernels {
namespace {

using ten::ResizeAttrs;
using ten::ResizeCoordinateMode;
using ten::ResizeMode;
using ten::ResizeNearestMode;

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

// Appends the taps of source coordinate x. Antialiasing widens the kernel when scaling down, to no
// more than what one output element from all of the input would take, halves rounded up.
void AddTaps(const ResizeAttrs& attrs, double scale, int64_t in, double x, std::vector<Tap>& taps) {
  const double extent = static_cast<double>(in);
  // Beyond these bounds all taps are the first element, or the last one.
  x = std::isnan(x) ? 0.0 : std::clamp(x, -4.0 * extent - 4, 5 * extent + 4);
  if (attrs.mode == ResizeMode::kNearest) {
    taps.push_back({std::clamp<int64_t>(Nearest(attrs.nearest_mode, x), 0, in - 1), 1.0});
    return;
  }
  const double stretch = attrs.antialias ? std::min(scale, 1.0) : 1.0;
  const double radius = attrs.mode == ResizeMode::kLinear ? 1 : 2;
  const int64_t reach =
      static_cast<int64_t>(std::ceil(std::min(radius / stretch, 2 * radius * extent)));
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
  if (taps.size() == begin) {  // nothing of the input is in reach
    taps.push_back({std::clamp<int64_t>(base, 0, in - 1), 1.0});
    return;
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

}  // namespace

std::vector<AxisTaps> ResizeTaps(const ResizeAttrs& attrs, DimSpan in, DimSpan out) {
  std::vector<AxisTaps> axes;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    axes.push_back(TapsOf(attrs, axis, in.size(), in[axis], out[axis]));
  }
  return axes;
}

}  // namespace tenon::kernels
