// Matrix products.
#include <fmt/format.h>

#include "frontends/onnx/node.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {

absl::Status ImportMatMul(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  return node.Return(node.Make<ten::MatmulOp>(node.input(0), node.input(1)));
}

absl::Status ImportGemm(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value a = node.input(0), b = node.input(1);
  const DType dtype = a.type().dtype();
  for (const Value matrix : {a, b}) {
    if (matrix.type().rank() != 2) {
      return node.Error(fmt::format("Gemm needs matrices, got {}", matrix.type().text()));
    }
  }
  ten::MatmulOp::Attrs attrs;
  node.MarkRead("broadcast");  // opset 6; C is broadcast if it has to be
  TENON_ASSIGN_OR_RETURN(attrs.transpose_a, node.Flag("transA", false));
  TENON_ASSIGN_OR_RETURN(attrs.transpose_b, node.Flag("transB", false));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  TENON_ASSIGN_OR_RETURN(const float beta, node.Float("beta", 1.0f));
  if (!IsFloat(dtype) && (alpha != 1.0f || beta != 1.0f)) {
    return node.Unsupported("Gemm of integers with factors", "alpha = beta = 1, or floats");
  }
  const auto scaled = [&](Value value, float factor) -> absl::StatusOr<Value> {
    if (factor == 1.0f) return value;
    TENON_ASSIGN_OR_RETURN(const Value scalar, node.MakeScalar(dtype, factor));
    return node.Make<ten::MulOp>(value, scalar);
  };
  TENON_ASSIGN_OR_RETURN(Value result, node.Make<ten::MatmulOp>(a, b, attrs));
  TENON_ASSIGN_OR_RETURN(result, scaled(result, alpha));
  // beta = 0 means that C is not read.
  if (!node.input(2) || beta == 0.0f) return node.Return(result);
  if (node.input(2).type().rank() > 2) return node.Error("input 2 of Gemm has a rank above 2");
  TENON_ASSIGN_OR_RETURN(const Value c, scaled(node.input(2), beta));
  return node.Return(node.Make<ten::AddOp>(result, c));
}

absl::Status ImportEinsum(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, static_cast<int>(kMaxOperands)));
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.input(i)) return node.Error(fmt::format("input {} of Einsum is missing", i));
  }
  TENON_ASSIGN_OR_RETURN(const std::string written, node.Str("equation", ""));
  ten::EinsumOp::Attrs attrs;
  for (char c : written) {
    if (c != ' ') attrs.equation += c;
  }
  return node.Return(node.Make<ten::EinsumOp>(node.inputs(), attrs));
}

}  // namespace tenon::onnx
