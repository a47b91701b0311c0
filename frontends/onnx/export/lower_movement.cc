// Shapes and data movement.
#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// The axes of extent 1 that `more` has beside those of `less`, in order; none if they are not all.
std::vector<int64_t> AddedAxes(std::span<const DimExpr> more, std::span<const DimExpr> less) {
  std::vector<int64_t> added;
  size_t next = 0;
  for (size_t i = 0; i < more.size(); ++i) {
    if (next < less.size() && DimExpr::ProvablyEqual(more[i], less[next])) {
      ++next;
    } else if (more[i].is_constant(1)) {
      added.push_back(static_cast<int64_t>(i));
    } else {
      return {};
    }
  }
  return next == less.size() ? added : std::vector<int64_t>();
}

// The shape input of Reshape. 0 copies an extent of x; -1 stands for the only other extent that is
// no number, if the rest are numbers: ONNX cannot find it beside an extent of 0.
// A tensor without elements of these extents.
Value Empty(Lowering& l, DType dtype, std::span<const DimExpr> dims) {
  return l.Node("Expand", {l.Scalar(dtype, 0), l.Extents(dims)});
}

// The attribute without which a 0 in the shape input stands for an extent of x. Opsets that lack it
// get none: their Reshape cannot make an extent that only a run knows to be 0.
Lowering::Attrs AllowZero(const Lowering& l) {
  const std::optional<NodeForm> form = FormOf("Reshape", l.opset());
  if (!form || !form->HasAttribute("allowzero")) return {};
  return {{"allowzero", l.Int(1)}};
}

void Reshape(Lowering& l, const ten::ReshapeOp& op) {
  const std::span<const DimExpr> dims = op.shape();
  const Type type = op.x().type();
  std::vector<int64_t> numbers;
  bool copies = false, zero = false;
  int unknown = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_constant()) {
      numbers.push_back(dims[i].constant());
      zero |= dims[i].constant() == 0;
    } else if (type.is_tensor() && static_cast<int64_t>(i) < type.rank() &&
               DimExpr::ProvablyEqual(dims[i], type.dim(static_cast<int64_t>(i)))) {
      numbers.push_back(0);
      copies = true;
    } else {
      numbers.push_back(-1);
      ++unknown;
    }
  }
  if (zero && AllowZero(l).empty()) return l.Done(Empty(l, op.x().type().dtype(), dims));
  const bool simple = !(zero && (copies || unknown > 0)) && !(copies && unknown > 0);
  if (simple && unknown <= 1) {
    const Lowering::Attrs attrs = zero ? AllowZero(l) : Lowering::Attrs();
    return l.Done(l.Node("Reshape", {op.x(), l.Ints(numbers)}, attrs));
  }
  if (type.is_tensor()) {
    const std::vector<int64_t> added = AddedAxes(dims, type.dims());
    if (!added.empty()) return l.Done(l.Node("Unsqueeze", {op.x(), l.Ints(added)}));
    const std::vector<int64_t> dropped = AddedAxes(type.dims(), dims);
    if (!dropped.empty()) return l.Done(l.Node("Squeeze", {op.x(), l.Ints(dropped)}));
  }
  l.Done(l.Node("Reshape", {op.x(), l.Extents(dims)}, AllowZero(l)));
}

void Slice(Lowering& l, const ten::SliceOp& op) {
  const auto attrs = op.attrs();
  const Value starts = l.Extents(attrs.starts), ends = l.Extents(attrs.ends);
  l.Done(l.Node("Slice", {op.x(), starts, ends, l.Ints(attrs.axes), l.Ints(attrs.steps)}));
}

void DynamicSlice(Lowering& l, const ten::DynamicSliceOp& op) {
  std::vector<Value> inputs = {op.x()};
  for (const Value value : {op.starts(), op.ends(), op.axes(), op.steps()}) {
    inputs.push_back(value ? l.ToI64(value) : Value());
  }
  l.Done(l.Node("Slice", inputs));
}

void Split(Lowering& l, const ten::SplitOp& op) {
  const auto attrs = op.attrs();
  Operation* node = l.Nodes("Split", {op.x(), l.Extents(attrs.sizes)},
                            {{"axis", l.Int(attrs.axis)}}, l.op().num_results());
  if (node == nullptr) return;
  std::vector<Value> results;
  for (unsigned i = 0; i < node->num_results(); ++i) results.push_back(node->result(i));
  l.Done(results);
}

