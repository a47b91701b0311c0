// Shapes: reading, changing and broadcasting them.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/node.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using DimList = std::vector<DimExpr>;

DimList DimsOf(Value value) {
  return DimList(value.type().dims().begin(), value.type().dims().end());
}

absl::StatusOr<Value> ReshapeTo(Node& node, Value x, DimList dims) {
  return node.Make<ten::ReshapeOp>(x, ten::ReshapeOp::Attrs{.shape = std::move(dims)});
}

// Replaces the 0 and -1 of a Reshape shape by extents; nullopt if they do not follow.
absl::StatusOr<std::optional<DimList>> ResolveReshape(const Node& node, std::span<const DimExpr> x,
                                                      DimList shape, bool allow_zero) {
  int inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant()) continue;
    const int64_t dim = shape[i].constant();
    if (dim < -1)
      return node.Error(fmt::format("the shape of Reshape contains {} (expected -1 or more)", dim));
    if (dim == 0 && !allow_zero) {
      if (i >= x.size()) {
        return node.Error(fmt::format(
            "the shape of Reshape copies dimension {} of an input of rank {}", i, x.size()));
      }
      shape[i] = x[i];
    } else if (dim == -1) {
      if (inferred >= 0)
        return node.Error("the shape of Reshape contains -1 twice (expected at most once)");
      inferred = static_cast<int>(i);
    }
  }
  if (inferred < 0) return shape;
  shape[inferred] = node.Dim(1);
  const DimExpr rest = Product(node.context(), shape);
  const DimExpr total = Product(node.context(), x);
  if (rest.is_constant(0))
    return node.Error("the shape of Reshape contains both 0 and -1 (expected only one of them)");
  const std::optional<DimExpr> exact = DimExpr::ExactDiv(total, rest);
  // A valid model has a shape that divides.
  shape[inferred] = exact ? *exact : FloorDiv(total, rest);
  if (shape[inferred].is_unknown()) return std::nullopt;
  return shape;
}

absl::StatusOr<Value> ShapeOf(Node& node, Value x, int64_t start, int64_t end) {
  return node.Make<ten::ShapeOp>(x, ten::ShapeOp::Attrs{.start = start, .end = end});
}

}  // namespace

absl::Status ImportReshape(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(const bool allow_zero, node.Flag("allowzero", false));
  const Value x = node.input(0);
  TENON_ASSIGN_OR_RETURN(std::optional<DimList> shape, node.Extents(1));
  if (shape) {
    TENON_ASSIGN_OR_RETURN(shape,
                           ResolveReshape(node, x.type().dims(), *std::move(shape), allow_zero));
  }
  if (shape) return node.Return(ReshapeTo(node, x, *std::move(shape)));
  return node.Return(node.Make<ten::DynamicReshapeOp>(
      x, node.input(1), ten::DynamicReshapeOp::Attrs{.allow_zero = allow_zero}));
}

absl::Status ImportFlatten(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  const std::span<const DimExpr> dims = node.input(0).type().dims();
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (axis < -rank || axis > rank) {
    return node.Error(fmt::format("axis {} of Flatten is outside of [{}, {}]", axis, -rank, rank));
  }
  if (axis < 0) axis += rank;
  return node.Return(ReshapeTo(
      node, node.input(0),
      {Product(node.context(), dims.first(axis)), Product(node.context(), dims.subspan(axis))}));
}

