// Reductions. Axes are an attribute in old opsets, an input in newer ones.
#include <fmt/format.h>

#include <numeric>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

struct Reduction {
  std::vector<int64_t> axes;
  Value run_time_axes;  // not null: what they are is not known
  bool keepdims = true;
  bool noop_with_empty_axes = false;

  // Is nothing reduced?
  bool IsNoop(int64_t rank) const { return !run_time_axes && axes.empty() && rank > 0; }
};

absl::StatusOr<Reduction> ReadReduction(Node& node, int64_t axes_input_since) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, node.version() < axes_input_since ? 1 : 2));
  const int64_t rank = node.input(0).type().rank();
  Reduction reduction;
  TENON_ASSIGN_OR_RETURN(reduction.keepdims, node.Flag("keepdims", true));
  TENON_ASSIGN_OR_RETURN(reduction.noop_with_empty_axes, node.Flag("noop_with_empty_axes", false));
  std::optional<std::vector<int64_t>> axes;
  if (node.version() < axes_input_since) {
    TENON_ASSIGN_OR_RETURN(axes, node.Ints("axes"));
  } else if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(axes, node.ConstantInts(1));
    if (!axes) reduction.run_time_axes = node.input(1);
  }
  if (axes && !axes->empty()) {
    TENON_ASSIGN_OR_RETURN(reduction.axes, node.Axes(*std::move(axes), rank));
  } else if (!reduction.noop_with_empty_axes) {
    reduction.axes.resize(rank);
    std::iota(reduction.axes.begin(), reduction.axes.end(), 0);
  }
  return reduction;
}

// ten.dynamic_reduce's name of a reduction.
template <typename Op>
constexpr std::string_view kKind = "";
template <>
constexpr std::string_view kKind<ten::ReduceSumOp> = "sum";
template <>
constexpr std::string_view kKind<ten::ReduceMeanOp> = "mean";
template <>
constexpr std::string_view kKind<ten::ReduceMaxOp> = "max";
template <>
constexpr std::string_view kKind<ten::ReduceMinOp> = "min";
template <>
constexpr std::string_view kKind<ten::ReduceProdOp> = "prod";
template <>
constexpr std::string_view kKind<ten::ReduceL2Op> = "l2";
template <>
constexpr std::string_view kKind<ten::ReduceLogSumExpOp> = "log_sum_exp";

template <typename Op>
absl::StatusOr<Value> Reduce(Node& node, Value x, const Reduction& reduction) {
  if (reduction.run_time_axes) {
    return node.Make<ten::DynamicReduceOp>(
        x, reduction.run_time_axes,
        ten::DynamicReduceOp::Attrs{.kind = std::string(kKind<Op>),
                                    .keepdims = reduction.keepdims,
                                    .noop_with_empty_axes = reduction.noop_with_empty_axes});
  }
  return node.Make<Op>(x,
                       typename Op::Attrs{.axes = reduction.axes, .keepdims = reduction.keepdims});
}

// An empty list of axes leaves x as it is.
template <typename Op>
absl::Status ImportPlain(Node& node, int64_t axes_input_since) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, axes_input_since));
  if (reduction.IsNoop(node.input(0).type().rank())) return node.Return(node.input(0));
  return node.Return(Reduce<Op>(node, node.input(0), reduction));
}

// log(x); integers by way of f64.
absl::StatusOr<Value> Log(Node& node, Value x) {
  const DType dtype = x.type().dtype();
  if (IsFloat(dtype)) return node.Make<ten::LogOp>(x);
  Formula f(node);
  const Value log = f.Make<ten::LogOp>(f.Cast(x, DType::kF64));
  const Value result = f.Cast(log, dtype);
  if (!f.ok()) return f.status();
  return result;
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
  return node.Return(Log(node, sum));
}

absl::Status ImportReduceLogSumExp(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(node, 18));
  return node.Return(Reduce<ten::ReduceLogSumExpOp>(node, node.input(0), reduction));
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
  if (!axis) {
    return node.Return(node.Make<ten::CumulateOp>(
        node.input(0), node.input(1),
        ten::CumulateOp::Attrs{.exclusive = attrs.exclusive, .reverse = attrs.reverse}));
  }
  if (axis->size() != 1) return node.Error("the axis of CumSum must be one element");
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis->front(), node.input(0).type().rank()));
  return node.Return(node.Make<ten::CumsumOp>(node.input(0), attrs));
}

absl::Status ImportCumProd(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  ten::CumulateOp::Attrs attrs{.product = true};
  TENON_ASSIGN_OR_RETURN(attrs.exclusive, node.Flag("exclusive", false));
  TENON_ASSIGN_OR_RETURN(attrs.reverse, node.Flag("reverse", false));
  return node.Return(node.Make<ten::CumulateOp>(node.input(0), node.input(1), attrs));
}

absl::Status ImportGlobalAveragePool(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const int64_t rank = node.input(0).type().rank();
  if (rank < 3) return node.Error("GlobalAveragePool needs an input of rank 3 or more");
  Reduction reduction;
  for (int64_t axis = 2; axis < rank; ++axis) reduction.axes.push_back(axis);
  return node.Return(Reduce<ten::ReduceMeanOp>(node, node.input(0), reduction));
}

absl::Status ImportGlobalLpPool(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t p, node.Int("p", 2));
  if (p < 1)
    return node.Error(fmt::format("GlobalLpPool has the order {} (expected 1 or more)", p));
  const Value x = node.input(0);
  const DType dtype = x.type().dtype();
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < x.type().rank(); ++axis) axes.push_back(axis);
  Formula f(node);
  const Value powers =
      f.Make<ten::PowOp>(f.Make<ten::AbsOp>(x), f.Scalar(dtype, static_cast<double>(p)));
  const Value sum = f.Make<ten::ReduceSumOp>(powers, ten::ReduceSumOp::Attrs{.axes = axes});
  return f.Return(f.Make<ten::PowOp>(sum, f.Scalar(dtype, 1.0 / static_cast<double>(p))));
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
