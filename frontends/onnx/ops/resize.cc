// Resize in all its versions, and Upsample.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "frontends/onnx/node.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// Sizes above this are a hostile file.
constexpr double kMaxExtent = 1e15;

absl::StatusOr<std::string> OneOf(const Node& node, std::string_view name,
                                  std::string_view fallback,
                                  std::span<const std::string_view> allowed) {
  TENON_ASSIGN_OR_RETURN(const std::string value, node.Str(name, fallback));
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
  return node.Error(fmt::format("{} of {} is \"{}\" (expected one of {})", name, node.op_type(),
                                value, fmt::join(allowed, ", ")));
}

// Floats of a constant input; nullopt if it is absent or empty, Unsupported if it is not constant.
absl::StatusOr<std::optional<std::vector<float>>> ConstantFloats(const Node& node, int i) {
  if (!node.input(i)) return std::nullopt;
  const Type type = node.input(i).type();
  if (type.rank() == 1 && type.dim(0).is_constant(0)) return std::nullopt;
  const Attribute elements = node.Constant(i);
  if (!elements)
    return node.Unsupported(fmt::format("{} whose input {} is not constant", node.op_type(), i),
                            "an initializer");
  const int64_t count = elements.type().num_elements();
  if (!IsFloat(type.dtype()) || type.rank() != 1 || count > 64) {
    return node.Error(fmt::format("input {} of {} must be a short vector of floats, got {}", i,
                                  node.op_type(), type.text()));
  }
  std::vector<float> values;
  for (int64_t k = 0; k < count; ++k) {
    values.push_back(static_cast<float>(elements.ElementAsDouble(k)));
  }
  return values;
}

// floor(extent * scale).
absl::StatusOr<DimExpr> Scaled(const Node& node, DimExpr extent, float scale) {
  if (!(scale > 0) || !std::isfinite(scale)) {
    return node.Error(fmt::format("{} has the scale {} (expected a finite number above 0)",
                                  node.op_type(), scale));
  }
  if (extent.is_constant()) {
    const double size = std::floor(static_cast<float>(extent.constant()) * scale);
    if (size > kMaxExtent)
      return node.Error(fmt::format("{} makes an axis of more than 1e15 elements", node.op_type()));
    return node.Dim(static_cast<int64_t>(size));
  }
  // Exact where the scale is p/q with q a power of two.
  for (int64_t q = 1; q <= 64; q *= 2) {
    const double p = static_cast<double>(scale) * static_cast<double>(q);
    if (p == std::floor(p) && p < 65536) return FloorDiv(extent * static_cast<int64_t>(p), q);
  }
  return node.Unsupported(
      fmt::format("{} of an unknown extent by the scale {}", node.op_type(), scale),
      "a known extent, sizes in place of scales, or a scale such as 2 or 1.5");
}

// What the inputs say about the axes that are resized.
struct Request {
  std::vector<int64_t> axes;
  std::optional<std::vector<float>> scales;
  std::optional<std::vector<DimExpr>> sizes;
};

absl::Status ApplyScales(const Node& node, const Request& request, ten::ResizeOp::Attrs& attrs) {
  attrs.scales.assign(attrs.sizes.size(), 1.0f);
  for (size_t i = 0; i < request.axes.size(); ++i) {
    const int64_t axis = request.axes[i];
    attrs.scales[axis] = (*request.scales)[i];
    TENON_ASSIGN_OR_RETURN(attrs.sizes[axis],
                           Scaled(node, attrs.sizes[axis], (*request.scales)[i]));
  }
  return absl::OkStatus();
}

absl::Status ApplySizes(const Node& node, const Request& request, const std::string& policy,
                        ten::ResizeOp::Attrs& attrs) {
  if (policy == "stretch") {
    for (size_t i = 0; i < request.axes.size(); ++i)
      attrs.sizes[request.axes[i]] = (*request.sizes)[i];
    return absl::OkStatus();
  }
  // One scale for all axes: the smallest, or the largest.
  float scale = 0;
  for (size_t i = 0; i < request.axes.size(); ++i) {
    const DimExpr in = attrs.sizes[request.axes[i]], out = (*request.sizes)[i];
    if (!in.is_constant() || !out.is_constant() || in.is_constant(0)) {
      return node.Unsupported("a keep_aspect_ratio_policy and unknown extents",
                              "known extents, or keep_aspect_ratio_policy = stretch");
    }
    const float ratio = static_cast<float>(out.constant()) / static_cast<float>(in.constant());
    if (i == 0) scale = ratio;
    scale = policy == "not_larger" ? std::min(scale, ratio) : std::max(scale, ratio);
  }
  attrs.scales.assign(attrs.sizes.size(), 1.0f);
  for (int64_t axis : request.axes) {
    const double size = std::round(static_cast<float>(attrs.sizes[axis].constant()) * scale);
    if (size > kMaxExtent) return node.Error("Resize makes an axis of more than 1e15 elements");
    attrs.sizes[axis] = node.Dim(static_cast<int64_t>(size));
    attrs.scales[axis] = scale;
  }
  return absl::OkStatus();
}

