// Convolution, pooling, softmax, and what moves between channels and space.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/formula.h"
#include "ir/core/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// What convolution and pooling share.
struct Window {
  std::vector<int64_t> strides, pads, dilations;
  std::string auto_pad;
};

absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node, std::string_view name,
                                                 size_t count, int64_t default_value, int64_t min) {
  TENON_ASSIGN_OR_RETURN(auto values, node.Ints(name));
  if (!values || (values->empty() && count > 0)) return std::vector<int64_t>(count, default_value);
  if (values->size() != count) {
    return node.Error(fmt::format("attribute \"{}\" of {} has {} elements, {} were expected", name,
                                  node.op_type(), values->size(), count));
  }
  for (int64_t value : *values) {
    if (value < min) {
      return node.Error(fmt::format("attribute \"{}\" of {} contains {}, less than {}", name,
                                    node.op_type(), value, min));
    }
  }
  return *std::move(values);
}

absl::StatusOr<Window> ReadWindow(const Node& node, size_t spatial) {
  Window window;
  TENON_ASSIGN_OR_RETURN(window.strides, SpatialList(node, "strides", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(window.dilations, SpatialList(node, "dilations", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(window.pads, SpatialList(node, "pads", 2 * spatial, 0, 0));
  TENON_ASSIGN_OR_RETURN(window.auto_pad, node.Str("auto_pad", "NOTSET"));
  if (window.auto_pad == "NOTSET" || window.auto_pad.empty()) {
    window.auto_pad = "NOTSET";
    return window;
  }
  std::fill(window.pads.begin(), window.pads.end(), 0);
  if (window.auto_pad == "VALID") {
    window.auto_pad = "NOTSET";
  } else if (window.auto_pad != "SAME_UPPER" && window.auto_pad != "SAME_LOWER") {
    return node.Error(fmt::format("auto_pad of {} is \"{}\"", node.op_type(), window.auto_pad));
  }
  return window;
}

absl::StatusOr<size_t> SpatialRank(const Node& node, Value value) {
  const int64_t rank = value.type().rank();
  if (rank < 3) {
    return node.Error(fmt::format("{} needs an input of rank 3 or more, got {}", node.op_type(),
                                  value.type().text()));
  }
  return static_cast<size_t>(rank - 2);
}

template <typename Op>
absl::StatusOr<typename Op::Attrs> ReadPool(const Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, node.input(0)));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  typename Op::Attrs attrs;
  if (node.Find("kernel_shape") == nullptr) {
    return node.Error(fmt::format("{} needs the attribute \"kernel_shape\"", node.op_type()));
  }
  TENON_ASSIGN_OR_RETURN(attrs.kernel, SpatialList(node, "kernel_shape", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(attrs.ceil_mode, node.Flag("ceil_mode", false));
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  attrs.auto_pad = std::move(window.auto_pad);
  return attrs;
}

// Before opset 13 softmax runs over all axes from `axis` on, as if they were one.
template <typename Op>
absl::Status ImportSoftmaxLike(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  const std::span<const DimExpr> dims = x.type().dims();
  const int64_t rank = static_cast<int64_t>(dims.size());
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", node.version() < 13 ? 1 : -1));
  if (rank == 0) return node.Error(fmt::format("{} of a scalar", node.op_type()));
  // The old default is an axis behind the last one for a vector.
  if (node.version() < 13 && axis == rank) axis = rank - 1;
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, rank));
  const bool single =
      node.version() >= 13 ||
      std::all_of(dims.begin() + axis + 1, dims.end(), [](DimExpr d) { return d.is_constant(1); });
  if (single) return node.Return(node.Make<Op>(x, typename Op::Attrs{.axis = axis}));
  ten::ReshapeOp::Attrs flat, back;
  flat.shape.assign(dims.begin(), dims.begin() + axis);
  flat.shape.push_back(Product(node.context(), dims.subspan(axis)));
  back.shape.assign(dims.begin(), dims.end());
  TENON_ASSIGN_OR_RETURN(Value result, node.Make<ten::ReshapeOp>(x, flat));
  TENON_ASSIGN_OR_RETURN(result, node.Make<Op>(result, typename Op::Attrs{.axis = axis}));
  return node.Return(node.Make<ten::ReshapeOp>(result, back));
}

}  // namespace

absl::Status ImportConv(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value w = node.input(1);
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, w));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  TENON_ASSIGN_OR_RETURN(const auto kernel, node.Ints("kernel_shape"));
  for (size_t i = 0; kernel && i < kernel->size(); ++i) {
    const DimExpr dim = i < spatial ? w.type().dim(static_cast<int64_t>(i) + 2) : DimExpr();
    if (kernel->size() != spatial || (dim.is_constant() && dim.constant() != (*kernel)[i])) {
      return node.Error(
          fmt::format("kernel_shape of Conv contradicts its weights {}", w.type().text()));
    }
  }
  nn::ConvOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.group, node.Int("group", 1));
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  attrs.auto_pad = std::move(window.auto_pad);
  return node.Return(node.Make<nn::ConvOp>(node.input(0), w, node.input(2), attrs));
}

