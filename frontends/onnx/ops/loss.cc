// Losses: sums of the log-probabilities that targets pick.
#include <fmt/format.h>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// -log_prob[n, target[n, …], …] * weight[target[n, …]], reduced as the node says.
absl::Status ReturnLoss(Node& node, Formula& f, Value log_prob) {
  TENON_ASSIGN_OR_RETURN(const std::string reduction, node.Str("reduction", "mean"));
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    return node.Error(fmt::format("{} has the reduction \"{}\" (expected none, sum or mean)",
                                  node.op_type(), reduction));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t ignored, node.Int("ignore_index", 0));
  const bool ignores = node.Find("ignore_index") != nullptr;
  const DType dtype = log_prob.type().dtype();
  const Value target = f.Cast(node.input(1), DType::kI64);
  const Formula::Dims dims = Formula::DimsOf(node.input(1));
  if (dims.empty() || node.input(0).type().rank() != static_cast<int64_t>(dims.size()) + 1) {
    return node.Error(
        fmt::format("{} needs one more axis of scores than of targets", node.op_type()));
  }
  Value classes = target, kept;
  if (ignores) {
    const Value index = f.Scalar(DType::kI64, static_cast<double>(ignored));
    kept = f.Make<ten::NotOp>(f.Make<ten::EqualOp>(target, index));
    classes = f.Where(kept, target, f.Scalar(DType::kI64, 0));
  }
  // A gather would count negative ones from the end.
  const DimExpr last = log_prob.type().dim(1) - 1;
  classes = f.CheckUpTo(classes, f.Extent(last), fmt::format("a target of {}", node.op_type()));
  Formula::Dims picked = dims;
  picked.insert(picked.begin() + 1, f.One());
  const Value chosen = f.Make<ten::GatherElementsOp>(log_prob, f.Reshape(classes, picked),
                                                     ten::GatherElementsOp::Attrs{.axis = 1});
  Value loss = f.Make<ten::NegOp>(f.Reshape(chosen, dims));
  Value weights;  // of the samples; null: all 1
  if (node.input(2)) {
    weights = f.Make<ten::GatherOp>(node.input(2), classes, ten::GatherOp::Attrs{.axis = 0});
  } else if (ignores) {
    weights = f.Scalar(dtype, 1);
  }
  if (ignores) weights = f.Where(kept, weights, f.Scalar(dtype, 0));
  if (weights) loss = f.Mul(loss, weights);
  if (reduction == "none") return f.Return(loss);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (reduction == "mean" && !weights) {
    return f.Return(
        f.Make<ten::ReduceMeanOp>(loss, ten::ReduceMeanOp::Attrs{.axes = axes, .keepdims = false}));
  }
  const ten::ReduceSumOp::Attrs all{.axes = axes, .keepdims = false};
  const Value sum = f.Make<ten::ReduceSumOp>(loss, all);
  if (reduction == "sum") return f.Return(sum);
  return f.Return(f.Div(sum, f.Make<ten::ReduceSumOp>(weights, all)));
}

}  // namespace

absl::Status ImportNegativeLogLikelihoodLoss(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  Formula f(node);
  return ReturnLoss(node, f, node.input(0));
}

absl::Status ImportSoftmaxCrossEntropyLoss(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  Formula f(node);
  const Value log_prob =
      f.Make<nn::LogSoftmaxOp>(node.input(0), nn::LogSoftmaxOp::Attrs{.axis = 1});
  if (!f.ok()) return f.status();
  TENON_RETURN_IF_ERROR(ReturnLoss(node, f, log_prob));
  return node.num_outputs() > 1 ? f.Return(log_prob, 1) : absl::OkStatus();
}

}  // namespace tenon::onnx