absl::Status CheckCount(const Node& node, std::string_view what, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return node.Error(fmt::format("{} has {} {} for {} axes (expected as many)", node.op_type(),
                                found, what, expected));
}

ten::ResizeOp::Attrs InitialAttrs(const Node& node) {
  ten::ResizeOp::Attrs attrs;
  const std::span<const DimExpr> dims = node.input(0).type().dims();
  attrs.sizes.assign(dims.begin(), dims.end());
  return attrs;
}

std::vector<int64_t> AllAxes(const Node& node) {
  std::vector<int64_t> axes(node.input(0).type().rank());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// Resize-10 and Upsample have scales only, and the simplest coordinates.
absl::StatusOr<ten::ResizeOp::Attrs> OldAttrs(const Node& node) {
  ten::ResizeOp::Attrs attrs = InitialAttrs(node);
  constexpr std::array<std::string_view, 2> kModes = {"nearest", "linear"};
  TENON_ASSIGN_OR_RETURN(attrs.mode, OneOf(node, "mode", "nearest", kModes));
  attrs.coordinate_mode = "asymmetric";
  attrs.nearest_mode = "floor";
  return attrs;
}

absl::Status ResizeByScales(Node& node, ten::ResizeOp::Attrs attrs,
                            const std::optional<std::vector<float>>& scales) {
  if (!scales) return node.Error(fmt::format("{} needs scales", node.op_type()));
  TENON_RETURN_IF_ERROR(CheckCount(node, "scales", scales->size(), attrs.sizes.size()));
  TENON_RETURN_IF_ERROR(ApplyScales(node, {AllAxes(node), scales, std::nullopt}, attrs));
  return node.Return(node.Make<ten::ResizeOp>(node.input(0), attrs));
}

absl::Status ReadModes(const Node& node, ten::ResizeOp::Attrs& attrs) {
  constexpr std::array<std::string_view, 3> kModes = {"nearest", "linear", "cubic"};
  constexpr std::array<std::string_view, 7> kCoordinates = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  constexpr std::array<std::string_view, 4> kNearest = {"round_prefer_floor", "round_prefer_ceil",
                                                        "floor", "ceil"};
  TENON_ASSIGN_OR_RETURN(attrs.mode, OneOf(node, "mode", "nearest", kModes));
  TENON_ASSIGN_OR_RETURN(attrs.coordinate_mode,
                         OneOf(node, "coordinate_transformation_mode", "half_pixel", kCoordinates));
  TENON_ASSIGN_OR_RETURN(attrs.nearest_mode,
                         OneOf(node, "nearest_mode", "round_prefer_floor", kNearest));
  TENON_ASSIGN_OR_RETURN(attrs.cubic_coeff_a, node.Float("cubic_coeff_a", -0.75f));
  TENON_ASSIGN_OR_RETURN(attrs.exclude_outside, node.Flag("exclude_outside", false));
  TENON_ASSIGN_OR_RETURN(attrs.antialias, node.Flag("antialias", false));
  TENON_ASSIGN_OR_RETURN(attrs.extrapolation_value, node.Float("extrapolation_value", 0.0f));
  return absl::OkStatus();
}

// The region of interest, for all axes: starts, then ends.
absl::Status ReadRoi(const Node& node, const Request& request, ten::ResizeOp::Attrs& attrs) {
  if (attrs.coordinate_mode != "tf_crop_and_resize") return absl::OkStatus();
  TENON_ASSIGN_OR_RETURN(const auto roi, ConstantFloats(node, 1));
  if (!roi) return node.Error("Resize with tf_crop_and_resize needs roi");
  const size_t axes = request.axes.size(), rank = attrs.sizes.size();
  TENON_RETURN_IF_ERROR(CheckCount(node, "roi bounds", roi->size(), 2 * axes));
  attrs.roi.assign(rank, 0.0f);
  attrs.roi.resize(2 * rank, 1.0f);
  for (size_t i = 0; i < axes; ++i) {
    attrs.roi[request.axes[i]] = (*roi)[i];
    attrs.roi[rank + request.axes[i]] = (*roi)[axes + i];
  }
  return absl::OkStatus();
}

// Is an input there, and not the empty vector that stands for an absent one?
bool IsGiven(const Node& node, int i) {
  if (!node.input(i)) return false;
  const Type type = node.input(i).type();
  return !(type.rank() == 1 && type.dim(0).is_constant(0));
}

// Must sizes, scales or the region of interest be read when the model runs?
bool NeedsValues(const Node& node, const Request& request, const std::string& policy,
                 const ten::ResizeOp::Attrs& attrs) {
  if (attrs.coordinate_mode == "tf_crop_and_resize" && IsGiven(node, 1) && !node.Constant(1)) {
    return true;
  }
  if (!IsGiven(node, 3)) {
    if (!IsGiven(node, 2)) return false;
    if (!node.Constant(2)) return true;
    const Attribute scales = node.Constant(2);
    // Extents that are not known times an odd number.
    for (size_t i = 0; i < request.axes.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (at >= scales.type().num_elements() || attrs.sizes[request.axes[i]].is_constant())
        continue;
      const double scale = scales.ElementAsDouble(at) * 64;
      if (scale != std::floor(scale) || scale >= 65536) return true;
    }
    return false;
  }
  if (!request.sizes) return true;
  if (policy == "stretch") return false;
  for (size_t i = 0; i < std::min(request.axes.size(), request.sizes->size()); ++i) {
    if (!attrs.sizes[request.axes[i]].is_constant() || !(*request.sizes)[i].is_constant()) {
      return true;
    }
  }
  return false;
}

absl::Status ResizeAtRunTime(Node& node, std::vector<int64_t> axes, const std::string& policy,
                             const ten::ResizeOp::Attrs& attrs, Value roi, Value scales,
                             Value sizes) {
  const bool crops = attrs.coordinate_mode == "tf_crop_and_resize";
  return node.Return(node.Make<ten::DynamicResizeOp>(
      node.input(0), crops ? roi : Value(), scales, sizes,
      ten::DynamicResizeOp::Attrs{.axes = std::move(axes),
                                  .policy = policy,
                                  .mode = attrs.mode,
                                  .coordinate_mode = attrs.coordinate_mode,
                                  .nearest_mode = attrs.nearest_mode,
                                  .cubic_coeff_a = attrs.cubic_coeff_a,
                                  .exclude_outside = attrs.exclude_outside,
                                  .antialias = attrs.antialias,
                                  .extrapolation_value = attrs.extrapolation_value}));
}

// The scales are input 1.
absl::Status ImportOldResize(Node& node) {
  TENON_ASSIGN_OR_RETURN(ten::ResizeOp::Attrs attrs, OldAttrs(node));
  if (!node.Constant(1)) {
    return ResizeAtRunTime(node, {}, "stretch", attrs, Value(), node.input(1), Value());
  }
  TENON_ASSIGN_OR_RETURN(const auto scales, ConstantFloats(node, 1));
  return ResizeByScales(node, std::move(attrs), scales);
}

}  // namespace

