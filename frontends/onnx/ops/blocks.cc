// Blocks of pixels: between depth and space, and columns that are added up to an image.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/image_attributes.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
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
    return node.Error(fmt::format(
        "Col2Im has an image of {} axes and blocks of {} (expected as many)", axes, block->size()));
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
      return node.Error(fmt::format(
          "Col2Im has blocks of {} in an image of {} along axis {} (expected blocks that fit)",
          b.block[i], b.image[i], i));
    }
    b.counts.push_back((padded - 1 - last) / b.strides[i] + 1);
    b.tiles = b.tiles && b.pads[i] == 0 && b.dilations[i] == 1 && b.strides[i] == b.block[i] &&
              b.counts[i] * b.block[i] == b.image[i];
  }
  const std::optional<int64_t> area = Product(b.image), elements = Product(b.block),
                               columns = Product(b.counts);
  if (!area || !elements || !columns) {
    return node.Unsupported("an image of more elements than 64 bits can count", "a smaller image");
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
  const Value moved = b.depth_first ? f.Transpose(split, {0, 3, 5, 1, 2, 4})
                                    : f.Transpose(split, {0, 1, 3, 5, 2, 4});
  return f.Return(f.Reshape(moved, {b.dims[0], b.dims[1] * b.size * b.size, h, w}));
}

absl::Status ImportCol2Im(Node& node) {
  TENON_ASSIGN_OR_RETURN(const auto blocks, ReadColumns(node));
  if (!blocks) return ImportCol2ImAtRunTime(node);
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
    return node.Unsupported(
        fmt::format("Col2Im of {} columns of {} elements", b.columns, b.elements),
        fmt::format("at most {} elements in all", kMaxPlaces));
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

}  // namespace tenon::onnx
