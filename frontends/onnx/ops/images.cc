// Images: grids of positions, crops around the center, pooling that is undone, regions and boxes.
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/image_attributes.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A result with more elements fits no memory.
constexpr int64_t kLargestImage = int64_t{1} << 48;

// Element i of a vector, as a scalar.
Value ElementOf(Formula& f, const Node& node, Value vector, int64_t i) {
  const ten::SliceOp::Attrs part{
      .axes = {0}, .starts = {node.Dim(i)}, .ends = {node.Dim(i + 1)}, .steps = {1}};
  return f.Reshape(f.Make<ten::SliceOp>(vector, part), {});
}

// Positions in [-1, 1] of `count` elements, as a vector of f64: of their centers, or with `corners`
// from corner to corner.
Value Positions(Formula& f, Value count, bool corners) {
  const auto number = [&](double value) { return f.Scalar(DType::kF64, value); };
  const Value one = f.Scalar(DType::kI64, 1);
  const Value index = f.Cast(f.Steps(count), DType::kF64);
  if (corners) {
    const Value steps = f.Cast(f.Make<ten::MaxOp>(f.Sub(count, one), one), DType::kF64);
    return f.Sub(f.Div(f.Mul(index, number(2)), steps), number(1));
  }
  const Value ends = f.Add(f.Mul(index, number(2)), number(1));
  return f.Sub(f.Div(ends, f.Cast(count, DType::kF64)), number(1));
}

// Pads or crops x around its center along `axes`, to extents that only a run knows.
absl::Status CropOrPadAtRunTime(Node& node, const std::vector<int64_t>& axes) {
  const Value x = node.input(0), shape = node.input(1);
  const DimExpr count = node.Dim(static_cast<int64_t>(axes.size()));
  Formula::Dims extents;
  for (int64_t axis : axes) extents.push_back(x.type().dim(axis));
  Formula f(node);
  const Value zero = f.Scalar(DType::kI64, 0);
  const Value target = f.CheckRange(f.Cast(f.Reshape(shape, {count}), DType::kI64), zero,
                                    f.Scalar(DType::kI64, static_cast<double>(kLargestImage)),
                                    "an extent of CenterCropPad");
  const Value growth = f.Sub(target, f.Extents(extents));
  const Value before = f.Div(growth, f.Scalar(DType::kI64, 2));  // rounds towards 0
  const Value both[] = {before, f.Sub(growth, before)};
  const Value pads =
      f.Make<ten::ConcatOp>(std::span<const Value>(both), ten::ConcatOp::Attrs{.axis = 0});
  Value result = f.Make<ten::DynamicPadOp>(x, pads, Value(), f.Ints(axes),
                                           ten::DynamicPadOp::Attrs{.mode = "constant"});
  if (!f.ok()) return f.status();
  // Only the axes of the list have other extents than x.
  Formula::Dims dims = Formula::DimsOf(x);
  for (int64_t axis : axes) dims[axis] = result.type().dim(axis);
  result.set_type(WithDims(result.type(), dims));
  return f.Return(result);
}

// How many axes the image of an AffineGrid has: its matrices say so, or the length of its size.
std::optional<int64_t> AxesOfGrid(Type matrices, Type size) {
  if (matrices.rank() != 3) return std::nullopt;
  if (matrices.dim(1).is_constant()) return matrices.dim(1).constant();
  if (matrices.dim(2).is_constant()) return matrices.dim(2).constant() - 1;
  if (size.rank() == 1 && size.dim(0).is_constant()) return size.dim(0).constant() - 2;
  return std::nullopt;
}

}  // namespace

