// Attention and rotary embedding as the operations that they join.
#include <limits>

#include "fmt/format.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "transforms/expand/fused_parts_internal.h"

namespace tenon {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// One of queries, keys and values, as it lies in memory.
struct Heads {
  Value x;
  std::string_view layout;
  int64_t count, size, offset;  // size: -1 for all columns divided by the heads
};

// [batch, heads, sequence, size].
Value HeadsFirst(OpFormula& f, const Heads& heads) {
  if (!f.ok() || heads.layout == "bhsd" || heads.layout == "bhds") return heads.x;
  if (heads.layout == "bshd") return f.Transpose(heads.x, {0, 2, 1, 3});
  Value x = heads.x;
  const DimExpr width = f.DimOf(x, 2);
  const DimExpr size =
      heads.size >= 0 ? f.Number(heads.size) : FloorDiv(width, f.Number(heads.count));
  const DimExpr columns = size * heads.count;
  if (heads.offset != 0 || columns != width) {
    x = f.Slice(x, 2, f.Number(heads.offset), columns + heads.offset);
  }
  x = f.Reshape(x, {f.DimOf(x, 0), f.DimOf(x, 1), f.Number(heads.count), size});
  return f.Transpose(x, {0, 2, 1, 3});
}

}  // namespace

Value VisibleKeys(OpFormula& f, DimExpr queries, DimExpr keys) {
  const fused::AttentionOp op(&f.op());
  const auto attrs = op.attrs();
  Value visible;
  if (op.key_mask()) {
    const OpFormula::Dims dims = f.DimsOf(op.key_mask());
    visible = f.Reshape(op.key_mask(), {dims[0], f.Number(1), f.Number(1), dims[1]});
  }
  if (!attrs.causal && attrs.window <= 0) return visible;
  // The positions of the queries among the keys, as a column; and of the keys, as a row.
  const Value row = f.Reshape(f.Iota(keys - queries, queries), {queries, f.Number(1)});
  Value column = f.Iota(f.Number(0), keys);
  if (attrs.repeat_first_key && op.key_mask() && f.ok()) {
    // With one column of key_mask, the position of the first key stands for all.
    const DimExpr several = Min(op.key_mask().type().dim(1) - 1, f.Number(1));
    column = f.Mul(column, f.Extent(several));
  }
  if (attrs.causal) visible = f.And(visible, f.Make<ten::LessEqualOp>(column, row));
  if (attrs.window > 0) {
    const Value first = f.Sub(row, f.Scalar(DType::kI64, static_cast<double>(attrs.window)));
    visible = f.And(visible, f.Make<ten::GreaterOp>(column, first));
  }
  return visible;
}

Value RepeatHeads(OpFormula& f, Value x, int64_t heads) {
  OpFormula::Dims dims = f.DimsOf(x);
  if (!f.ok() || dims[1].is_constant(heads)) return x;
  if (!dims[1].is_constant() || dims[1].constant() < 1 || heads % dims[1].constant() != 0) {
    f.Fail(fmt::format("{}: {} heads do not share {}", f.op().name(), heads, dims[1].text()));
    return Value();
  }
  const OpFormula::Dims joined = {dims[0], f.Number(heads), dims[2], dims[3]};
  dims.insert(dims.begin() + 2, f.Number(1));
  x = f.Reshape(x, dims);
  dims[2] = f.Number(heads / dims[1].constant());
  x = f.Make<ten::ExpandOp>(x, ten::ExpandOp::Attrs{.shape = dims});
  return f.Reshape(x, joined);
}

Value MakeAttention(OpFormula& f, const AttentionParts& parts) {
  if (!f.ok()) return Value();
  const DType dtype = parts.queries.type().dtype();
  const auto number = [&](double value) { return f.Scalar(dtype, value); };
  Value scores = f.Make<ten::MatmulOp>(parts.queries, parts.keys,
                                       ten::MatmulOp::Attrs{.transpose_b = !parts.keys_transposed});
  if (parts.scale != 1) scores = f.Mul(scores, number(parts.scale));
  if (parts.softcap > 0) {
    const Value cap = number(parts.softcap);
    scores = f.Mul(f.Make<ten::TanhOp>(f.Div(scores, cap)), cap);
  }
  const Value hidden = parts.visible ? number(parts.hidden_value) : Value();
  if (hidden && parts.replaces && !parts.last) scores = f.Where(parts.visible, scores, hidden);
  if (parts.bias) scores = f.Add(scores, parts.bias);
  if (parts.mask) scores = f.Add(scores, parts.mask);
  if (hidden && (parts.last || (!parts.replaces && parts.hidden_value == kMinusInfinity))) {
    scores = f.Where(parts.visible, scores, hidden);
  } else if (hidden && !parts.replaces) {
    scores = f.Add(scores, f.Where(parts.visible, number(0), hidden));
  }
  Value weights = f.Make<nn::SoftmaxOp>(scores, nn::SoftmaxOp::Attrs{.axis = 3});
  if (parts.zero_nan_weights) {
    weights = f.Where(f.Make<ten::IsNanOp>(weights), number(0), weights);
  }
  Value out = f.Make<ten::MatmulOp>(weights, parts.values, ten::MatmulOp::Attrs{});
  if (parts.zeros_if_hidden) {
    const Value largest = f.Make<ten::ReduceMaxOp>(scores, ten::ReduceMaxOp::Attrs{.axes = {3}});
    out = f.Where(f.Make<ten::EqualOp>(largest, number(kMinusInfinity)), number(0), out);
  }
  return out;
}

