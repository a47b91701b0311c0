// FlexAttention: attention whose scores and probabilities graphs of the model change.
#include <fmt/format.h>

#include <cmath>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

// Runs the graph `name` of the node on x, if it has one. The result has the type of x.
absl::StatusOr<Value> Modified(Node& node, std::string_view name, Value x) {
  if (node.Find(name) == nullptr) return x;
  TENON_ASSIGN_OR_RETURN(const onnxpb::GraphProto* graph, node.Graph(name));
  if (graph->input_size() != 1 || graph->output_size() != 1) {
    return node.Error(
        fmt::format("{} of FlexAttention has {} inputs and {} outputs (expected one "
                    "of each)",
                    name, graph->input_size(), graph->output_size()));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                         node.ImportGraph(*graph, std::span(&x, 1), node.builder()));
  const Type type = outputs[0].type();
  if (!type.is_tensor()) {
    return node.Unsupported(fmt::format("FlexAttention whose {} gives {}", name, type.text()),
                            "a tensor of known rank");
  }
  if (!JoinTypes(x.type(), WithDType(type, x.type().dtype()))) {
    return node.Error(fmt::format("{} of FlexAttention gives {} (expected {})", name, type.text(),
                                  x.type().text()));
  }
  Formula f(node);
  const Value result = f.Cast(outputs[0], x.type().dtype());
  if (!f.ok()) return f.status();
  return result;
}

absl::Status CheckOperands(const Node& node, const Dims& q, const Dims& k, const Dims& v) {
  const auto differ = [](DimExpr a, DimExpr b) {
    return a.is_constant() && b.is_constant() && a.constant() != b.constant();
  };
  if (differ(q[3], k[3]) || differ(k[1], v[1]) || differ(k[2], v[2]) || differ(q[0], k[0]) ||
      differ(q[0], v[0])) {
    return node.Error(fmt::format(
        "the inputs of FlexAttention do not belong together: {}, {} and {}",
        node.input(0).type().text(), node.input(1).type().text(), node.input(2).type().text()));
  }
  const bool known = q[1].is_constant() && k[1].is_constant();
  if (known && (k[1].constant() == 0 || q[1].constant() % k[1].constant() != 0)) {
    return node.Error(
        fmt::format("FlexAttention has {} heads of queries and {} of keys (expected a "
                    "multiple)",
                    q[1].text(), k[1].text()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportPreviewFlexAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const Value q = node.input(0), k = node.input(1), v = node.input(2);
  for (int i = 0; i < 3; ++i) {
    if (node.input(i).type().rank() != 4) {
      return node.Error(fmt::format("input {} of FlexAttention is {} (expected rank 4)", i,
                                    node.input(i).type().text()));
    }
  }
  const Dims dims = Formula::DimsOf(q), key_dims = Formula::DimsOf(k),
             value_dims = Formula::DimsOf(v);
  TENON_RETURN_IF_ERROR(CheckOperands(node, dims, key_dims, value_dims));
  const DType type = q.type().dtype();
  TENON_ASSIGN_OR_RETURN(const int64_t precision, node.Int("softmax_precision", 0));
  DType softmax_type = type == DType::kF64 ? DType::kF64 : DType::kF32;
  if (precision != 0) {
    softmax_type = DTypeOf(static_cast<int32_t>(precision));
    if (!IsFloat(softmax_type)) {
      return node.Unsupported(fmt::format("FlexAttention with the softmax_precision {}", precision),
                              "the number of a floating-point type");
    }
  }
  TENON_ASSIGN_OR_RETURN(const float scale, node.Float("scale", 0.0f));
  const bool scaled = node.Find("scale") != nullptr;

  const bool modified = node.Find("score_mod") != nullptr || node.Find("prob_mod") != nullptr ||
                        (scaled && scale == 0);
  // nn.attention takes softmax in f32 at least, and in f64 for f64.
  if (!modified && (softmax_type != DType::kF64 || type == DType::kF64)) {
    return node.Return(
        node.Make<nn::AttentionOp>(q, k, v, Value(), nn::AttentionOp::Attrs{.scale = scale}));
  }

  Formula f(node);
  // Each head of the keys serves `shared` heads of the queries, which lie side by side.
  const DimExpr shared = FloorDiv(dims[1], key_dims[1]);
  const DimExpr rows = shared * dims[2];
  const Value queries = f.Reshape(q, {dims[0], key_dims[1], rows, dims[3]});
  Value factor;
  if (scaled || dims[3].is_constant()) {
    factor = f.Scalar(DType::kF32,
                      scaled ? scale : 1 / std::sqrt(static_cast<double>(dims[3].constant())));
  } else {
    const Value size = f.Cast(f.Extent(dims[3]), DType::kF32);
    factor = f.Make<ten::ReciprocalOp>(f.Make<ten::SqrtOp>(size));
  }
  const Value products =
      f.Make<ten::MatmulOp>(queries, k, ten::MatmulOp::Attrs{.transpose_b = true});
  Value scores = f.Mul(f.Cast(products, softmax_type), f.Cast(factor, softmax_type));
  scores = f.Reshape(scores, {dims[0], dims[1], dims[2], key_dims[2]});
  if (!f.ok()) return f.status();
  TENON_ASSIGN_OR_RETURN(scores, Modified(node, "score_mod", scores));
  Value weights = f.Make<nn::SoftmaxOp>(scores, nn::SoftmaxOp::Attrs{.axis = 3});
  if (!f.ok()) return f.status();
  TENON_ASSIGN_OR_RETURN(weights, Modified(node, "prob_mod", weights));
  weights = f.Reshape(weights, {dims[0], key_dims[1], rows, key_dims[2]});
  const Value sums = f.Make<ten::MatmulOp>(weights, f.Cast(v, softmax_type));
  return f.Return(
      f.Cast(f.Reshape(sums, {dims[0], dims[1], dims[2], value_dims[3]}), v.type().dtype()));
}

}  // namespace tenon::onnx