absl::Status ImportAffineGrid(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const Value theta = node.input(0), size = node.input(1);
  TENON_ASSIGN_OR_RETURN(const bool corners, node.Flag("align_corners", false));
  const Type type = theta.type();
  const std::optional<int64_t> known = AxesOfGrid(type, size.type());
  if (type.rank() == 3 && !known) {
    return node.Unsupported(fmt::format("AffineGrid with matrices of {} and a size of {}",
                                        type.text(), size.type().text()),
                            "an image whose number of axes is known");
  }
  const int64_t axes = known.value_or(0);
  const auto fits = [&](int64_t axis, int64_t extent) {
    return !type.dim(axis).is_constant() || type.dim(axis).is_constant(extent);
  };
  if ((axes != 2 && axes != 3) || !fits(1, axes) || !fits(2, axes + 1)) {
    return node.Error(
        fmt::format("AffineGrid needs matrices [N, 2, 3] or [N, 3, 4], got {}", type.text()));
  }
  // The size is [N, C, spatial…]; N is that of theta.
  Formula f(node);
  const DimExpr batch = type.dim(0);
  const Value matrices = f.Reshape(theta, {batch, node.Dim(axes), node.Dim(axes + 1)});
  Formula::Dims least(static_cast<size_t>(axes) + 2, node.Dim(0));
  Formula::Dims most(static_cast<size_t>(axes) + 2, node.Dim(kLargestImage));
  least[0] = most[0] = batch;
  const Value sizes = f.CheckRange(f.Cast(f.Reshape(size, {node.Dim(axes + 2)}), DType::kI64),
                                   f.Extents(least), f.Extents(most), "a size of AffineGrid");
  // A row of `base` is a position with a 1 behind it. The last axis of the image comes first.
  std::vector<Value> vectors;
  Formula::Dims grid;
  for (int64_t i = 0; i < axes; ++i) {
    vectors.push_back(Positions(f, ElementOf(f, node, sizes, 2 + i), corners));
    if (!f.ok()) return f.status();
    grid.push_back(vectors.back().type().dim(0));
  }
  grid.push_back(f.One());
  std::vector<Value> columns;
  for (int64_t i = axes; i-- > 0;) {
    columns.push_back(f.Expand(f.Along(vectors[i], i, axes + 1), grid));
  }
  columns.push_back(f.Expand(f.Scalar(DType::kF64, 1), grid));
  grid.back() = node.Dim(axes + 1);
  const Value base =
      f.Make<ten::ConcatOp>(std::span<const Value>(columns), ten::ConcatOp::Attrs{.axis = axes});
  grid.pop_back();
  const DimExpr positions = Product(node.context(), grid);
  const Value rows_of_base =
      f.Cast(f.Reshape(base, {positions, node.Dim(axes + 1)}), theta.type().dtype());
  const Value moved = f.Make<ten::MatmulOp>(
      rows_of_base, matrices, ten::MatmulOp::Attrs{.transpose_a = false, .transpose_b = true});
  grid.insert(grid.begin(), batch);
  grid.push_back(node.Dim(axes));
  return f.Return(f.Reshape(moved, grid));
}