std::vector<Value> PartsOfAttention(OpFormula& f) {
  const fused::AttentionOp op(&f.op());
  const auto attrs = op.attrs();
  AttentionParts parts;
  parts.queries =
      HeadsFirst(f, {op.q(), attrs.q_layout, attrs.num_heads, attrs.head_dim, attrs.q_offset});
  Value keys =
      HeadsFirst(f, {op.k(), attrs.k_layout, attrs.kv_num_heads, attrs.head_dim, attrs.k_offset});
  Value values =
      HeadsFirst(f, {op.v(), attrs.v_layout, attrs.kv_num_heads, attrs.v_head_dim, attrs.v_offset});
  parts.keys_transposed = attrs.k_layout == "bhds";
  std::vector<Value> results(1);
  if (op.past_key()) {
    if (parts.keys_transposed) keys = f.Transpose(keys, {0, 1, 3, 2});
    parts.keys_transposed = false;
    const Value all_keys[] = {op.past_key(), keys}, all_values[] = {op.past_value(), values};
    keys = f.Concat(all_keys, 2);
    values = f.Concat(all_values, 2);
    results.insert(results.end(), {keys, values});
  }
  const DimExpr queries = f.DimOf(parts.queries, 2), length = f.DimOf(values, 2);
  parts.keys = RepeatHeads(f, keys, attrs.num_heads);
  parts.values = RepeatHeads(f, values, attrs.num_heads);
  parts.scale = attrs.scale;
  parts.softcap = attrs.softcap;
  parts.visible = VisibleKeys(f, queries, length);
  parts.bias = op.bias();
  const bool boolean = op.mask() && op.mask().type().dtype() == DType::kBool;
  if (boolean) parts.visible = f.And(op.mask(), parts.visible);
  if (!boolean && op.mask() && f.ok()) parts.mask = f.Cast(op.mask(), op.q().type().dtype());
  parts.hidden_value = attrs.mask_value;
  parts.replaces = attrs.mask_replaces;
  parts.last = attrs.mask_replaces && attrs.mask_last;
  parts.zeros_if_hidden = attrs.nan_guard;
  parts.zero_nan_weights = attrs.zero_nan_rows;
  Value out = MakeAttention(f, parts);
  if (attrs.out_layout != "bhsd") out = f.Transpose(out, {0, 2, 1, 3});
  if (attrs.out_layout == "bsh") {
    const OpFormula::Dims dims = f.DimsOf(out);
    if (f.ok()) out = f.Reshape(out, {dims[0], dims[1], dims[2] * dims[3]});
  }
  results[0] = out;
  return results;
}

Value Rotated(OpFormula& f, Value x, Value cos, Value sin, bool interleaved) {
  if (!f.ok()) return Value();
  const OpFormula::Dims dims = f.DimsOf(x);
  const int64_t axis = static_cast<int64_t>(dims.size()) - 1;
  const DimExpr size = dims.back(), half = FloorDiv(size, 2);
  Value turned;
  if (interleaved) {
    OpFormula::Dims pairs = dims;
    pairs.back() = half;
    pairs.push_back(f.Number(2));
    const Value split = f.Reshape(x, pairs);
    const Value first = f.Slice(split, axis + 1, f.Number(0), f.Number(1));
    const Value second = f.Slice(split, axis + 1, f.Number(1), f.Number(2));
    const Value parts[] = {f.Make<ten::NegOp>(second), first};
    turned = f.Reshape(f.Concat(parts, axis + 1), dims);
  } else {
    const Value first = f.Slice(x, axis, f.Number(0), half), second = f.Slice(x, axis, half, size);
    const Value parts[] = {f.Make<ten::NegOp>(second), first};
    turned = f.Concat(parts, axis);
  }
  return f.Add(f.Mul(x, cos), f.Mul(turned, sin));
}

std::vector<Value> PartsOfRotary(OpFormula& f) {
  const fused::RotaryOp op(&f.op());
  const auto attrs = op.attrs();
  const Value x = op.x();
  const int64_t axis = x.type().rank() - 1;
  const DimExpr size = x.type().dim(axis);
  if (attrs.rotary_dim <= 0 || size.is_constant(attrs.rotary_dim)) {
    return {Rotated(f, x, op.cos(), op.sin(), attrs.interleaved)};
  }
  const DimExpr end = f.Number(attrs.rotary_dim);
  const Value front = f.Slice(x, axis, f.Number(0), end), rest = f.Slice(x, axis, end, size);
  const Value parts[] = {Rotated(f, front, op.cos(), op.sin(), attrs.interleaved), rest};
  return {f.Concat(parts, axis)};
}

}  // namespace tenon