absl::Status ImportResize(Node& node) {
  TENON_RETURN_IF_ERROR(node.version() < 11 ? node.CheckInputs(2, 2) : node.CheckInputs(1, 4));
  if (node.version() < 11) return ImportOldResize(node);
  ten::ResizeOp::Attrs attrs = InitialAttrs(node);
  TENON_RETURN_IF_ERROR(ReadModes(node, attrs));
  Request request{.axes = AllAxes(node), .scales = std::nullopt, .sizes = std::nullopt};
  TENON_ASSIGN_OR_RETURN(const auto axes, node.Ints("axes"));
  if (axes) {
    TENON_RETURN_IF_ERROR(node.Axes(*axes, node.input(0).type().rank()).status());
    request.axes.clear();
    for (int64_t axis : *axes) {
      TENON_ASSIGN_OR_RETURN(request.axes.emplace_back(),
                             node.Axis(axis, node.input(0).type().rank()));
    }
  }
  constexpr std::array<std::string_view, 3> kPolicies = {"stretch", "not_larger", "not_smaller"};
  TENON_ASSIGN_OR_RETURN(const std::string policy,
                         OneOf(node, "keep_aspect_ratio_policy", "stretch", kPolicies));
  if (node.input(3)) {
    TENON_ASSIGN_OR_RETURN(request.sizes, node.Extents(3));
  }
  if (NeedsValues(node, request, policy, attrs)) {
    const bool by_size = IsGiven(node, 3);
    return ResizeAtRunTime(node, axes ? request.axes : std::vector<int64_t>(), policy, attrs,
                           node.input(1), by_size ? Value() : node.input(2),
                           by_size ? node.input(3) : Value());
  }
  TENON_RETURN_IF_ERROR(ReadRoi(node, request, attrs));
  if (request.sizes && !request.sizes->empty()) {
    TENON_RETURN_IF_ERROR(CheckCount(node, "sizes", request.sizes->size(), request.axes.size()));
    TENON_RETURN_IF_ERROR(ApplySizes(node, request, policy, attrs));
  } else {
    TENON_ASSIGN_OR_RETURN(request.scales, ConstantFloats(node, 2));
    if (!request.scales) return node.Error("Resize needs scales or sizes");
    TENON_RETURN_IF_ERROR(CheckCount(node, "scales", request.scales->size(), request.axes.size()));
    TENON_RETURN_IF_ERROR(ApplyScales(node, request, attrs));
  }
  return node.Return(node.Make<ten::ResizeOp>(node.input(0), attrs));
}

absl::Status ImportUpsample(Node& node) {
  TENON_RETURN_IF_ERROR(node.version() < 9 ? node.CheckInputs(1, 1) : node.CheckInputs(2, 2));
  if (node.version() >= 9) return ImportOldResize(node);
  TENON_ASSIGN_OR_RETURN(const auto scales, node.Floats("scales"));
  TENON_ASSIGN_OR_RETURN(ten::ResizeOp::Attrs attrs, OldAttrs(node));
  return ResizeByScales(node, std::move(attrs), scales);
}

}  // namespace tenon::onnx
