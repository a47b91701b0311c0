// Reductions. Axes are an attribute in old opsets, an input in newer ones.
#include <fmt/format.h>

#include <numeric>

#include "frontends/onnx/node.h"
#include "ir/core/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

struct Reduction {
  std::vector<int64_t> axes;
  bool keepdims = true;
};

absl::StatusOr<Reduction> ReadReduction(Node& node, int64_t axes_input_since) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, node.version() < axes_input_since ? 1 : 2));
  const int64_t rank = node.input(0).type().rank();
  Reduction reduction;
  TENON_ASSIGN_OR_RETURN(reduction.keepdims, node.Flag("keepdims", true));
  TENON_ASSIGN_OR_RETURN(const bool noop, node.Flag("noop_with_empty_axes", false));
  TENON_ASSIGN_OR_RETURN(auto axes, node.IntsAttrOrInput("axes", axes_input_since, 1));
  if (axes && !axes->empty()) {
    TENON_ASSIGN_OR_RETURN(reduction.axes, node.Axes(*std::move(axes), rank));
  } else if (!noop) {
    reduction.axes.resize(rank);
    std::iota(reduction.axes.begin(), reduction.axes.end(), 0);
  }
  return reduction;
}

template <typename Op>
absl::StatusOr<Value> Reduce(Node& node, Value x, const Reduction& reduction) {
  return node.Make<Op>(x,
                       typename Op::Attrs{.axes = reduction.axes, .keepdims = reduction.keepdims});
}

// An empty list of axes leaves x as it is.
template <typename Op>
absl::Status ImportPlain(Node& node, int64_t axes_input_since) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, axes_input_since));
  const bool noop = reduction.axes.empty() && node.input(0).type().rank() > 0;
  if (noop) return node.Return(node.input(0));
  return node.Return(Reduce<Op>(node, node.input(0), reduction));
}

}  // namespace

absl::Status ImportReduceMax(Node& node) { return ImportPlain<ten::ReduceMaxOp>(node, 18); }
absl::Status ImportReduceMean(Node& node) { return ImportPlain<ten::ReduceMeanOp>(node, 18); }
absl::Status ImportReduceMin(Node& node) { return ImportPlain<ten::ReduceMinOp>(node, 18); }
absl::Status ImportReduceProd(Node& node) { return ImportPlain<ten::ReduceProdOp>(node, 18); }
absl::Status ImportReduceSum(Node& node) { return ImportPlain<ten::ReduceSumOp>(node, 13); }

// The elementwise part of these stays when no axis is reduced.
absl::Status ImportReduceL1(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, 18));
  TENON_ASSIGN_OR_RETURN(const Value x, node.Make<ten::AbsOp>(node.input(0)));
  return node.Return(Reduce<ten::ReduceSumOp>(node, x, reduction));
}

absl::Status ImportReduceL2(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, 18));
  return node.Return(Reduce<ten::ReduceL2Op>(node, node.input(0), reduction));
}

absl::Status ImportReduceLogSum(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, 18));
  TENON_ASSIGN_OR_RETURN(const Value sum, Reduce<ten::ReduceSumOp>(node, node.input(0), reduction));
  return node.Return(node.Make<ten::LogOp>(sum));
}

absl::Status ImportReduceSumSquare(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, 18));
  TENON_ASSIGN_OR_RETURN(const Value x, node.Make<ten::MulOp>(node.input(0), node.input(0)));
  return node.Return(Reduce<ten::ReduceSumOp>(node, x, reduction));
}

absl::Status ImportCumSum(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  ten::CumsumOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.exclusive, node.Flag("exclusive", false));
  TENON_ASSIGN_OR_RETURN(attrs.reverse, node.Flag("reverse", false));
  TENON_ASSIGN_OR_RETURN(const auto axis, node.ConstantInts(1));
  if (!axis) return node.Unsupported("the axis of CumSum is not constant");
  if (axis->size() != 1) return node.Error("the axis of CumSum must be one element");
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis->front(), node.input(0).type().rank()));
  return node.Return(node.Make<ten::CumsumOp>(node.input(0), attrs));
}

absl::Status ImportGlobalAveragePool(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const int64_t rank = node.input(0).type().rank();
  if (rank < 3) return node.Error("GlobalAveragePool needs an input of rank 3 or more");
  Reduction reduction;
  for (int64_t axis = 2; axis < rank; ++axis) reduction.axes.push_back(axis);
  return node.Return(Reduce<ten::ReduceMeanOp>(node, node.input(0), reduction));
}

absl::Status ImportGlobalMaxPool(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const int64_t rank = node.input(0).type().rank();
  if (rank < 3) return node.Error("GlobalMaxPool needs an input of rank 3 or more");
  Reduction reduction;
  for (int64_t axis = 2; axis < rank; ++axis) reduction.axes.push_back(axis);
  return node.Return(Reduce<ten::ReduceMaxOp>(node, node.input(0), reduction));
}

}  // namespace tenon::onnx
