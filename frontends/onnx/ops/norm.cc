// Normalisations.
#include <fmt/format.h>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

// What statistics are computed in: the stash type, which is f32 unless said otherwise.
absl::StatusOr<DType> StashType(const Node& node) {
  TENON_ASSIGN_OR_RETURN(const int64_t type, node.Int("stash_type", onnxpb::TensorProto::FLOAT));
  const DType dtype =
      type == static_cast<int32_t>(type) ? DTypeOf(static_cast<int32_t>(type)) : DType::kInvalid;
  if (!IsFloat(dtype))
    return node.Unsupported(fmt::format("the stash_type {}", type),
                            "a type of floats: 1, 10, 11 or 16");
  return dtype;
}

std::vector<int64_t> AxesFrom(int64_t axis, int64_t rank) {
  std::vector<int64_t> axes;
  for (; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

struct Statistics {
  Value mean, variance;  // reduced axes are 1
};

Statistics StatisticsOf(Formula& f, Value x, const std::vector<int64_t>& axes) {
  const ten::ReduceMeanOp::Attrs over{.axes = axes};
  Statistics s;
  s.mean = f.Make<ten::ReduceMeanOp>(x, over);
  const Value centred = f.Sub(x, s.mean);
  s.variance = f.Make<ten::ReduceMeanOp>(f.Mul(centred, centred), over);
  return s;
}

// The outputs Mean and InvStdDev of LayerNormalization.
absl::Status ReturnStatistics(Node& node, int64_t axis, float epsilon) {
  TENON_ASSIGN_OR_RETURN(const DType stash, StashType(node));
  Formula f(node);
  const Value x = f.Cast(node.input(0), stash);
  const Statistics s = StatisticsOf(f, x, AxesFrom(axis, node.input(0).type().rank()));
  const Value deviation = f.Make<ten::SqrtOp>(f.Add(s.variance, f.Scalar(stash, epsilon)));
  TENON_RETURN_IF_ERROR(f.Return(s.mean, 1));
  if (node.num_outputs() < 3) return absl::OkStatus();
  return f.Return(f.Make<ten::ReciprocalOp>(deviation), 2);
}

// y * scale + bias, where both are one number for each element of axis 1.
Value ScalePerChannel(Formula& f, Value y, Value scale, Value bias, int64_t rank) {
  if (!f.ok()) return Value();
  const DimExpr channels = y.type().dim(1);
  const Value scaled = f.Mul(y, f.Along(scale, 1, rank, channels));
  return f.Add(scaled, f.Along(bias, 1, rank, channels));
}

absl::Status CheckVectors(const Node& node) {
  for (int i = 1; i < 3; ++i) {
    if (node.input(i).type().rank() == 1) continue;
    return node.Error(fmt::format("input {} of {} must be a vector", i, node.op_type()));
  }
  return absl::OkStatus();
}

// Batch normalisation with the statistics of the batch itself; the running ones are outputs.
absl::Status TrainBatchNorm(Node& node, float epsilon) {
  TENON_ASSIGN_OR_RETURN(const float momentum, node.Float("momentum", 0.9f));
  if (node.version() < 14)
    return node.Unsupported("BatchNormalization in training mode",
                            "training_mode = 0, or opset 14 or newer");
  TENON_RETURN_IF_ERROR(CheckVectors(node));
  Formula f(node);
  const Value x = node.input(0);
  const DType dtype = x.type().dtype();
  const int64_t rank = x.type().rank();
  if (rank < 2) return node.Error("BatchNormalization needs an input of rank 2 or more");
  std::vector<int64_t> axes = AxesFrom(2, rank);
  axes.insert(axes.begin(), 0);
  const Statistics s = StatisticsOf(f, x, axes);
  const Value deviation = f.Make<ten::SqrtOp>(f.Add(s.variance, f.Scalar(dtype, epsilon)));
  const Value normalized = f.Div(f.Sub(x, s.mean), deviation);
  TENON_RETURN_IF_ERROR(
      f.Return(ScalePerChannel(f, normalized, node.input(1), node.input(2), rank)));
  for (int i = 1; i < std::min(node.num_outputs(), 3); ++i) {
    const Value old = node.input(i + 2);
    const DType kept = old.type().dtype();
    const Value now = f.Cast(f.Reshape(i == 1 ? s.mean : s.variance, {x.type().dim(1)}), kept);
    const Value mixed = f.Add(f.Mul(old, f.Scalar(kept, momentum)),
                              f.Mul(now, f.Scalar(kept, 1.0 - static_cast<double>(momentum))));
    TENON_RETURN_IF_ERROR(f.Return(mixed, i));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportBatchNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(5, 5));
  const bool was_test = node.version() >= 7;
  TENON_ASSIGN_OR_RETURN(const bool training, node.Flag("training_mode", false));
  TENON_ASSIGN_OR_RETURN(const bool test, node.Flag("is_test", was_test));
  TENON_ASSIGN_OR_RETURN(const bool spatial, node.Flag("spatial", true));
  for (const char* name : {"momentum", "consumed_inputs"}) node.MarkRead(name);
  nn::BatchNormOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  if (!spatial) return node.Unsupported("BatchNormalization with spatial = 0", "spatial = 1");
  if (training || !test) return TrainBatchNorm(node, attrs.epsilon);
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "a statistics output"));
  Formula f(node);
  const DType dtype = node.input(0).type().dtype();
  // Statistics of another type: everything in the widest.
  DType widest = dtype;
  for (int i = 1; i < 5; ++i) {
    const DType other = node.input(i).type().dtype();
    if (SizeOf(other) > SizeOf(widest)) widest = other;
    if (other != widest && SizeOf(other) == SizeOf(widest)) widest = DType::kF32;
  }
  std::vector<Value> in;
  for (int i = 0; i < 5; ++i) in.push_back(f.Cast(node.input(i), widest));
  const Value out = f.Make<nn::BatchNormOp>(in[0], in[1], in[2], in[3], in[4], attrs);
  return f.Return(f.Cast(out, dtype));
}

