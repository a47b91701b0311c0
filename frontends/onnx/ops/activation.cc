// Activations that take more than a change of name.
#include <fmt/format.h>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {

absl::Status ImportCelu(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  ten::EluOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.alpha, node.Float("alpha", 1.0f));
  attrs.width = attrs.alpha;
  if (attrs.alpha == 0.0f) return node.Error("Celu has an alpha of 0");
  return node.Return(node.Make<ten::EluOp>(node.input(0), attrs));
}

absl::Status ImportElu(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  ten::EluOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.alpha, node.Float("alpha", 1.0f));
  return node.Return(node.Make<ten::EluOp>(node.input(0), attrs));
}

absl::Status ImportSelu(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  // The first version had shorter defaults.
  const bool first = node.version() < 6;
  ten::EluOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.alpha,
                         node.Float("alpha", first ? 1.6732f : 1.67326319217681884765625f));
  TENON_ASSIGN_OR_RETURN(attrs.gamma,
                         node.Float("gamma", first ? 1.0507f : 1.05070102214813232421875f));
  return node.Return(node.Make<ten::EluOp>(node.input(0), attrs));
}

absl::Status ImportMish(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  const Value x = node.input(0);
  const Value gate = f.Make<ten::TanhOp>(f.Make<ten::SoftplusOp>(x));
  return f.Return(f.Mul(x, gate));
}

absl::Status ImportSoftsign(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  const Value x = node.input(0);
  const Value one = f.Scalar(x.type().dtype(), 1);
  return f.Return(f.Div(x, f.Add(f.Make<ten::AbsOp>(x), one)));
}

absl::Status ImportPRelu(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  Formula f(node);
  const Value x = node.input(0);
  Value slope = node.input(1);
  const int64_t rank = x.type().rank();
  // Before opset 7 a vector holds one slope for each channel.
  if (node.version() < 7 && slope.type().rank() == 1 && rank > 2 &&
      !slope.type().dim(0).is_constant(1)) {
    slope = f.Along(slope, 1, rank);
  }
  const Value negative = f.Make<ten::LessOp>(x, f.Scalar(x.type().dtype(), 0));
  const Value scaled = f.Mul(x, slope);
  return f.Return(f.Where(negative, scaled, x));
}

namespace {

// x * sigmoid(alpha * x), alpha being the node's attribute.
Value SwishOf(Formula& f, Value x, float alpha) {
  if (alpha == 1.0f) return f.Make<nn::SiluOp>(x);
  const Value scaled = f.Mul(x, f.Scalar(x.type().dtype(), alpha));
  return f.Mul(x, f.Make<ten::SigmoidOp>(scaled));
}

}  // namespace

absl::Status ImportSwish(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  Formula f(node);
  return f.Return(SwishOf(f, node.input(0), alpha));
}

absl::Status ImportSwiGLU(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  Formula f(node);
  return f.Return(f.Mul(SwishOf(f, node.input(0), alpha), node.input(1)));
}

}  // namespace tenon::onnx
