// Data movement: parts of tensors, joined and picked.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using DimList = std::vector<DimExpr>;

// ten.slice of the axes with their bounds, in the order of the axes.
absl::Status StaticSlice(Node& node, const DimList& starts, const DimList& ends,
                         std::vector<int64_t> axes, const std::vector<int64_t>& steps) {
  const int64_t rank = node.input(0).type().rank();
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return node.Error(
        fmt::format("Slice has {} starts, {} ends, {} axes and {} steps (expected as many of each)",
                    starts.size(), ends.size(), axes.size(), steps.size()));
  }
  std::map<int64_t, size_t> order;
  for (size_t i = 0; i < axes.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Axis(axes[i], rank));
    if (!order.emplace(axis, i).second) return node.Error("Slice names an axis twice");
  }
  ten::SliceOp::Attrs attrs;
  for (const auto& [axis, i] : order) {
    attrs.axes.push_back(axis);
    attrs.starts.push_back(starts[i]);
    attrs.ends.push_back(ends[i]);
    attrs.steps.push_back(steps[i]);
  }
  return node.Return(node.Make<ten::SliceOp>(node.input(0), attrs));
}

std::vector<int64_t> FirstAxes(size_t count) {
  std::vector<int64_t> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

DimList Constants(const Node& node, std::span<const int64_t> values) {
  DimList dims;
  for (int64_t value : values) dims.push_back(node.Dim(value));
  return dims;
}

absl::Status SliceByAttributes(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const auto starts, node.Ints("starts"));
  TENON_ASSIGN_OR_RETURN(const auto ends, node.Ints("ends"));
  TENON_ASSIGN_OR_RETURN(const auto axes, node.Ints("axes"));
  if (!starts || !ends) return node.Error("Slice needs starts and ends");
  return StaticSlice(node, Constants(node, *starts), Constants(node, *ends),
                     axes.value_or(FirstAxes(starts->size())),
                     std::vector<int64_t>(starts->size(), 1));
}

// The sizes of `parts` equal parts of `extent`; the last may be smaller from opset 18 on.
absl::StatusOr<DimList> EqualParts(const Node& node, DimExpr extent, int64_t parts) {
  if (extent.is_constant() && extent.constant() % parts != 0) {
    const int64_t size = extent.constant() / parts + 1;
    const int64_t last = extent.constant() - size * (parts - 1);
    const std::string message =
        fmt::format("Split cannot cut {} into {} parts", extent.constant(), parts);
    if (node.version() < 18) return node.Error(message);
    // Published function bodies contain such nodes in branches that are never taken.
    if (last < 0) {
      return node.Unsupported(
          fmt::format("an axis of {} that cannot be cut into {} parts", extent.constant(), parts),
          "parts that do not exceed the axis");
    }
    DimList sizes(parts, node.Dim(size));
    sizes.back() = node.Dim(last);
    return sizes;
  }
  const std::optional<DimExpr> exact = DimExpr::ExactDiv(extent, node.Dim(parts));
  if (exact) return DimList(parts, *exact);
  // Before opset 18 a valid model has an extent that divides.
  if (node.version() < 18) return DimList(parts, FloorDiv(extent, parts));
  DimList sizes(parts, CeilDiv(extent, parts));
  sizes.back() = extent - sizes.back() * (parts - 1);
  return sizes;
}

// Parts whose sizes are values: slices between their running sums, the last of which is the extent.
absl::Status SplitAtRunTime(Node& node, int64_t axis) {
  const Value x = node.input(0);
  const int parts = node.num_outputs();
  if (node.input(1).type().rank() != 1) {
    return node.Error(
        fmt::format("the sizes of Split must be a vector, got {}", node.input(1).type().text()));
  }
  Formula f(node);
  const DimExpr axis_extent = x.type().dim(axis);
  const Value extent = f.Extent(axis_extent);
  const Value sizes = f.CheckUpTo(f.Cast(f.Reshape(node.input(1), {node.Dim(parts)}), DType::kI64),
                                  extent, "a size of Split");
  Formula::Dims least(static_cast<size_t>(parts), node.Dim(0));
  least.back() = axis_extent;
  const Value ends = f.CheckRange(f.Make<ten::CumsumOp>(sizes, ten::CumsumOp::Attrs{.axis = 0}),
                                  f.Extents(least), extent, "the sum of the sizes of Split");
  const Value starts = f.Sub(ends, sizes);
  const Value axes = f.Ints(std::span(&axis, 1));
  for (int i = 0; i < node.num_outputs(); ++i) {
    const ten::SliceOp::Attrs part{
        .axes = {0}, .starts = {node.Dim(i)}, .ends = {node.Dim(i + 1)}, .steps = {1}};
    Value result = f.Make<ten::DynamicSliceOp>(x, f.Make<ten::SliceOp>(starts, part),
                                               f.Make<ten::SliceOp>(ends, part), axes, Value());
    if (!f.ok()) return f.status();
    // Only the axis that is cut has another extent than x.
    DimList dims(x.type().dims().begin(), x.type().dims().end());
    dims[axis] = result.type().dim(axis);
    result.set_type(WithDims(result.type(), dims));
    node.SetOutput(i, result);
  }
  return absl::OkStatus();
}