absl::Status ImportMaxPool(Node& node) {
  TENON_ASSIGN_OR_RETURN(const nn::MaxPoolOp::Attrs attrs, ReadPool<nn::MaxPoolOp>(node));
  TENON_ASSIGN_OR_RETURN(const bool column_major, node.Flag("storage_order", false));
  if (!node.IsOutputUsed(1)) return node.Return(node.Make<nn::MaxPoolOp>(node.input(0), attrs));
  TENON_ASSIGN_OR_RETURN(const Value out, node.Make<nn::MaxPoolWithIndicesOp>(
                                              node.input(0), nn::MaxPoolWithIndicesOp::Attrs{
                                                                 .kernel = attrs.kernel,
                                                                 .strides = attrs.strides,
                                                                 .pads = attrs.pads,
                                                                 .dilations = attrs.dilations,
                                                                 .ceil_mode = attrs.ceil_mode,
                                                                 .auto_pad = attrs.auto_pad,
                                                                 .column_major = column_major}));
  node.SetOutput(1, out.defining_op()->result(1));
  return node.Return(out);
}

absl::Status ImportLpPool(Node& node) {
  TENON_ASSIGN_OR_RETURN(nn::LpPoolOp::Attrs attrs, ReadPool<nn::LpPoolOp>(node));
  TENON_ASSIGN_OR_RETURN(attrs.p, node.Int("p", 2));
  if (attrs.p < 1) return node.Error(fmt::format("LpPool has the order {}", attrs.p));
  return node.Return(node.Make<nn::LpPoolOp>(node.input(0), attrs));
}