template <typename Op>
void Pad(Lowering& l, const Op& op, Value pads, Value axes) {
  const std::string mode(op.mode());
  if (mode == "wrap" && !l.Needs(19, "the mode wrap of Pad")) return;
  l.Done(l.Node("Pad", {op.x(), pads, op.value(), axes}, {{"mode", l.Str(mode)}}));
}

void Scatter(Lowering& l, std::string_view node, Lowering::Attrs attrs,
             std::string_view reduction) {
  if (reduction == "max" || reduction == "min") {
    if (!l.Needs(18, fmt::format("the reduction {} of {}", reduction, node))) return;
  }
  if (reduction != "none") attrs.emplace_back("reduction", l.Str(reduction));
  l.Done(l.Node(node, {l.operand(0), l.operand(1), l.operand(2)}, attrs));
}

template <typename Op>
Lowering::Attrs ResizeAttrs(Lowering& l, const Op& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs made = {{"mode", l.Str(attrs.mode)},
                          {"coordinate_transformation_mode", l.Str(attrs.coordinate_mode)}};
  if (attrs.mode == "nearest") made.emplace_back("nearest_mode", l.Str(attrs.nearest_mode));
  if (attrs.mode == "cubic") made.emplace_back("cubic_coeff_a", l.Float(attrs.cubic_coeff_a));
  if (attrs.exclude_outside) made.emplace_back("exclude_outside", l.Int(1));
  if (attrs.antialias) made.emplace_back("antialias", l.Int(1));
  if (attrs.extrapolation_value != 0)
    made.emplace_back("extrapolation_value", l.Float(attrs.extrapolation_value));
  if (attrs.coordinate_mode == "half_pixel_symmetric")
    l.Needs(19, "the coordinates half_pixel_symmetric of Resize");
  return made;
}

void Resize(Lowering& l, const ten::ResizeOp& op) {
  const auto attrs = op.attrs();
  const Value roi = attrs.roi.empty() ? Value() : l.Floats(attrs.roi);
  const Value scales = attrs.scales.empty() ? Value() : l.Floats(attrs.scales);
  const Value sizes = scales ? Value() : l.Extents(attrs.sizes);
  l.Done(l.Node("Resize", {op.x(), roi, scales, sizes}, ResizeAttrs(l, op)));
}

void DynamicResize(Lowering& l, const ten::DynamicResizeOp& op) {
  const auto attrs = op.attrs();
  Lowering::Attrs node_attrs = ResizeAttrs(l, op);
  if (!attrs.axes.empty()) node_attrs.emplace_back("axes", l.IntList(attrs.axes));
  if (attrs.policy != "stretch")
    node_attrs.emplace_back("keep_aspect_ratio_policy", l.Str(attrs.policy));
  const Value sizes = op.sizes() ? l.ToI64(op.sizes()) : Value();
  l.Done(l.Node("Resize", {op.x(), op.roi(), op.scales(), sizes}, node_attrs));
}

void ExtentsOf(Lowering& l, const core::DimsOp& op) {
  const Value vector = l.Extents(op.dims());
  l.Done(op.scalar() ? l.Node("Squeeze", {vector, l.Ints({0})}) : vector);
}

