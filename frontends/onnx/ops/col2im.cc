// Col2Im whose image and blocks only a run knows. blocks.cc has the form with known sizes.
#include <fmt/format.h>

#include <limits>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/image_attributes.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<int64_t>;

// Larger extents are errors of the run, so that sums and products of two cannot overflow.
constexpr double kMaxImageExtent = 1 << 30;

// Makes the places of all elements of all blocks in the image, one spatial axis after the other.
class Places {
 public:
  Places(Node& node, Formula& f, int64_t axes) : node_(node), f_(f), axes_(axes) {}

  absl::Status ReadAttributes();
  // Adds axis i. `image` and `block` are its extents, i64 scalars.
  void AddAxis(int64_t i, Value image, Value block);
  // The place of each element in the flattened image, [blocks…, counts…]. Those in the padding have
  // the place `area`, the number of elements of the image.
  Value place() { return f_.Where(inside_, place_, area_); }
  Value area() const { return area_; }
  // The elements of a block, and the blocks of an image, i64 scalars.
  Value elements() const { return elements_; }
  Value blocks() const { return blocks_; }

 private:
  Value Int(int64_t value) { return f_.Scalar(DType::kI64, static_cast<double>(value)); }
  // 0, 1, … below `end` along an axis of the places.
  Value Iota(Value end, int64_t axis);

  Node& node_;
  Formula& f_;
  int64_t axes_;
  Numbers dilations_, strides_, pads_;
  Value place_, inside_, area_, elements_, blocks_;
};

absl::Status Places::ReadAttributes() {
  const auto axes = static_cast<size_t>(axes_);
  TENON_ASSIGN_OR_RETURN(dilations_, SpatialList(node_, "dilations", axes, 1, 1));
  TENON_ASSIGN_OR_RETURN(strides_, SpatialList(node_, "strides", axes, 1, 1));
  TENON_ASSIGN_OR_RETURN(pads_, SpatialList(node_, "pads", 2 * axes, 0, 0));
  for (const Numbers* list : {&dilations_, &strides_, &pads_}) {
    for (int64_t number : *list) {
      if (static_cast<double>(number) <= kMaxImageExtent) continue;
      return node_.Error(fmt::format("Col2Im has the attribute value {} (expected at most {})",
                                     number, static_cast<int64_t>(kMaxImageExtent)));
    }
  }
  return absl::OkStatus();
}

Value Places::Iota(Value end, int64_t axis) {
  return f_.Along(f_.Make<ten::RangeOp>(Int(0), end, Int(1)), axis, 2 * axes_);
}

void Places::AddAxis(int64_t i, Value image, Value block) {
  const auto at = static_cast<size_t>(i);
  const Value padded = f_.Add(image, Int(pads_[at] + pads_[at + static_cast<size_t>(axes_)]));
  const Value last = f_.Mul(f_.Sub(block, Int(1)), Int(dilations_[at]));
  const Value room = f_.CheckUpTo(f_.Sub(f_.Sub(padded, Int(1)), last),
                                  f_.Scalar(DType::kI64, 4 * kMaxImageExtent),
                                  "the room of Col2Im for a block in its image");
  const Value count = f_.Add(f_.Div(room, Int(strides_[at])), Int(1));
  const Value within = f_.Mul(Iota(block, i), Int(dilations_[at]));
  const Value start = f_.Sub(f_.Mul(Iota(count, axes_ + i), Int(strides_[at])), Int(pads_[at]));
  const Value position = f_.Add(within, start);
  const Value inside =
      f_.And(f_.Make<ten::GreaterEqualOp>(position, Int(0)), f_.Make<ten::LessOp>(position, image));
  place_ = place_ ? f_.Add(f_.Mul(place_, image), position) : position;
  inside_ = inside_ ? f_.And(inside_, inside) : inside;
  area_ = area_ ? f_.Mul(area_, image) : image;
  elements_ = elements_ ? f_.Mul(elements_, block) : block;
  blocks_ = blocks_ ? f_.Mul(blocks_, count) : count;
}

}  // namespace

