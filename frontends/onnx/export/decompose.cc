// Operations that no node of an opset computes, as simpler ones.
#include <cmath>

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "ir/base/check.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/expand/fused_parts.h"

namespace tenon::onnx {
namespace {

using Dims = OpFormula::Dims;

bool HasNumbersFrom(Type type, int64_t axis) {
  for (; axis < type.rank(); ++axis) {
    if (!type.dim(axis).is_constant()) return false;
  }
  return true;
}

// Means of the last axes, from `axis` on.
Value MeanFrom(OpFormula& f, Value x, int64_t axis) {
  if (!f.ok()) return Value();
  ten::ReduceMeanOp::Attrs attrs;
  for (; axis < x.type().rank(); ++axis) attrs.axes.push_back(axis);
  return f.Make<ten::ReduceMeanOp>(x, attrs);
}

// f16 and bf16 as f32.
Value Wide(OpFormula& f, Value x) {
  return f.ok() && SizeOf(x.type().dtype()) == 2 ? f.Cast(x, DType::kF32) : x;
}

// x / sqrt(mean(x^2) + epsilon), with f16 and bf16 computed as f32.
Value OverRms(OpFormula& f, Value x, int64_t axis, float epsilon) {
  const DType dtype = x.type().dtype();
  const Value wide = Wide(f, x);
  const DType in = wide.type().dtype();
  const Value mean = MeanFrom(f, f.Make<ten::PowOp>(wide, f.Scalar(in, 2)), axis);
  const Value rms = f.Make<ten::SqrtOp>(f.Add(mean, f.Scalar(in, epsilon)));
  return f.Cast(f.Div(wide, rms), dtype);
}

Value RmsNorm(OpFormula& f) {
  const nn::RmsNormOp op(&f.op());
  const Value y = OverRms(f, op.x(), op.axis(), op.epsilon());
  return op.scale() ? f.Mul(y, op.scale()) : y;
}

Value LayerNorm(OpFormula& f) {
  const nn::LayerNormOp op(&f.op());
  const Value wide = Wide(f, op.x());
  const Value centred = f.Sub(wide, MeanFrom(f, wide, op.axis()));
  Value y = f.ok() ? OverRms(f, centred, op.axis(), op.epsilon()) : Value();
  if (f.ok()) y = f.Cast(y, op.x().type().dtype());
  if (op.scale()) y = f.Mul(y, op.scale());
  return op.bias() ? f.Add(y, op.bias()) : y;
}

// A vector along axis 1 of an image.
Value PerChannel(OpFormula& f, Value vector, int64_t rank) {
  Dims dims(static_cast<size_t>(rank - 1), f.Number(1));
  dims[0] = f.DimOf(vector, 0);
  return f.Reshape(vector, dims);
}

Value GroupNorm(OpFormula& f) {
  const nn::GroupNormOp op(&f.op());
  const Dims dims = f.DimsOf(op.x());
  DimExpr size = f.Number(1);
  for (size_t i = 2; i < dims.size(); ++i) size = size * dims[i];
  const DimExpr rest = FloorDiv(dims[1], op.groups()) * size;
  const Value groups = f.Reshape(op.x(), {dims[0], f.Number(op.groups()), rest});
  const Value centred = f.Sub(groups, MeanFrom(f, groups, 2));
  if (!f.ok()) return Value();
  Value y = f.Reshape(OverRms(f, centred, 2, op.epsilon()), dims);
  const auto rank = static_cast<int64_t>(dims.size());
  if (op.scale()) y = f.Mul(y, PerChannel(f, op.scale(), rank));
  return op.bias() ? f.Add(y, PerChannel(f, op.bias(), rank)) : y;
}

Value Gelu(OpFormula& f) {
  const nn::GeluOp op(&f.op());
  const Value x = op.x();
  const DType dtype = x.type().dtype();
  const auto number = [&](double value) { return f.Scalar(dtype, value); };
  if (op.approximate() == "sigmoid")
    return f.Mul(x, f.Make<ten::SigmoidOp>(f.Mul(x, number(1.702))));
  Value inner;
  if (op.approximate() == "none") {
    inner = f.Make<ten::ErfOp>(f.Div(x, number(std::sqrt(2.0))));
  } else {
    const Value cube = f.Make<ten::PowOp>(x, number(3));
    const Value sum = f.Add(x, f.Mul(cube, number(0.044715)));
    inner = f.Make<ten::TanhOp>(f.Mul(sum, number(std::sqrt(2.0 / M_PI))));
  }
  return f.Mul(f.Mul(x, f.Add(inner, number(1))), number(0.5));
}

Value Mish(OpFormula& f) {
  const Value x = f.op().operand(0);
  return f.Mul(x, f.Make<ten::TanhOp>(f.Make<ten::SoftplusOp>(x)));
}

Value HardSwish(OpFormula& f) {
  const Value x = f.op().operand(0);
  const ten::HardSigmoidOp::Attrs sixth{.alpha = 1.0f / 6, .beta = 0.5f};
  return f.Mul(x, f.Make<ten::HardSigmoidOp>(x, sixth));
}

// The matrices of x with zeros beyond a diagonal, which is an i64 scalar.
Value Triangle(OpFormula& f, Value x, Value diagonal, bool upper) {
  const DimExpr zero = f.Number(0), rows = f.DimOf(x, -2), columns = f.DimOf(x, -1);
  const Value row = f.Reshape(f.Iota(zero, rows), {rows, f.Number(1)});
  const Value distance = f.Sub(f.Iota(zero, columns), row);
  const Value kept = upper ? f.Make<ten::GreaterEqualOp>(distance, diagonal)
                           : f.Make<ten::LessEqualOp>(distance, diagonal);
  return f.ok() ? f.Where(kept, x, f.Scalar(x.type().dtype(), 0)) : Value();
}

// An ELU that none of ONNX's three is.
Value Elu(OpFormula& f) {
  const ten::EluOp op(&f.op());
  const auto attrs = op.attrs();
  const Value x = op.x();
  const DType dtype = x.type().dtype();
  const auto number = [&](float value) { return f.Scalar(dtype, value); };
  const Value low = f.Make<ten::MinOp>(x, number(0));
  const Value decay = f.Sub(f.Make<ten::ExpOp>(f.Div(low, number(attrs.width))), number(1));
  return f.Where(f.Make<ten::GreaterOp>(x, number(0)), f.Mul(x, number(attrs.gamma)),
                 f.Mul(decay, number(attrs.gamma * attrs.alpha)));
}

// Operands of rank 3 have their heads side by side.
Value Heads(OpFormula& f, Value x, int64_t heads) {
  if (!f.ok() || x.type().rank() != 3) return x;
  const Dims dims = f.DimsOf(x);
  const Value split = f.Reshape(x, {dims[0], dims[1], f.Number(heads), FloorDiv(dims[2], heads)});
  return f.Transpose(split, {0, 2, 1, 3});
}

Value JoinedHeads(OpFormula& f, Value x) {
  const Value rows = f.Transpose(x, {0, 2, 1, 3});
  const Dims dims = f.DimsOf(rows);
  return f.ok() ? f.Reshape(rows, {dims[0], dims[1], dims[2] * dims[3]}) : Value();
}

Value Attention(OpFormula& f) {
  const nn::AttentionOp op(&f.op());
  const auto attrs = op.attrs();
  AttentionParts parts;
  parts.queries = Heads(f, op.q(), attrs.q_num_heads);
  parts.keys = Heads(f, op.k(), attrs.kv_num_heads);
  parts.values = Heads(f, op.v(), attrs.kv_num_heads);
  const DimExpr heads = f.DimOf(parts.queries, 1), size = f.DimOf(parts.queries, 3);
  const DimExpr queries = f.DimOf(parts.queries, 2), keys = f.DimOf(parts.keys, 2);
  if (!heads.is_constant() || (attrs.scale == 0 && !size.is_constant())) {
    f.Fail(fmt::format("nn.attention has {} heads of {} elements (expected numbers)", heads.text(),
                       size.text()));
    return Value();
  }
  parts.keys = RepeatHeads(f, parts.keys, heads.constant());
  parts.values = RepeatHeads(f, parts.values, heads.constant());
  parts.scale = attrs.scale != 0 ? static_cast<double>(attrs.scale)
                                 : 1 / std::sqrt(static_cast<double>(size.constant()));
  parts.softcap = attrs.softcap;
  parts.hidden_value = -INFINITY;
  parts.zeros_if_hidden = op.mask() || attrs.is_causal;
  if (attrs.is_causal) {
    const DimExpr offset = attrs.causal_offset.empty() ? f.Number(0) : attrs.causal_offset[0];
    const Value row = f.Reshape(f.Iota(offset, queries), {queries, f.Number(1)});
    parts.visible = f.Make<ten::LessEqualOp>(f.Iota(f.Number(0), keys), row);
  }
  if (op.mask() && op.mask().type().dtype() == DType::kBool) {
    parts.visible = f.And(op.mask(), parts.visible);
  } else if (op.mask()) {
    parts.mask = f.Cast(op.mask(), op.q().type().dtype());
  }
  const Value out = MakeAttention(f, parts);
  return op.q().type().rank() == 3 ? JoinedHeads(f, out) : out;
}

Value RotaryEmbedding(OpFormula& f) {
  const nn::RotaryEmbeddingOp op(&f.op());
  const auto attrs = op.attrs();
  const bool packed = op.x().type().rank() == 3;
  const int64_t heads = packed && attrs.num_heads > 0 ? attrs.num_heads : 1;
  const Value x = packed ? Heads(f, op.x(), heads) : op.x();
  // One angle for each pair: [.., sequence, half] beside the heads.
  const auto angles = [&](Value table) {
    if (op.position_ids()) {
      table = f.Make<ten::GatherOp>(table, op.position_ids(), ten::GatherOp::Attrs{.axis = 0});
    }
    Dims dims = f.DimsOf(table);
    if (dims.size() == 3) dims.insert(dims.begin() + 1, f.Number(1));
    table = f.Reshape(table, dims);
    if (!f.ok()) return Value();
    const DimExpr half = dims.back();
    if (!attrs.interleaved) {
      const Value twice[] = {table, table};
      return f.Concat(twice, static_cast<int64_t>(dims.size()) - 1);
    }
    Dims pairs = dims;
    pairs.push_back(f.Number(1));
    const Value column = f.Reshape(table, pairs);
    const Value twice[] = {column, column};
    dims.back() = half * 2;
    return f.Reshape(f.Concat(twice, static_cast<int64_t>(pairs.size()) - 1), dims);
  };
  const Value cos = angles(op.cos()), sin = angles(op.sin());
  if (!f.ok()) return Value();
  const int64_t rotated = attrs.rotary_dim;
  const Value y = f.Make<fused::RotaryOp>(
      x, cos, sin, fused::RotaryOp::Attrs{.interleaved = attrs.interleaved, .rotary_dim = rotated});
  return packed ? JoinedHeads(f, y) : y;
}

// Null where the operation stays.
Value Simpler(OpFormula& f, int64_t opset) {
  Operation& op = f.op();
  const auto has = [opset](std::string_view node) { return HasNode(node, opset); };
  switch (op.id()) {
    case nn::GeluOp::kId:
      return !has("Gelu") || nn::GeluOp(&op).approximate() == "sigmoid" ? Gelu(f) : Value();
    case nn::SiluOp::kId:
      return f.Mul(op.operand(0), f.Make<ten::SigmoidOp>(op.operand(0)));
    case nn::MishOp::kId:
      return !has("Mish") ? Mish(f) : Value();
    case ten::DftOp::kId:
      return !has("DFT") ? DecomposeDft(f) : Value();
    case ten::HardSwishOp::kId:
      return !has("HardSwish") ? HardSwish(f) : Value();
    case ten::TriluOp::kId: {
      const auto attrs = ten::TriluOp(&op).attrs();
      if (has("Trilu")) return Value();
      return Triangle(f, op.operand(0), f.Integer(attrs.diagonal), attrs.upper);
    }
    case ten::DynamicTriluOp::kId: {
      if (has("Trilu")) return Value();
      const Value diagonal = f.Reshape(f.Cast(op.operand(1), DType::kI64), {});
      return Triangle(f, op.operand(0), diagonal, ten::DynamicTriluOp(&op).upper());
    }
    case ten::EluOp::kId: {
      const auto attrs = ten::EluOp(&op).attrs();
      const bool celu = attrs.gamma == 1 && attrs.width == attrs.alpha &&
                        op.operand(0).type().dtype() == DType::kF32;
      return attrs.width == 1 || celu ? Value() : Elu(f);
    }
    case nn::LayerNormOp::kId: {
      const nn::LayerNormOp norm(&op);
      if (!has("LayerNormalization")) return LayerNorm(f);
      // A node needs a scale, of ones if there is none: of a size that is known.
      const bool covered = norm.scale() && norm.scale().type().is_tensor() &&
                           norm.scale().type().rank() == norm.x().type().rank() - norm.axis();
      return covered || HasNumbersFrom(norm.x().type(), norm.axis()) ? Value() : LayerNorm(f);
    }
    case nn::RmsNormOp::kId: {
      const nn::RmsNormOp norm(&op);
      const bool known = HasNumbersFrom(norm.x().type(), norm.axis());
      return has("RMSNormalization") && known ? Value() : RmsNorm(f);
    }
    case nn::GroupNormOp::kId: {
      const nn::GroupNormOp norm(&op);
      const DimExpr channels = norm.x().type().dim(1);
      const bool instance = channels.is_constant(norm.groups()) && norm.x().type().rank() > 2;
      const bool node = has("GroupNormalization") && channels.is_constant();
      return instance || node ? Value() : GroupNorm(f);
    }
    case nn::AttentionOp::kId: {
      const auto offset = nn::AttentionOp(&op).attrs().causal_offset;
      const bool plain = offset.empty() || offset[0].is_constant(0);
      return has("Attention") && plain ? Value() : Attention(f);
    }
    case nn::RotaryEmbeddingOp::kId:
      return has("RotaryEmbedding") ? Value() : RotaryEmbedding(f);
    default:
      return Value();
  }
}

}  // namespace

absl::StatusOr<std::vector<Value>> Decompose(Operation& op, int64_t opset) {
  for (OpOperand& operand : op.operands()) {
    if (!operand.get().type().is_tensor()) return std::vector<Value>();
  }
  TENON_ASSIGN_OR_RETURN(std::vector<Value> parts, FusedPartsOf(op, FusedExpansion::kAll));
  if (!parts.empty()) return parts;
  OpFormula f(op);
  const Value value = Simpler(f, opset);
  if (!f.ok()) return f.status();
  if (value) parts.push_back(value);
  return parts;
}

}  // namespace tenon::onnx