// A scalar fill: some exporters write a vector of one element.
absl::StatusOr<Value> PadValue(Node& node, const std::string& mode) {
  const Value value = node.input(2);
  if (!value || mode != "constant") return Value();
  if (value.type().rank() == 0) return value;
  return node.Make<ten::ReshapeOp>(value, ten::ReshapeOp::Attrs{});
}

absl::Status PadAtRunTime(Node& node, const std::string& mode) {
  TENON_ASSIGN_OR_RETURN(const Value value, PadValue(node, mode));
  return node.Return(node.Make<ten::DynamicPadOp>(
      node.input(0), node.input(1), value, node.input(3), ten::DynamicPadOp::Attrs{.mode = mode}));
}

}  // namespace

absl::Status ImportConcat(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, static_cast<int>(kMaxOperands)));
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.input(i)) return node.Error(fmt::format("input {} of Concat is missing", i));
  }
  if (node.Find("axis") == nullptr) return node.Error("Concat needs the attribute \"axis\"");
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, node.input(0).type().rank()));
  if (node.num_inputs() == 1) return node.Return(node.input(0));
  return node.Return(node.Make<ten::ConcatOp>(node.inputs(), ten::ConcatOp::Attrs{.axis = axis}));
}

absl::Status ImportSlice(Node& node) {
  if (node.version() < 10) return SliceByAttributes(node);
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 5));
  TENON_ASSIGN_OR_RETURN(const auto starts, node.Extents(1));
  TENON_ASSIGN_OR_RETURN(const auto ends, node.Extents(2));
  std::optional<std::vector<int64_t>> axes, steps;
  if (starts) axes = FirstAxes(starts->size()), steps.emplace(starts->size(), 1);
  if (node.input(3)) {
    TENON_ASSIGN_OR_RETURN(axes, node.ConstantInts(3));
  }
  if (node.input(4)) {
    TENON_ASSIGN_OR_RETURN(steps, node.ConstantInts(4));
  }
  if (starts && ends && axes && steps) {
    if (std::find(steps->begin(), steps->end(), 0) != steps->end()) {
      return node.Error("a step of Slice is 0");
    }
    return StaticSlice(node, *starts, *ends, *axes, *steps);
  }
  return node.Return(node.Make<ten::DynamicSliceOp>(node.input(0), node.input(1), node.input(2),
                                                    node.input(3), node.input(4)));
}

absl::Status ImportSplit(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, node.version() < 13 ? 1 : 2));
  ten::SplitOp::Attrs attrs;
  const Value x = node.input(0);
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis, x.type().rank()));
  TENON_ASSIGN_OR_RETURN(int64_t parts, node.Int("num_outputs", node.num_outputs()));
  if (parts != node.num_outputs() || parts < 1) {
    return node.Error(fmt::format("Split into {} parts has {} outputs (expected as many)", parts,
                                  node.num_outputs()));
  }
  if (node.version() < 13) {
    TENON_ASSIGN_OR_RETURN(const auto sizes, node.Ints("split"));
    if (sizes) attrs.sizes = Constants(node, *sizes);
  } else if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(const auto sizes, node.Extents(1));
    if (!sizes) return SplitAtRunTime(node, attrs.axis);
    attrs.sizes = *sizes;
  }
  if (attrs.sizes.empty()) {
    TENON_ASSIGN_OR_RETURN(attrs.sizes, EqualParts(node, x.type().dim(attrs.axis), parts));
  }
  if (attrs.sizes.size() != static_cast<size_t>(parts)) {
    return node.Error(fmt::format("Split has {} sizes and {} outputs (expected as many of each)",
                                  attrs.sizes.size(), parts));
  }
  TENON_ASSIGN_OR_RETURN(const Value first, node.Make<ten::SplitOp>(x, attrs));
  Operation* op = first.defining_op();
  for (int i = 0; i < node.num_outputs(); ++i) {
    node.SetOutput(i, op->result(static_cast<unsigned>(i)));
  }
  return absl::OkStatus();
}