absl::Status ImportCol2ImAtRunTime(Node& node) {
  const Value x = node.input(0);
  if (x.type().rank() != 3 || node.input(1).type().rank() != 1 ||
      node.input(2).type().rank() != 1) {
    return node.Error(fmt::format("the inputs of Col2Im are {}, {} and {} (expected ranks 3, 1, 1)",
                                  x.type().text(), node.input(1).type().text(),
                                  node.input(2).type().text()));
  }
  const DimExpr length = node.input(1).type().dim(0);
  if (!length.is_constant() || length.is_constant(0) || node.input(2).type().dim(0) != length) {
    return node.Unsupported("Col2Im of an unknown number of axes",
                            "an image_shape and a block_shape of one known length");
  }
  Formula f(node);
  const int64_t axes = length.constant();
  const auto sizes = [&](int input, const char* what) {
    return f.CheckRange(f.Cast(node.input(input), DType::kI64), f.Scalar(DType::kI64, 1),
                        f.Scalar(DType::kI64, kMaxImageExtent), what);
  };
  const Value image = sizes(1, "an extent of the image of Col2Im");
  const Value block = sizes(2, "an extent of the blocks of Col2Im");
  const auto element = [&](Value list, int64_t i) {
    const Value index = f.Scalar(DType::kI64, static_cast<double>(i));
    return f.Make<ten::GatherOp>(list, index, ten::GatherOp::Attrs{.axis = 0});
  };
  Places places(node, f, axes);
  TENON_RETURN_IF_ERROR(places.ReadAttributes());
  for (int64_t i = 0; i < axes; ++i) {
    places.AddAxis(i, element(image, i), element(block, i));
    if (!f.ok()) return f.status();
  }
  // The blocks of all channels must be all of x.
  const auto equal = [&](Value value, DimExpr extent, const char* what) {
    return f.CheckRange(value, f.Extent(extent), f.Extent(extent), what);
  };
  const Value elements = places.elements(), given = f.Extent(x.type().dim(1));
  const Value channels = equal(f.Mul(f.Div(given, elements), elements), x.type().dim(1),
                               "the second extent of x in whole blocks of Col2Im");
  const Value blocks =
      equal(places.blocks(), x.type().dim(2), "the number of blocks of Col2Im in its image");
  const Value split[] = {f.Extents({x.type().dim(0)}),
                         f.Reshape(f.Div(channels, elements), {f.One()}),
                         f.Reshape(f.Mul(elements, blocks), {f.One()})};
  const Value columns = f.Make<ten::DynamicReshapeOp>(
      x, f.Make<ten::ConcatOp>(split, ten::ConcatOp::Attrs{.axis = 0}));
  if (!f.ok()) return f.status();
  // Elements are added to rows of places; the last row takes what lies in the padding.
  const DimExpr batch = x.type().dim(0), depth = columns.type().dim(1),
                count = columns.type().dim(2);
  const Value updates = f.Transpose(columns, {2, 0, 1});
  const Value rows[] = {f.Reshape(f.Add(places.area(), f.Scalar(DType::kI64, 1)), {f.One()}),
                        f.Extents({batch, depth})};
  const Value zeros = f.Make<ten::DynamicExpandOp>(
      f.Scalar(x.type().dtype(), 0), f.Make<ten::ConcatOp>(rows, ten::ConcatOp::Attrs{.axis = 0}));
  if (!f.ok()) return f.status();
  const DimExpr area = zeros.type().dim(0) - 1;
  const Value sums = f.Make<ten::ScatterNdOp>(zeros, f.Reshape(places.place(), {count, f.One()}),
                                              updates, ten::ScatterNdOp::Attrs{.reduction = "add"});
  const Value kept = f.Make<ten::SliceOp>(
      sums,
      ten::SliceOp::Attrs{.axes = {0}, .starts = {node.Dim(0)}, .ends = {area}, .steps = {1}});
  const Value shape[] = {f.Extents({batch, depth}), image};
  const Value flat = f.Transpose(kept, {1, 2, 0});
  Value out = f.Make<ten::DynamicReshapeOp>(
      flat, f.Make<ten::ConcatOp>(shape, ten::ConcatOp::Attrs{.axis = 0}));
  if (!f.ok()) return f.status();
  Formula::Dims dims = Formula::DimsOf(out);
  dims[0] = batch;
  dims[1] = depth;
  out.set_type(WithDims(out.type(), dims));
  return node.Return(out);
}

}  // namespace tenon::onnx