absl::Status ImportConvTranspose(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value x = node.input(0), w = node.input(1);
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, w));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  node.MarkRead("kernel_shape");  // the weights'
  nn::ConvTransposeOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.group, node.Int("group", 1));
  TENON_ASSIGN_OR_RETURN(attrs.output_padding, SpatialList(node, "output_padding", spatial, 0, 0));
  TENON_ASSIGN_OR_RETURN(const auto output_shape, node.Ints("output_shape"));
  if (x.type().rank() != w.type().rank()) {
    return node.Error(
        fmt::format("ConvTranspose of {} with weights {}", x.type().text(), w.type().text()));
  }
  const bool upper = window.auto_pad == "SAME_UPPER",
             same = upper || window.auto_pad == "SAME_LOWER";
  const bool given = output_shape && !output_shape->empty();
  if (given && output_shape->size() != spatial && output_shape->size() != spatial + 2) {
    return node.Error(
        fmt::format("the output_shape of ConvTranspose has {} elements", output_shape->size()));
  }
  for (size_t i = 0; (given || same) && i < spatial; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const DimExpr extent = x.type().dim(axis);
    const DimExpr span = (w.type().dim(axis) - 1) * window.dilations[i] + 1;
    const DimExpr full = (extent - 1) * window.strides[i] + span + attrs.output_padding[i];
    const DimExpr wanted = given ? node.Dim((*output_shape)[output_shape->size() - spatial + i])
                                 : extent * window.strides[i];
    const DimExpr total = full - wanted;
    if (!total.is_constant()) {
      return node.Unsupported(
          fmt::format("ConvTranspose with {} where axis {} of the input, {}, has an extent that is "
                      "not constant",
                      given ? "output_shape" : "auto_pad", axis, x.type().text()));
    }
    // What is missing at the end is output padding.
    const int64_t pads = std::max<int64_t>(0, total.constant());
    attrs.output_padding[i] += pads - total.constant();
    window.pads[i] = upper ? pads / 2 : pads - pads / 2;
    window.pads[spatial + i] = pads - window.pads[i];
  }
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  return node.Return(node.Make<nn::ConvTransposeOp>(x, w, node.input(2), attrs));
}

absl::Status ImportGridSample(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  nn::GridSampleOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.mode, node.Str("mode", node.version() < 20 ? "bilinear" : "linear"));
  TENON_ASSIGN_OR_RETURN(attrs.padding, node.Str("padding_mode", "zeros"));
  TENON_ASSIGN_OR_RETURN(attrs.align_corners, node.Flag("align_corners", false));
  if (attrs.mode == "bilinear") attrs.mode = "linear";
  if (attrs.mode == "bicubic") attrs.mode = "cubic";
  if (attrs.mode != "linear" && attrs.mode != "nearest" && attrs.mode != "cubic") {
    return node.Error(fmt::format("GridSample has the mode \"{}\"", attrs.mode));
  }
  if (attrs.padding != "zeros" && attrs.padding != "border" && attrs.padding != "reflection") {
    return node.Error(fmt::format("GridSample has the padding_mode \"{}\"", attrs.padding));
  }
  return node.Return(node.Make<nn::GridSampleOp>(node.input(0), node.input(1), attrs));
}

namespace {

// Both ways between depth and space: the extents of x with the spatial ones in blocks.
struct Blocks {
  Formula::Dims dims;  // of x
  DimExpr size;
  bool depth_first = true;
};

absl::StatusOr<Blocks> ReadBlocks(const Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Blocks blocks;
  blocks.dims = Formula::DimsOf(node.input(0));
  TENON_ASSIGN_OR_RETURN(const int64_t size, node.Int("blocksize", 0));
  TENON_ASSIGN_OR_RETURN(const std::string mode, node.Str("mode", "DCR"));
  if (blocks.dims.size() != 4 || size < 1 || (mode != "DCR" && mode != "CRD")) {
    return node.Error(
        fmt::format("{} needs an input of rank 4, a blocksize of at least 1 and the "
                    "mode DCR or CRD",
                    node.op_type()));
  }
  blocks.size = node.Dim(size);
  blocks.depth_first = mode == "DCR";
  return blocks;
}

// ---- Col2Im: blocks of an image, a column each, added up where they overlap

using Numbers = std::vector<int64_t>;

// What is laid out by a constant with a number for each element of each column is not larger.
constexpr int64_t kMaxPlaces = int64_t{1} << 24;

// nullopt where it does not fit; the numbers are positive.
std::optional<int64_t> Product(const Numbers& numbers) {
  int64_t product = 1;
  for (int64_t n : numbers) {
    if (__builtin_mul_overflow(product, n, &product)) return std::nullopt;
  }
  return product;
}

// How columns lie in the image; one number for each of its axes.
struct Columns {
  Numbers image, block, dilations, strides, pads;  // pads: those in front
  Numbers counts;                                  // of blocks along each axis
  int64_t area = 0, elements = 0, columns = 0;     // products of image, block and counts
  bool tiles = true;                               // the blocks are all of the image, once