absl::Status ImportCenterCropPad(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const Value x = node.input(0);
  const int64_t rank = x.type().rank();
  std::vector<int64_t> axes;
  TENON_ASSIGN_OR_RETURN(const auto named, node.Ints("axes"));
  for (int64_t i = 0; i < (named ? static_cast<int64_t>(named->size()) : rank); ++i) {
    TENON_ASSIGN_OR_RETURN(axes.emplace_back(), node.Axis(named ? (*named)[i] : i, rank));
  }
  TENON_RETURN_IF_ERROR(node.Axes(axes, rank).status());
  TENON_ASSIGN_OR_RETURN(const auto target, node.Extents(1));
  if (!target) return CropOrPadAtRunTime(node, axes);
  if (target->size() != axes.size()) {
    return node.Error(fmt::format("CenterCropPad has {} extents for {} axes (expected as many)",
                                  target->size(), axes.size()));
  }
  ten::PadOp::Attrs attrs;
  attrs.pads.assign(2 * rank, node.Dim(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    const DimExpr growth = (*target)[i] - x.type().dim(axes[i]);
    if (!growth.is_constant()) return CropOrPadAtRunTime(node, axes);
    if ((*target)[i].is_constant() && (*target)[i].constant() < 0) {
      return node.Error(fmt::format("CenterCropPad has the extent {} (expected 0 or more)",
                                    (*target)[i].constant()));
    }
    attrs.pads[axes[i]] = node.Dim(growth.constant() / 2);  // rounds towards 0
    attrs.pads[rank + axes[i]] = node.Dim(growth.constant() - growth.constant() / 2);
  }
  return node.Return(node.Make<ten::PadOp>(x, Value(), attrs));
}

absl::Status ImportMaxUnpool(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value x = node.input(0), indices = node.input(1), shape = node.input(2);
  const int64_t rank = x.type().rank();
  if (rank < 3 || indices.type().rank() != rank) {
    return node.Error(fmt::format("MaxUnpool needs inputs of one rank, 3 or more, got {} and {}",
                                  x.type().text(), indices.type().text()));
  }
  const auto spatial = static_cast<size_t>(rank - 2);
  if (node.Find("kernel_shape") == nullptr) {
    return node.Error("MaxUnpool needs the attribute \"kernel_shape\"");
  }
  TENON_ASSIGN_OR_RETURN(const auto kernel, SpatialList(node, "kernel_shape", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(const auto strides, SpatialList(node, "strides", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(auto pads, SpatialList(node, "pads", 2 * spatial, 0, 0));
  if (shape) pads.assign(2 * spatial, 0);
  Formula::Dims dims = Formula::DimsOf(x);
  for (size_t i = 0; i < spatial; ++i) {
    DimExpr& extent = dims[i + 2];
    extent = (extent - 1) * strides[i] + (kernel[i] - pads[i] - pads[spatial + i]);
    if (extent.is_constant() && extent.constant() < 0) {
      return node.Error(
          fmt::format("spatial axis {} of MaxUnpool would have {} elements", i, extent.constant()));
    }
  }
  Formula f(node);
  const DimExpr total = Product(node.context(), dims);
  const DimExpr count = Product(node.context(), x.type().dims());
  const Value at = f.CheckUpTo(f.Reshape(f.Cast(indices, DType::kI64), {count}),
                               f.Extent(total - 1), "an index of MaxUnpool");
  const Value zeros = f.Expand(f.Scalar(x.type().dtype(), 0), {total});
  const Value flat = f.Make<ten::ScatterElementsOp>(zeros, at, f.Reshape(x, {count}),
                                                    ten::ScatterElementsOp::Attrs{.axis = 0});
  const Value out = f.Reshape(flat, dims);
  if (!shape) return f.Return(out);
  // What the shape adds lies behind the elements of each axis.
  const Value have = f.Extents(dims);
  const Value want = f.CheckRange(f.Cast(f.Reshape(shape, {node.Dim(rank)}), DType::kI64), have,
                                  f.Scalar(DType::kI64, static_cast<double>(kLargestImage)),
                                  "an extent of MaxUnpool");
  const std::vector<int64_t> none(static_cast<size_t>(rank), 0);
  const Value parts[] = {f.Ints(none), f.Sub(want, have)};
  const Value growth =
      f.Make<ten::ConcatOp>(std::span<const Value>(parts), ten::ConcatOp::Attrs{.axis = 0});
  return f.Return(f.Make<ten::DynamicPadOp>(out, growth, Value(), Value(),
                                            ten::DynamicPadOp::Attrs{.mode = "constant"}));
}

absl::Status ImportDeformConv(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 5));
  TENON_ASSIGN_OR_RETURN(const nn::ConvOp::Attrs conv, ReadConv(node, node.input(1)));
  nn::DeformConvOp::Attrs attrs{
      .strides = conv.strides, .pads = conv.pads, .dilations = conv.dilations, .group = conv.group};
  TENON_ASSIGN_OR_RETURN(attrs.offset_group, node.Int("offset_group", 1));
  if (const int64_t rank = node.input(0).type().rank(); rank > 5) {
    return node.Unsupported(fmt::format("DeformConv of rank {}", rank), "at most 5");
  }
  return node.Return(node.Make<nn::DeformConvOp>(node.input(0), node.input(1), node.input(2),
                                                 node.input(3), node.input(4), attrs));
}

absl::Status ImportRoiAlign(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  nn::RoiAlignOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.output_height, node.Int("output_height", 1));
  TENON_ASSIGN_OR_RETURN(attrs.output_width, node.Int("output_width", 1));
  TENON_ASSIGN_OR_RETURN(attrs.sampling_ratio, node.Int("sampling_ratio", 0));
  TENON_ASSIGN_OR_RETURN(attrs.spatial_scale, node.Float("spatial_scale", 1));
  TENON_ASSIGN_OR_RETURN(attrs.mode, node.Str("mode", "avg"));
  // Opset 10 has no such attribute.
  const char* fallback = node.version() < 16 ? "output_half_pixel" : "half_pixel";
  TENON_ASSIGN_OR_RETURN(const std::string coordinates,
                         node.Str("coordinate_transformation_mode", fallback));
  attrs.half_pixel = coordinates == "half_pixel";
  if ((attrs.mode != "avg" && attrs.mode != "max") ||
      (!attrs.half_pixel && coordinates != "output_half_pixel")) {
    return node.Error(fmt::format(
        "RoiAlign has the mode \"{}\" and the coordinate_transformation_mode \"{}\" (expected avg "
        "or max, half_pixel or output_half_pixel)",
        attrs.mode, coordinates));
  }
  return node.Return(node.Make<nn::RoiAlignOp>(node.input(0), node.input(1), node.input(2), attrs));
}

absl::Status ImportNonMaxSuppression(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 5));
  nn::NonMaxSuppressionOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.center_point_box, node.Flag("center_point_box", false));
  return node.Return(node.Make<nn::NonMaxSuppressionOp>(node.input(0), node.input(1), node.input(2),
                                                        node.input(3), node.input(4), attrs));
}

}  // namespace tenon::onnx
