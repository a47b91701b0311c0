// Operations as nodes of ONNX Runtime's domain com.microsoft, where they compute exactly the same.
// What they do not cover goes the way of the standard operators.
#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

bool IsF32(Value value) { return value.type().is_tensor() && value.type().dtype() == DType::kF32; }

bool SameExtents(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor() || a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

// True for a vector along the last axis of x.
bool IsRow(Value row, Type x) {
  return row && row.type().is_tensor() && row.type().rank() == 1 &&
         DimExpr::ProvablyEqual(row.type().dim(0), x.dim(-1));
}

// Norms of a sum; results are the norm and the sum.
bool OrtSkipNorm(Lowering& l, std::string_view node, int64_t axis, float epsilon, Value scale,
                 Value bias, Value offset, bool has_bias) {
  const Value x = l.operand(0), skip = l.operand(1);
  if (!IsF32(x) || !SameExtents(x.type(), skip.type()) || x.type().rank() != 3 || axis != 2 ||
      !IsRow(scale, x.type()) || (bias && !IsRow(bias, x.type())) ||
      (offset && !IsRow(offset, x.type()))) {
    return false;
  }
  std::vector<Value> inputs = {x, skip, scale};
  if (has_bias) inputs.push_back(bias);
  inputs.push_back(offset);
  Operation* made = l.Nodes(node, std::move(inputs), {{"epsilon", l.Float(epsilon)}}, 4);
  if (made == nullptr) return true;
  const Value results[] = {made->result(0), made->result(3)};
  l.Done(results);
  return true;
}

bool OrtGelu(Lowering& l, std::string_view approximate) {
  if (!IsF32(l.operand(0))) return false;
  if (approximate == "none") {
    l.Done(l.Node("com.microsoft.Gelu", {l.operand(0)}));
  } else if (approximate == "tanh") {
    l.Done(l.Node("com.microsoft.FastGelu", {l.operand(0)}));
  } else {
    l.Done(l.Node("com.microsoft.QuickGelu", {l.operand(0)}, {{"alpha", l.Float(1.702f)}}));
  }
  return true;
}

bool OrtMatMul(Lowering& l, const ten::MatmulOp& op) {
  const auto attrs = op.attrs();
  if (!IsF32(op.a()) || !IsF32(op.b()) || op.a().type().rank() < 2 || op.b().type().rank() < 2 ||
      (!attrs.transpose_a && !attrs.transpose_b)) {
    return false;
  }
  l.Done(l.Node("com.microsoft.FusedMatMul", {op.a(), op.b()},
                {{"transA", l.Int(attrs.transpose_a ? 1 : 0)},
                 {"transB", l.Int(attrs.transpose_b ? 1 : 0)}}));
  return true;
}

bool OrtRotary(Lowering& l, const nn::RotaryEmbeddingOp& op) {
  const auto attrs = op.attrs();
  if (l.opset() >= 23 || !op.position_ids() || !IsF32(op.x()) || op.cos().type().rank() != 2)
    return false;
  Lowering::Attrs made = {{"interleaved", l.Int(attrs.interleaved ? 1 : 0)}};
  int64_t heads = attrs.num_heads;
  // A part of the features is rotated only where the node says how many heads there are.
  if (heads == 0 && attrs.rotary_dim > 0 && op.x().type().rank() == 4) {
    const DimExpr dim = op.x().type().dim(1);
    if (!dim.is_constant()) return false;
    heads = dim.constant();
  }
  if (heads > 0) made.emplace_back("num_heads", l.Int(heads));
  if (attrs.rotary_dim > 0) made.emplace_back("rotary_embedding_dim", l.Int(attrs.rotary_dim));
  l.Done(l.Node("com.microsoft.RotaryEmbedding", {op.x(), op.position_ids(), op.cos(), op.sin()},
                made));
  return true;
}

}  // namespace

bool LowerMicrosoft(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case fused::SkipLayerNormOp::kId: {
      const fused::SkipLayerNormOp norm(&op);
      return OrtSkipNorm(l, "com.microsoft.SkipLayerNormalization", norm.axis(), norm.epsilon(),
                         norm.scale(), norm.bias(), norm.offset(), true);
    }
    case fused::SkipRmsNormOp::kId: {
      const fused::SkipRmsNormOp norm(&op);
      return OrtSkipNorm(l, "com.microsoft.SkipSimplifiedLayerNormalization", norm.axis(),
                         norm.epsilon(), norm.scale(), Value(), norm.offset(), false);
    }
    case nn::GeluOp::kId:
      return OrtGelu(l, nn::GeluOp(&op).approximate());
    case ten::MatmulOp::kId:
      return OrtMatMul(l, ten::MatmulOp(&op));
    case nn::RotaryEmbeddingOp::kId:
      return OrtRotary(l, nn::RotaryEmbeddingOp(&op));
    default:
      return LowerOrtAttention(l);
  }
}

}  // namespace tenon::onnx