  // The place of column `column` under element `element` of its block, in row-major order;
  // `area` for one in the padding.
  int64_t Place(int64_t element, int64_t column) const {
    int64_t place = 0, weight = 1;
    for (size_t i = image.size(); i-- > 0;) {
      const int64_t at =
          column % counts[i] * strides[i] + element % block[i] * dilations[i] - pads[i];
      column /= counts[i];
      element /= block[i];
      if (at < 0 || at >= image[i]) return area;
      place += at * weight;
      weight *= image[i];
    }
    return place;
  }
};

// Where the sizes are known; nullopt otherwise.
absl::StatusOr<std::optional<Columns>> ReadColumns(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  TENON_ASSIGN_OR_RETURN(const auto image, node.ConstantInts(1));
  TENON_ASSIGN_OR_RETURN(const auto block, node.ConstantInts(2));
  const Type type = node.input(0).type();
  if (!image || !block || !type.is_tensor() || type.rank() != 3) return std::nullopt;
  const size_t axes = image->size();
  if (axes == 0 || block->size() != axes) {
    return node.Error(
        fmt::format("Col2Im has an image of {} axes and blocks of {}", axes, block->size()));
  }
  Columns b;
  b.image = *image;
  b.block = *block;
  TENON_ASSIGN_OR_RETURN(b.dilations, SpatialList(node, "dilations", axes, 1, 1));
  TENON_ASSIGN_OR_RETURN(b.strides, SpatialList(node, "strides", axes, 1, 1));
  TENON_ASSIGN_OR_RETURN(b.pads, SpatialList(node, "pads", 2 * axes, 0, 0));
  for (size_t i = 0; i < axes; ++i) {
    int64_t padded = 0, last = 0;  // the extent with its padding, the last place of the first block
    if (b.block[i] < 1 || b.image[i] < 1 ||
        __builtin_add_overflow(b.image[i], b.pads[i], &padded) ||
        __builtin_add_overflow(padded, b.pads[axes + i], &padded) ||
        __builtin_mul_overflow(b.dilations[i], b.block[i] - 1, &last) || last >= padded) {
      return node.Error(fmt::format("Col2Im has blocks of {} in an image of {} along axis {}",
                                    b.block[i], b.image[i], i));
    }
    b.counts.push_back((padded - 1 - last) / b.strides[i] + 1);
    b.tiles = b.tiles && b.pads[i] == 0 && b.dilations[i] == 1 && b.strides[i] == b.block[i] &&
              b.counts[i] * b.block[i] == b.image[i];
  }
  const std::optional<int64_t> area = Product(b.image), elements = Product(b.block),
                               columns = Product(b.counts);
  if (!area || !elements || !columns) {
    return node.Unsupported("an image of Col2Im has more elements than 64 bits can count");
  }
  b.area = *area;
  b.elements = *elements;
  b.columns = *columns;
  return b;
}

}  // namespace

absl::Status ImportDepthToSpace(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Blocks b, ReadBlocks(node));
  const DimExpr depth = FloorDiv(b.dims[1], b.size * b.size), h = b.dims[2], w = b.dims[3];
  Formula f(node);
  const Value x = node.input(0);
  const Value split = b.depth_first ? f.Reshape(x, {b.dims[0], b.size, b.size, depth, h, w})
                                    : f.Reshape(x, {b.dims[0], depth, b.size, b.size, h, w});
  const Value moved = b.depth_first ? f.Transpose(split, {0, 3, 4, 1, 5, 2})
                                    : f.Transpose(split, {0, 1, 4, 2, 5, 3});
  return f.Return(f.Reshape(moved, {b.dims[0], depth, h * b.size, w * b.size}));
}