// Nodes that take operands and one number.
bool LowerWithNumber(Lowering& l) {
  Operation& op = l.op();
  const auto two = [&](std::string_view node, std::string_view attr, int64_t value) {
    l.Done(l.Node(node, {l.operand(0), l.operand(1)}, {{attr, l.Int(value)}}));
    return true;
  };
  switch (op.id()) {
    case ten::GatherOp::kId:
      return two("Gather", "axis", ten::GatherOp(&op).axis());
    case ten::GatherElementsOp::kId:
      return two("GatherElements", "axis", ten::GatherElementsOp(&op).axis());
    case ten::GatherNdOp::kId:
      return two("GatherND", "batch_dims", ten::GatherNdOp(&op).batch_dims());
    case ten::DynamicReshapeOp::kId:
      if (ten::DynamicReshapeOp(&op).allow_zero()) return two("Reshape", "allowzero", 1);
      l.Done(l.Node("Reshape", {l.operand(0), l.operand(1)}));
      return true;
    case ten::DynamicTriluOp::kId: {
      const Value diagonal = l.Node("Reshape", {l.ToI64(l.operand(1)), l.Ints({})});
      l.Done(l.Node("Trilu", {l.operand(0), diagonal},
                    {{"upper", l.Int(ten::DynamicTriluOp(&op).upper() ? 1 : 0)}}));
      return true;
    }
    case ten::TriluOp::kId: {
      const auto attrs = ten::TriluOp(&op).attrs();
      const Value diagonal = l.Scalar(DType::kI64, static_cast<double>(attrs.diagonal));
      l.Done(l.Node("Trilu", {l.operand(0), diagonal}, {{"upper", l.Int(attrs.upper ? 1 : 0)}}));
      return true;
    }
    case ten::ScatterNdOp::kId:
      Scatter(l, "ScatterND", {}, ten::ScatterNdOp(&op).reduction());
      return true;
    case ten::ScatterElementsOp::kId:
      Scatter(l, "ScatterElements", {{"axis", l.Int(ten::ScatterElementsOp(&op).axis())}},
              ten::ScatterElementsOp(&op).reduction());
      return true;
    default:
      return false;
  }
}

// Nodes whose second input says where elements go.
bool LowerDynamic(Lowering& l) {
  const auto two = [&](std::string_view node) {
    l.Done(l.Node(node, {l.operand(0), l.ToI64(l.operand(1))}));
    return true;
  };
  Operation& op = l.op();
  switch (op.id()) {
    case ten::DynamicSqueezeOp::kId:
      return two("Squeeze");
    case ten::DynamicUnsqueezeOp::kId:
      return two("Unsqueeze");
    case ten::DynamicExpandOp::kId:
      return two("Expand");
    case ten::DynamicTileOp::kId:
      return two("Tile");
    case ten::DynamicSliceOp::kId:
      DynamicSlice(l, ten::DynamicSliceOp(&op));
      return true;
    case ten::DynamicPadOp::kId: {
      const ten::DynamicPadOp pad(&op);
      Pad(l, pad, l.ToI64(pad.pads()), pad.axes() ? l.ToI64(pad.axes()) : Value());
      return true;
    }
    case ten::DynamicResizeOp::kId:
      DynamicResize(l, ten::DynamicResizeOp(&op));
      return true;
    case ten::RangeOp::kId:
      l.Done(l.Node("Range", {l.operand(0), l.operand(1), l.operand(2)}));
      return true;
    default:
      return false;
  }
}

}  // namespace

bool LowerMovement(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case core::DimsOp::kId:
      ExtentsOf(l, core::DimsOp(&op));
      return true;
    case ten::ShapeOp::kId: {
      const auto attrs = ten::ShapeOp(&op).attrs();
      l.Done(l.ShapeOf(l.operand(0), attrs.start, attrs.end));
      return true;
    }
    case ten::ReshapeOp::kId:
      Reshape(l, ten::ReshapeOp(&op));
      return true;
    case ten::ExpandOp::kId:
      l.Done(l.Node("Expand", {l.operand(0), l.Extents(ten::ExpandOp(&op).shape())}));
      return true;
    case ten::TransposeOp::kId:
      l.Done(l.Transpose(l.operand(0), ten::TransposeOp(&op).perm()));
      return true;
    case ten::ConcatOp::kId:
      l.Done(l.Node("Concat", ten::ConcatOp(&op).inputs(),
                    {{"axis", l.Int(ten::ConcatOp(&op).axis())}}));
      return true;
    case ten::SliceOp::kId:
      Slice(l, ten::SliceOp(&op));
      return true;
    case ten::SplitOp::kId:
      Split(l, ten::SplitOp(&op));
      return true;
    case ten::PadOp::kId:
      Pad(l, ten::PadOp(&op), l.Extents(ten::PadOp(&op).pads()), Value());
      return true;
    case ten::TileOp::kId:
      l.Done(l.Node("Tile", {l.operand(0), l.Extents(ten::TileOp(&op).repeats())}));
      return true;
    case ten::ResizeOp::kId:
      Resize(l, ten::ResizeOp(&op));
      return true;
    default:
      return LowerWithNumber(l) || LowerDynamic(l);
  }
}

}  // namespace tenon::onnx