absl::Status ImportGather(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, node.input(0).type().rank()));
  return node.Return(
      node.Make<ten::GatherOp>(node.input(0), node.input(1), ten::GatherOp::Attrs{.axis = axis}));
}

absl::Status ImportGatherElements(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, node.input(0).type().rank()));
  return node.Return(node.Make<ten::GatherElementsOp>(node.input(0), node.input(1),
                                                      ten::GatherElementsOp::Attrs{.axis = axis}));
}

absl::Status ImportGatherND(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  ten::GatherNdOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.batch_dims, node.Int("batch_dims", 0));
  return node.Return(node.Make<ten::GatherNdOp>(node.input(0), node.input(1), attrs));
}

absl::Status ImportScatterND(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  ten::ScatterNdOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.reduction, node.Str("reduction", "none"));
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (attrs.reduction != known) continue;
    return node.Return(
        node.Make<ten::ScatterNdOp>(node.input(0), node.input(1), node.input(2), attrs));
  }
  return node.Error(fmt::format(
      "ScatterND has the reduction \"{}\" (expected none, add, mul, max or min)", attrs.reduction));
}

absl::Status ImportPad(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, node.version() < 11 ? 1 : 4));
  const Value x = node.input(0);
  const int64_t rank = x.type().rank();
  ten::PadOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.mode, node.Str("mode", "constant"));
  if (attrs.mode != "constant" && attrs.mode != "reflect" && attrs.mode != "edge" &&
      attrs.mode != "wrap") {
    return node.Error(fmt::format(
        "Pad has the mode \"{}\" (expected constant, reflect, edge or wrap)", attrs.mode));
  }
  DimList pads;
  Value value;
  std::vector<int64_t> axes = FirstAxes(rank);
  if (node.version() < 11) {
    TENON_ASSIGN_OR_RETURN(const auto list, node.Ints("pads"));
    TENON_ASSIGN_OR_RETURN(const float fill, node.Float("value", 0));
    if (!list) return node.Error("Pad needs pads");
    pads = Constants(node, *list);
    if (fill != 0 && attrs.mode == "constant") {
      TENON_ASSIGN_OR_RETURN(value, node.MakeScalar(x.type().dtype(), fill));
    }
  } else {
    if (!node.input(1)) return node.Error("Pad needs pads");
    TENON_ASSIGN_OR_RETURN(auto list, node.Extents(1));
    if (!list) return PadAtRunTime(node, attrs.mode);
    pads = *std::move(list);
    TENON_ASSIGN_OR_RETURN(value, PadValue(node, attrs.mode));
    if (node.input(3)) {
      TENON_ASSIGN_OR_RETURN(auto list_of_axes, node.ConstantInts(3));
      if (!list_of_axes) return PadAtRunTime(node, attrs.mode);
      axes = *std::move(list_of_axes);
    }
  }
  if (pads.size() != 2 * axes.size()) {
    return node.Error(fmt::format("Pad has {} pads for {} axes (expected two for each)",
                                  pads.size(), axes.size()));
  }
  attrs.pads.assign(2 * rank, node.Dim(0));
  TENON_RETURN_IF_ERROR(node.Axes(axes, rank).status());
  for (size_t i = 0; i < axes.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Axis(axes[i], rank));
    attrs.pads[axis] = pads[i];
    attrs.pads[rank + axis] = pads[axes.size() + i];
  }
  return node.Return(node.Make<ten::PadOp>(x, value, attrs));
}

absl::Status ImportTrilu(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  ten::TriluOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.upper, node.Flag("upper", true));
  if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(const auto k, node.ConstantInts(1));
    if (!k) {
      return node.Return(node.Make<ten::DynamicTriluOp>(
          node.input(0), node.input(1), ten::DynamicTriluOp::Attrs{.upper = attrs.upper}));
    }
    if (k->size() != 1) return node.Error("the diagonal of Trilu must be one element");
    attrs.diagonal = k->front();
  }
  return node.Return(node.Make<ten::TriluOp>(node.input(0), attrs));
}

}  // namespace tenon::onnx