absl::Status ImportSpaceToDepth(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Blocks b, ReadBlocks(node));
  const DimExpr h = FloorDiv(b.dims[2], b.size), w = FloorDiv(b.dims[3], b.size);
  Formula f(node);
  const Value split = f.Reshape(node.input(0), {b.dims[0], b.dims[1], h, b.size, w, b.size});
  return f.Return(f.Reshape(f.Transpose(split, {0, 3, 5, 1, 2, 4}),
                            {b.dims[0], b.dims[1] * b.size * b.size, h, w}));
}

absl::Status ImportCol2Im(Node& node) {
  TENON_ASSIGN_OR_RETURN(const auto blocks, ReadColumns(node));
  if (!blocks) return node.Unsupported("Col2Im needs constant sizes of the image and its blocks");
  const Columns& b = *blocks;
  const size_t axes = b.image.size();
  const Value x = node.input(0);
  const DimExpr batch = x.type().dim(0), depth = FloorDiv(x.type().dim(1), node.Dim(b.elements));
  Formula f(node);
  Formula::Dims image = {batch, depth};
  for (int64_t extent : b.image) image.push_back(node.Dim(extent));
  if (b.tiles) {
    Formula::Dims split = {batch, depth};
    Numbers perm = {0, 1};
    for (int64_t extent : b.block) split.push_back(node.Dim(extent));
    for (int64_t count : b.counts) split.push_back(node.Dim(count));
    for (size_t i = 0; i < axes; ++i) {
      perm.push_back(static_cast<int64_t>(2 + axes + i));
      perm.push_back(static_cast<int64_t>(2 + i));
    }
    return f.Return(f.Reshape(f.Transpose(f.Reshape(x, split), perm), image));
  }
  // Elements are added to rows of places; the last row takes what lies in the padding.
  int64_t num_places = 0;
  if (__builtin_mul_overflow(b.elements, b.columns, &num_places) || num_places > kMaxPlaces) {
    return node.Unsupported(fmt::format("Col2Im has {} columns of {} elements: more than {}",
                                        b.columns, b.elements, kMaxPlaces));
  }
  Numbers places;
  places.reserve(static_cast<size_t>(num_places));
  for (int64_t element = 0; element < b.elements; ++element) {
    for (int64_t column = 0; column < b.columns; ++column) {
      places.push_back(b.Place(element, column));
    }
  }
  const DimExpr count = node.Dim(num_places), area = node.Dim(b.area);
  const Value updates = f.Transpose(f.Reshape(x, {batch, depth, count}), {2, 0, 1});
  const Value zeros = f.Expand(f.Scalar(x.type().dtype(), 0), {area + f.One(), batch, depth});
  const Value sums = f.Make<ten::ScatterNdOp>(zeros, f.Reshape(f.Ints(places), {count, f.One()}),
                                              updates, ten::ScatterNdOp::Attrs{.reduction = "add"});
  const Value kept = f.Make<ten::SliceOp>(
      sums,
      ten::SliceOp::Attrs{.axes = {0}, .starts = {node.Dim(0)}, .ends = {area}, .steps = {1}});
  return f.Return(f.Reshape(f.Transpose(kept, {1, 2, 0}), image));
}

absl::Status ImportAveragePool(Node& node) {
  TENON_ASSIGN_OR_RETURN(nn::AveragePoolOp::Attrs attrs, ReadPool<nn::AveragePoolOp>(node));
  TENON_ASSIGN_OR_RETURN(attrs.count_include_pad, node.Flag("count_include_pad", false));
  return node.Return(node.Make<nn::AveragePoolOp>(node.input(0), attrs));
}

absl::Status ImportSoftmax(Node& node) { return ImportSoftmaxLike<nn::SoftmaxOp>(node); }
absl::Status ImportHardmax(Node& node) { return ImportSoftmaxLike<nn::HardmaxOp>(node); }
absl::Status ImportLogSoftmax(Node& node) { return ImportSoftmaxLike<nn::LogSoftmaxOp>(node); }

}  // namespace tenon::onnx