absl::Status ImportLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  node.MarkRead("stash_type");
  nn::LayerNormOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", -1));
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis, node.input(0).type().rank()));
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  TENON_RETURN_IF_ERROR(
      node.Return(node.Make<nn::LayerNormOp>(node.input(0), node.input(1), node.input(2), attrs)));
  if (!node.IsOutputUsed(1) && !node.IsOutputUsed(2)) return absl::OkStatus();
  return ReturnStatistics(node, attrs.axis, attrs.epsilon);
}

absl::Status ImportRMSNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  node.MarkRead("stash_type");
  nn::RmsNormOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", -1));
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis, node.input(0).type().rank()));
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  const Value x = node.input(0), scale = node.input(1);
  const DType dtype = x.type().dtype(), result = scale.type().dtype();
  if (dtype == result) return node.Return(node.Make<nn::RmsNormOp>(x, scale, attrs));
  // The result has the scale's type.
  TENON_ASSIGN_OR_RETURN(const DType stash, StashType(node));
  Formula f(node);
  const Value normalized = f.Make<nn::RmsNormOp>(f.Cast(x, stash), Value(), attrs);
  return f.Return(f.Mul(f.Cast(normalized, result), scale));
}

// ONNX Runtime's name of RMSNormalization, from before the standard had one.
absl::Status ImportSimplifiedLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "a statistics output"));
  return ImportRMSNormalization(node);
}

// The mean and the variance of each channel of each batch element.
absl::Status ImportInstanceNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  TENON_RETURN_IF_ERROR(CheckVectors(node));
  node.MarkRead("consumed_inputs");
  const int64_t rank = node.input(0).type().rank();
  if (rank < 3) return node.Error("InstanceNormalization needs an input of rank 3 or more");
  nn::LayerNormOp::Attrs attrs{.axis = 2};
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  Formula f(node);
  const Value normalized = f.Make<nn::LayerNormOp>(node.input(0), Value(), Value(), attrs);
  return f.Return(ScalePerChannel(f, normalized, node.input(1), node.input(2), rank));
}

absl::Status ImportGroupNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  TENON_RETURN_IF_ERROR(CheckVectors(node));
  node.MarkRead("stash_type");
  const Value x = node.input(0);
  const Dims dims = Formula::DimsOf(x);
  const auto rank = static_cast<int64_t>(dims.size());
  TENON_ASSIGN_OR_RETURN(const int64_t groups, node.Int("num_groups", 0));
  if (rank < 2 || groups < 1) {
    return node.Error("GroupNormalization needs num_groups and an input of rank 2 or more");
  }
  nn::LayerNormOp::Attrs attrs{.axis = 2};
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  const DimExpr channels = FloorDiv(dims[1], groups);
  Dims split = {dims[0], node.Dim(groups), channels};
  split.insert(split.end(), dims.begin() + 2, dims.end());
  Formula f(node);
  Value y = f.Make<nn::LayerNormOp>(f.Reshape(x, split), Value(), Value(), attrs);
  if (node.version() >= 21) {
    return f.Return(ScalePerChannel(f, f.Reshape(y, dims), node.input(1), node.input(2), rank));
  }
  // One scale for each group.
  return f.Return(f.Reshape(ScalePerChannel(f, y, node.input(1), node.input(2), rank + 1), dims));
}

absl::Status ImportLpNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  const DType dtype = x.type().dtype();
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -1));
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, x.type().rank()));
  TENON_ASSIGN_OR_RETURN(const int64_t p, node.Int("p", 2));
  if (p != 1 && p != 2)
    return node.Error(fmt::format("LpNormalization has the order {} (expected 1 or 2)", p));
  Formula f(node);
  const Value norm = p == 2 ? f.Make<ten::ReduceL2Op>(x, ten::ReduceL2Op::Attrs{.axes = {axis}})
                            : f.Make<ten::ReduceSumOp>(f.Make<ten::AbsOp>(x),
                                                       ten::ReduceSumOp::Attrs{.axes = {axis}});
  // Where the norm is 0 all elements are: they stay.
  const Value zero = f.Make<ten::EqualOp>(norm, f.Scalar(dtype, 0));
  return f.Return(f.Div(x, f.Where(zero, f.Scalar(dtype, 1), norm)));
}

absl::Status ImportMeanVarianceNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  const DType dtype = x.type().dtype();
  TENON_ASSIGN_OR_RETURN(auto axes, node.Ints("axes"));
  TENON_ASSIGN_OR_RETURN(axes,
                         node.Axes(axes.value_or(std::vector<int64_t>{0, 2, 3}), x.type().rank()));
  Formula f(node);
  const Statistics s = StatisticsOf(f, x, *axes);
  const Value deviation = f.Add(f.Make<ten::SqrtOp>(s.variance), f.Scalar(dtype, 1e-9));
  return f.Return(f.Div(f.Sub(x, s.mean), deviation));
}

}  // namespace tenon::onnx