absl::Status ImportSqueeze(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, node.version() < 13 ? 1 : 2));
  std::optional<std::vector<int64_t>> axes;
  if (node.version() < 13) {
    TENON_ASSIGN_OR_RETURN(axes, node.Ints("axes"));
  } else if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(axes, node.ConstantInts(1));
    if (!axes) return node.Return(node.Make<ten::DynamicSqueezeOp>(node.input(0), node.input(1)));
  }
  const Value x = node.input(0);
  const DimList dims = DimsOf(x);
  const int64_t rank = static_cast<int64_t>(dims.size());
  DimList kept;
  if (axes) {
    TENON_ASSIGN_OR_RETURN(axes, node.Axes(*std::move(axes), rank));
    for (int64_t i = 0; i < rank; ++i) {
      if (!std::binary_search(axes->begin(), axes->end(), i)) {
        kept.push_back(dims[i]);
      } else if (dims[i].is_constant() && !dims[i].is_constant(1)) {
        return node.Error(fmt::format("Squeeze removes dimension {}, which is {} (expected 1)", i,
                                      dims[i].constant()));
      }
    }
  } else {
    // The rank of the result must not depend on a run. The model may declare it: with all extents
    // that only a run tells, or with none of them, of which the run then checks that they are 1.
    // Otherwise they are kept.
    const std::optional<int64_t> declared = node.DeclaredRank(0);
    int64_t at_least = 0, at_most = 0;
    for (DimExpr dim : dims) {
      if (!dim.is_constant(1)) ++at_most;
      if (dim.is_constant() && !dim.is_constant(1)) ++at_least;
    }
    for (DimExpr dim : dims) {
      if (!dim.is_constant() && declared == at_least) continue;
      if (!dim.is_constant() && declared != at_most) {
        EmitWarning(node.context(), node.location(),
                    fmt::format("Squeeze without axes keeps the dimension \"{}\", also where it is "
                                "1 in a run (expected axes)",
                                dim.text()));
      }
      if (!dim.is_constant(1)) kept.push_back(dim);
    }
  }
  return node.Return(ReshapeTo(node, x, std::move(kept)));
}

absl::Status ImportUnsqueeze(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, node.version() < 13 ? 1 : 2));
  std::optional<std::vector<int64_t>> axes;
  if (node.version() < 13) {
    TENON_ASSIGN_OR_RETURN(axes, node.Ints("axes"));
  } else if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(axes, node.ConstantInts(1));
    if (!axes) return node.Return(node.Make<ten::DynamicUnsqueezeOp>(node.input(0), node.input(1)));
  }
  if (!axes) return node.Error("Unsqueeze needs axes");
  const Value x = node.input(0);
  const int64_t rank = x.type().rank() + static_cast<int64_t>(axes->size());
  TENON_ASSIGN_OR_RETURN(axes, node.Axes(*std::move(axes), rank));
  DimList dims = DimsOf(x);
  for (int64_t axis : *axes) dims.insert(dims.begin() + axis, node.Dim(1));
  return node.Return(ReshapeTo(node, x, std::move(dims)));
}

absl::Status ImportShape(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  const int64_t rank = x.type().rank();
  TENON_ASSIGN_OR_RETURN(int64_t start, node.Int("start", 0));
  TENON_ASSIGN_OR_RETURN(int64_t end, node.Int("end", rank));
  const auto clamp = [rank](int64_t bound) {
    return bound < -rank ? 0 : std::min(bound < 0 ? bound + rank : bound, rank);
  };
  start = clamp(start);
  end = std::max(start, clamp(end));
  return node.Return(ShapeOf(node, x, start, end));
}

absl::Status ImportSize(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  TENON_ASSIGN_OR_RETURN(const Value shape, ShapeOf(node, x, 0, x.type().rank()));
  return node.Return(node.Make<ten::ReduceProdOp>(
      shape, ten::ReduceProdOp::Attrs{.axes = {0}, .keepdims = false}));
}

absl::Status ImportExpand(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(std::optional<DimList> shape, node.Extents(1));
  if (!shape) return node.Return(node.Make<ten::DynamicExpandOp>(node.input(0), node.input(1)));
  return node.Return(
      node.Make<ten::ExpandOp>(node.input(0), ten::ExpandOp::Attrs{.shape = *std::move(shape)}));
}

absl::Status ImportTile(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(std::optional<DimList> repeats, node.Extents(1));
  if (!repeats) return node.Return(node.Make<ten::DynamicTileOp>(node.input(0), node.input(1)));
  return node.Return(
      node.Make<ten::TileOp>(node.input(0), ten::TileOp::Attrs{.repeats = *std::move(repeats)}));
}

absl::Status ImportTranspose(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const int64_t rank = node.input(0).type().rank();
  TENON_ASSIGN_OR_RETURN(auto perm, node.Ints("perm"));
  ten::TransposeOp::Attrs attrs;
  if (perm) {
    for (int64_t axis : *perm) {
      TENON_ASSIGN_OR_RETURN(attrs.perm.emplace_back(), node.Axis(axis, rank));
    }
  } else {
    for (int64_t axis = rank - 1; axis >= 0; --axis) attrs.perm.push_back(axis);
  }
  return node.Return(node.Make<ten::TransposeOp>(node.input(0), attrs));
}

}  // namespace tenon::onnx
