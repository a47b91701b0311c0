// Operations as nodes of ONNX Runtime's domain com.microsoft, where they compute exactly the same.
// What they do not cover goes the way of the standard operators.
#include <cmath>

#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/expand/fused_parts.h"

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

// ---- attention

// True if MultiHeadAttention has flags for what this one hides. It adds mask_filter_value to hidden
// scores, and hides later keys where there are as many keys as queries.
bool HidesByFlags(const fused::AttentionOp& op) {
  const auto attrs = op.attrs();
  const bool summand = op.mask() || op.bias();
  if (attrs.window > 0) return false;
  if (op.key_mask() &&
      (attrs.causal || attrs.mask_replaces || std::isinf(attrs.mask_value) || op.past_key())) {
    return false;
  }
  if (!attrs.causal) return true;
  // Every query sees itself, so that a large number and infinity hide alike.
  return attrs.mask_value <= -1e30F && !op.past_key() && !summand &&
         DimExpr::ProvablyEqual(op.q().type().dim(1), op.k().type().dim(1));
}

// True if a summand hides as this one does: it adds a number to hidden scores, and nothing else.
bool HidesByNumber(const fused::AttentionOp& op) {
  const auto attrs = op.attrs();
  return !op.mask() && !op.bias() && !attrs.mask_replaces && std::isfinite(attrs.mask_value);
}

// True if MultiHeadAttention computes the same.
bool IsMultiHead(const fused::AttentionOp& op) {
  const auto attrs = op.attrs();
  const bool rows = attrs.q_layout != "bhsd" && attrs.k_layout == attrs.q_layout &&
                    attrs.v_layout == attrs.q_layout && attrs.out_layout == "bsh";
  // A scale of 0 is that of the number of features to MultiHeadAttention.
  if (!rows || attrs.scale == 0 || !IsF32(op.q()) || attrs.kv_num_heads != attrs.num_heads ||
      attrs.softcap > 0 || attrs.nan_guard || attrs.zero_nan_rows || attrs.repeat_first_key) {
    return false;
  }
  if (op.mask() && op.mask().type().dtype() == DType::kBool) return false;
  if (op.bias() && op.mask()) return false;
  const Value summand = op.mask() ? op.mask() : op.bias();
  if (summand && (!IsF32(summand) || summand.type().rank() != 4)) return false;
  return HidesByFlags(op) || HidesByNumber(op);
}

// The heads of an operand side by side, [batch, sequence, heads * size].
Value SideBySide(OpFormula& f, Value x, std::string_view layout, int64_t heads, int64_t size,
                 int64_t offset) {
  OpFormula::Dims dims = f.DimsOf(x);
  if (!f.ok()) return Value();
  if (layout == "bshd") return f.Reshape(x, {dims[0], dims[1], dims[2] * dims[3]});
  if (size < 0 || (offset == 0 && dims[2].is_constant(heads * size))) return x;
  return f.Slice(x, 2, f.Number(offset), f.Number(offset + heads * size));
}

// The summand of the scores with all queries and keys: MultiHeadAttention repeats it over batches
// and heads only. Null for none.
Value SummandOf(OpFormula& f, const fused::AttentionOp& op) {
  const DimExpr queries = f.DimOf(op.q(), 1);
  DimExpr keys = f.DimOf(op.k(), 1);
  if (op.past_key()) keys = keys + f.DimOf(op.past_key(), 2);
  Value summand = op.mask() ? op.mask() : op.bias();
  if (!HidesByFlags(op)) {
    const Value visible = VisibleKeys(f, queries, keys);
    summand = f.Where(visible, f.Scalar(DType::kF32, 0), f.Scalar(DType::kF32, op.mask_value()));
    // Without padding it is the same for all texts.
    if (!op.key_mask()) summand = f.Reshape(summand, {f.Number(1), f.Number(1), queries, keys});
  }
  if (!summand || !f.ok()) return summand;
  OpFormula::Dims dims = f.DimsOf(summand);
  if (DimExpr::ProvablyEqual(dims[2], queries) && DimExpr::ProvablyEqual(dims[3], keys)) {
    return summand;
  }
  dims[2] = queries, dims[3] = keys;
  return f.Make<ten::ExpandOp>(summand, ten::ExpandOp::Attrs{.shape = dims});
}

bool OrtAttention(Lowering& l, const fused::AttentionOp& op) {
  if (!IsMultiHead(op)) return false;
  const auto attrs = op.attrs();
  OpFormula f(l.op());
  const auto heads = [&](Value x, int64_t size, int64_t offset) {
    return SideBySide(f, x, attrs.q_layout, attrs.num_heads, size, offset);
  };
  const Value q = heads(op.q(), attrs.head_dim, attrs.q_offset);
  const Value k = heads(op.k(), attrs.head_dim, attrs.k_offset);
  const Value v = heads(op.v(), attrs.v_head_dim, attrs.v_offset);
  const bool by_flags = HidesByFlags(op);
  const Value summand = SummandOf(f, op);
  if (!f.ok()) {
    l.Fail("its operands");
    return true;
  }
  Lowering::Attrs made = {{"num_heads", l.Int(attrs.num_heads)}, {"scale", l.Float(attrs.scale)}};
  Value key_mask = by_flags ? op.key_mask() : Value();
  if (key_mask) {
    key_mask = l.Node("Cast", {key_mask}, {{"to", l.Int(onnxpb::TensorProto::INT32)}});
    made.emplace_back("mask_filter_value", l.Float(attrs.mask_value));
  }
  if (attrs.causal && by_flags) made.emplace_back("unidirectional", l.Int(1));
  Operation* node = l.Nodes("com.microsoft.MultiHeadAttention",
                            {q, k, v, Value(), key_mask, summand, op.past_key(), op.past_value()},
                            made, l.op().num_results());
  if (node == nullptr) return true;
  std::vector<Value> results;
  for (unsigned i = 0; i < node->num_results(); ++i) results.push_back(node->result(i));
  l.Done(results);
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
    case fused::AttentionOp::kId:
      return OrtAttention(l, fused::AttentionOp(&op));
    default:
      return false;
  }
}

}  // namespace tenon::onnx
