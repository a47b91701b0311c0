// Attention and rotary embeddings as nodes of ONNX Runtime's domain com.microsoft. What its kernels
// do not take goes the way of the standard operators.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/expand/fused_parts.h"

namespace tenon::onnx {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

bool OfFloats(Value value) {
  return value.type().is_tensor() && value.type().dtype() == DType::kF32;
}

// ---- rotary embeddings

// The nodes that are looked at between a table of angles and a rotation.
constexpr int kMaxSteps = 16;

bool RowsHaveEqualHalves(Attribute elements) {
  const Type type = elements.type();
  if (type.dtype() != DType::kF32 || type.rank() == 0 || type.num_elements() == 0) return false;
  if (elements.is_splat()) return true;
  const int64_t width = type.dim(-1).constant(), half = width / 2;
  const std::span<const std::byte> bytes = elements.raw_bytes();
  constexpr size_t kSize = sizeof(float);
  for (size_t row = 0; row < bytes.size(); row += static_cast<size_t>(width) * kSize) {
    const auto first = bytes.subspan(row, static_cast<size_t>(half) * kSize);
    const auto second = bytes.subspan(row + first.size(), first.size());
    if (!std::equal(first.begin(), first.end(), second.begin())) return false;
  }
  return true;
}

// True if both halves of the last axis of v, which has an even constant extent, are known to be
// equal. The operations before the one that is lowered are nodes already.
bool HasEqualHalves(Value v, int steps = kMaxSteps) {
  if (!v.type().is_tensor() || v.type().rank() == 0 || !v.type().dim(-1).is_constant())
    return false;
  const int64_t width = v.type().dim(-1).constant();
  Operation* const op = v.defining_op();
  if (width % 2 != 0 || op == nullptr || steps == 0 || op->num_operands() == 0) {
    const core::ConstantOp constant = DefinedBy<core::ConstantOp>(v);
    return constant && width % 2 == 0 && RowsHaveEqualHalves(constant.value());
  }
  const Value x = op->operand(0);
  const std::string_view name = op->name();
  if (!x.type().is_tensor() || x.type().rank() == 0) return false;
  if (name == "onnx.Concat") {
    return op->num_operands() == 2 && op->operand(1) == x &&
           x.type().dim(-1).is_constant(width / 2);
  }
  const bool keeps_rows = name == "onnx.Reshape" || name == "onnx.Unsqueeze" ||
                          name == "onnx.Squeeze" || name == "onnx.Expand" ||
                          name == "onnx.Gather" || name == "onnx.Cos" || name == "onnx.Sin" ||
                          name == "onnx.Cast";
  if (name == "onnx.Mul" && op->operand(1).type().is_tensor() &&
      op->operand(1).type().rank() == 0) {
    return HasEqualHalves(x, steps - 1);
  }
  // Rows stay whole where the last extent does. A Gather of rows has the axis 0.
  if (!keeps_rows || !x.type().dim(-1).is_constant(width)) return false;
  if (name == "onnx.Gather") {
    const Attribute axis = op->attr("axis");
    if (x.type().rank() < 2 || (axis && axis.int_value() != 0)) return false;
  }
  return HasEqualHalves(x, steps - 1);
}

// How the axes of a rotated tensor of rank 4 are used.
struct RotaryForm {
  DimExpr sequence;
  bool heads_last = false;  // [batch, sequence, heads, size]; else [batch, heads, sequence, size]
  bool per_text = false;    // the angles differ between texts
};

bool FindForm(const fused::RotaryOp& op, RotaryForm& form) {
  const Type x = op.x().type(), cos = op.cos().type();
  if (!OfFloats(op.x()) || x.rank() != 4 || !cos.is_tensor() || cos.rank() > 4 || cos.rank() < 2 ||
      op.sin().type() != cos) {
    return false;
  }
  const auto extent = [&](int64_t axis) {
    const int64_t at = axis - (4 - cos.rank());
    return at < 0 ? DimExpr::Constant(op->context(), 1) : cos.dim(at);
  };
  const auto covers = [&](int64_t axis) {
    return DimExpr::ProvablyEqual(extent(axis), x.dim(axis));
  };
  form.per_text = !extent(0).is_constant(1);
  if (form.per_text && !covers(0)) return false;
  form.heads_last = extent(2).is_constant(1) && covers(1);
  if (!form.heads_last && (!extent(1).is_constant(1) || !covers(2))) return false;
  form.sequence = x.dim(form.heads_last ? 1 : 2);
  return true;
}

// The cosines or sines of half the features, a row for each position.
Value Cache(OpFormula& f, Value angles, DimExpr rows, int64_t half) {
  const int64_t last = angles.type().rank() - 1;
  return f.Reshape(f.Slice(angles, last, f.Number(0), f.Number(half)), {rows, f.Number(half)});
}

bool OrtFusedRotary(Lowering& l, const fused::RotaryOp& op) {
  const auto attrs = op.attrs();
  RotaryForm form;
  if (attrs.interleaved || !FindForm(op, form)) return false;
  const Type x = op.x().type();
  const DimExpr heads = x.dim(form.heads_last ? 2 : 1);
  if (!heads.is_constant() || !x.dim(3).is_constant()) return false;
  const int64_t rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : x.dim(3).constant();
  if (!op.cos().type().dim(-1).is_constant(rotated) || !HasEqualHalves(op.cos()) ||
      !HasEqualHalves(op.sin())) {
    return false;
  }
  OpFormula f(l.op());
  const DimExpr rows = form.per_text ? x.dim(0) * form.sequence : form.sequence;
  // One position stands for the first of each text.
  const int64_t first[] = {0};
  const Value positions = form.per_text
                              ? f.Reshape(f.Iota(f.Number(0), rows), {x.dim(0), form.sequence})
                              : f.Ints(first);
  const Value cos = Cache(f, op.cos(), rows, rotated / 2),
              sin = Cache(f, op.sin(), rows, rotated / 2);
  Value rotating = op.x();
  if (form.heads_last) rotating = f.Reshape(rotating, {x.dim(0), x.dim(1), heads * x.dim(3)});
  if (!f.ok()) {
    l.Fail("its operands");
    return true;
  }
  Lowering::Attrs made = {{"num_heads", l.Int(heads.constant())}};
  if (attrs.rotary_dim > 0) made.emplace_back("rotary_embedding_dim", l.Int(rotated));
  Value y = l.Node("com.microsoft.RotaryEmbedding", {rotating, positions, cos, sin}, made);
  if (form.heads_last && y) {
    y.set_type(rotating.type());
    y = f.Reshape(y, f.DimsOf(op.x()));
  }
  l.Done(y);
  return true;
}

// ---- attention

// What hides keys from queries, and how the nodes say so.
class Hiding {
 public:
  explicit Hiding(const fused::AttentionOp& op) : op_(op), attrs_(op.attrs()) {}

  bool boolean() const { return op_.mask() && op_.mask().type().dtype() == DType::kBool; }
  // The only float summand; null for none or two.
  Value summand() const {
    const Value mask = boolean() ? Value() : op_.mask();
    return mask ? mask : op_.bias();
  }
  bool two_summands() const { return op_.bias() && op_.mask() && !boolean(); }
  bool any() const { return boolean() || op_.key_mask() || attrs_.causal || attrs_.window > 0; }

  // True if MultiHeadAttention has flags for it. It adds mask_filter_value to hidden scores, and
  // hides later keys where there are as many keys as queries.
  bool ByFlags() const {
    if (attrs_.window > 0 || boolean() || attrs_.repeat_first_key) return false;
    if (op_.key_mask() && (attrs_.causal || attrs_.mask_replaces || std::isinf(attrs_.mask_value) ||
                           op_.past_key())) {
      return false;
    }
    if (!attrs_.causal) return true;
    return attrs_.mask_value <= -1e30F && !op_.past_key() && !summand() && SameLengths();
  }
  // True if each query sees its own key, so that all large numbers hide alike.
  bool SeesItself() const {
    return attrs_.causal && attrs_.mask_value <= -1e30F && !op_.key_mask() && !boolean() &&
           (op_.past_key() || SameLengths());
  }
  // True if a summand hides as this one does. An infinite one does in any place; a finite one is
  // the only summand.
  bool BySummand() const {
    if (attrs_.mask_value == kHidden || SeesItself()) return true;
    return !summand() && !attrs_.mask_replaces && std::isfinite(attrs_.mask_value);
  }
  // True if rows may be hidden whole by infinite summands, so that their softmax is NaN.
  bool HidesRows() const {
    return summand() || (attrs_.mask_value == kHidden &&
                         (boolean() || op_.key_mask() || (attrs_.window > 0 && !attrs_.causal)));
  }
  bool SameLengths() const {
    return DimExpr::ProvablyEqual(op_.q().type().dim(QueryAxis()),
                                  op_.k().type().dim(attrs_.k_layout == "bhsd" ? 2 : 1));
  }
  int64_t QueryAxis() const { return attrs_.q_layout == "bhsd" ? 2 : 1; }

 private:
  const fused::AttentionOp op_;
  const fused::AttentionOp::Attrs attrs_;
};

// Rank 4, with axes of one element in front.
Value OfRank4(OpFormula& f, Value x) {
  OpFormula::Dims dims = f.DimsOf(x);
  while (f.ok() && dims.size() < 4) dims.insert(dims.begin(), f.Number(1));
  return f.ok() ? f.Reshape(x, dims) : Value();
}

// The summand of the scores with all queries and keys: the nodes repeat it over batches and heads
// only. `visible`: the keys that are not hidden by it; null for all. Null for none.
Value SummandOf(OpFormula& f, const Hiding& hiding, Value visible, double hidden, DimExpr queries,
                DimExpr keys) {
  Value sum = hiding.summand() ? OfRank4(f, hiding.summand()) : Value();
  if (visible) {
    const Value none = f.Scalar(DType::kF32, 0), number = f.Scalar(DType::kF32, hidden);
    Value hides = f.Where(visible, none, number);
    // Without padding it is the same for all texts.
    if (f.ok() && hides.type().rank() < 4) {
      hides = f.Reshape(hides, {f.Number(1), f.Number(1), queries, keys});
    }
    sum = sum ? f.Add(sum, hides) : hides;
  }
  if (!sum || !f.ok()) return sum;
  OpFormula::Dims dims = f.DimsOf(sum);
  if (DimExpr::ProvablyEqual(dims[2], queries) && DimExpr::ProvablyEqual(dims[3], keys)) return sum;
  dims[2] = queries, dims[3] = keys;
  return f.Make<ten::ExpandOp>(sum, ten::ExpandOp::Attrs{.shape = dims});
}

// An operand of attention: its layout, heads, the size of each (-1: from the layout) and the first
// column.
struct HeadOperand {
  Value x;
  std::string_view layout;
  int64_t count, size, offset;
};

// [batch, sequence, heads * size].
Value SideBySide(OpFormula& f, Lowering& l, const HeadOperand& h) {
  OpFormula::Dims dims = f.DimsOf(h.x);
  if (!f.ok()) return Value();
  if (h.layout == "bhsd") {
    return f.Reshape(f.Transpose(h.x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
  }
  if (h.layout == "bshd") {
    const DimExpr width = dims[2] * dims[3];
    // Heads that were only split apart, as those of a rotation, need no second reshape.
    Operation* const split = h.x.defining_op();
    if (split != nullptr && split->name() == "onnx.Reshape") {
      const Type whole = split->operand(0).type();
      if (whole.is_tensor() && whole.rank() == 3 && DimExpr::ProvablyEqual(whole.dim(0), dims[0]) &&
          DimExpr::ProvablyEqual(whole.dim(1), dims[1]) &&
          DimExpr::ProvablyEqual(whole.dim(2), width)) {
        l.MayBeUnused(h.x);
        return split->operand(0);
      }
    }
    return f.Reshape(h.x, {dims[0], dims[1], width});
  }
  if (h.size < 0 || (h.offset == 0 && dims[2].is_constant(h.count * h.size))) return h.x;
  return f.Slice(h.x, 2, f.Number(h.offset), f.Number(h.offset + h.count * h.size));
}

// [batch, heads, sequence, size].
Value HeadsFirst(OpFormula& f, Lowering& l, const HeadOperand& h) {
  if (h.layout == "bhsd") return h.x;
  if (h.layout == "bshd") return f.Transpose(h.x, {0, 2, 1, 3});
  const Value whole = SideBySide(f, l, h);
  if (!f.ok()) return Value();
  const OpFormula::Dims dims = f.DimsOf(whole);
  if (!dims[2].is_constant()) {
    f.Fail("fused.attention: the size of a head is not known");
    return Value();
  }
  const DimExpr size = f.Number(dims[2].constant() / h.count);
  return f.Transpose(f.Reshape(whole, {dims[0], dims[1], f.Number(h.count), size}), {0, 2, 1, 3});
}

// The size of a head; -1 if it is not constant.
int64_t HeadSize(const HeadOperand& h) {
  if (h.layout == "bsh" && h.size > 0) return h.size;
  const DimExpr last = h.x.type().dim(-1);
  if (!last.is_constant()) return -1;
  return h.layout == "bsh" ? last.constant() / h.count : last.constant();
}

class OrtAttention {
 public:
  OrtAttention(Lowering& l, const fused::AttentionOp& op)
      : l_(l), op_(op), attrs_(op.attrs()), hiding_(op), f_(l.op()) {}

  bool Lower() {
    if (!IsServed()) return false;
    Operation* const node = IsGrouped() && TakesGroups() ? GroupQuery() : MultiHead();
    if (!f_.ok()) l_.Fail("its operands");
    if (!f_.ok() || node == nullptr) return true;
    std::vector<Value> results;
    for (unsigned i = 0; i < l_.op().num_results(); ++i) {
      results.push_back(i < node->num_results() ? node->result(i) : present_[i - 1]);
    }
    results[0] = WithoutNan(results[0]);
    if (!f_.ok()) l_.Fail("its operands");
    if (f_.ok()) l_.Done(results);
    return true;
  }

 private:
  HeadOperand Queries() const {
    return {op_.q(), attrs_.q_layout, attrs_.num_heads, attrs_.head_dim, attrs_.q_offset};
  }
  HeadOperand Keys() const {
    return {op_.k(), attrs_.k_layout, attrs_.kv_num_heads, attrs_.head_dim, attrs_.k_offset};
  }
  HeadOperand Values() const {
    return {op_.v(), attrs_.v_layout, attrs_.kv_num_heads, attrs_.v_head_dim, attrs_.v_offset};
  }
  bool IsGrouped() const { return attrs_.kv_num_heads != attrs_.num_heads; }
  bool Guarded() const { return attrs_.nan_guard || attrs_.zero_nan_rows; }

  // True if some node may compute the same.
  bool IsServed() const {
    // A scale of 0 is that of the number of features to the nodes.
    if (attrs_.out_layout != "bsh" || attrs_.k_layout == "bhds" || attrs_.scale == 0 ||
        !OfFloats(op_.q()) || !op_.k().type().is_tensor() || !op_.v().type().is_tensor() ||
        hiding_.two_summands()) {
      return false;
    }
    const Value summand = hiding_.summand();
    if (summand && (!OfFloats(summand) || summand.type().rank() > 4)) return false;
    if (hiding_.boolean() && !op_.mask().type().is_tensor()) return false;
    if (attrs_.softcap > 0 && !(IsGrouped() && TakesGroups() && !summand)) return false;
    // Behind a past and for shared heads, values have as many features as keys.
    const int64_t size = HeadSize(Queries());
    if ((op_.past_key() || HeadsComeFirst()) && (size < 0 || HeadSize(Values()) != size)) {
      return false;
    }
    return HidesByFlags() || hiding_.BySummand();
  }

  // True if MultiHeadAttention gets keys and values of rank 4.
  bool HeadsComeFirst() const {
    return IsGrouped() || attrs_.k_layout == "bhsd" || attrs_.v_layout == "bhsd";
  }
  bool HidesByFlags() const { return !hiding_.any() || (hiding_.ByFlags() && !HeadsComeFirst()); }

  // GroupQueryAttention hides later keys. Behind a past it takes several queries of one text only.
  // Rows that are hidden whole are not the same in all its kernels.
  bool TakesGroups() const {
    const int64_t size = HeadSize(Queries());
    if (!attrs_.causal || attrs_.repeat_first_key || size < 0 || size % 8 != 0 ||
        HeadSize(Values()) != size || attrs_.k_layout == "bhsd" || attrs_.v_layout == "bhsd") {
      return false;
    }
    if ((attrs_.mask_value != kHidden && !hiding_.SeesItself()) ||
        (hiding_.HidesRows() && !Guarded()))
      return false;
    const Type q = op_.q().type();
    const DimExpr queries = q.dim(hiding_.QueryAxis());
    if (op_.past_key()) return q.dim(0).is_constant(1) || queries.is_constant(1);
    return DimExpr::ProvablyEqual(queries, op_.k().type().dim(1));
  }

  DimExpr QueryCount() { return f_.DimOf(op_.q(), hiding_.QueryAxis()); }
  DimExpr KeyCount() {
    const DimExpr keys = f_.DimOf(op_.k(), attrs_.k_layout == "bhsd" ? 2 : 1);
    return op_.past_key() && f_.ok() ? keys + f_.DimOf(op_.past_key(), 2) : keys;
  }

  // The condition of `mask` and of what else hides keys.
  Value Visible() {
    const Value visible = VisibleKeys(f_, QueryCount(), KeyCount());
    return hiding_.boolean() ? f_.And(OfRank4(f_, op_.mask()), visible) : visible;
  }

  Operation* GroupQuery() {
    const DimExpr total = KeyCount(), batch = f_.DimOf(op_.q(), 0);
    // Later keys and those outside the window are hidden by the node.
    Value visible;
    if (op_.key_mask()) {
      const OpFormula::Dims dims = f_.DimsOf(op_.key_mask());
      if (f_.ok())
        visible = f_.Reshape(op_.key_mask(), {dims[0], f_.Number(1), f_.Number(1), dims[1]});
    }
    if (hiding_.boolean()) visible = f_.And(OfRank4(f_, op_.mask()), visible);
    const Value summand = SummandOf(f_, hiding_, visible, kHidden, QueryCount(), total);
    const Value q = SideBySide(f_, l_, Queries()), k = SideBySide(f_, l_, Keys()),
                v = SideBySide(f_, l_, Values());
    if (!f_.ok()) return nullptr;
    const Value length = f_.Cast(f_.Extent(total), DType::kI32);
    const Value last = f_.Sub(length, f_.Scalar(DType::kI32, 1));
    const Value lengths = f_.Make<ten::ExpandOp>(last, ten::ExpandOp::Attrs{.shape = {batch}});
    if (!f_.ok()) return nullptr;
    Lowering::Attrs made = {{"num_heads", l_.Int(attrs_.num_heads)},
                            {"kv_num_heads", l_.Int(attrs_.kv_num_heads)},
                            {"scale", l_.Float(attrs_.scale)}};
    if (attrs_.window > 0) made.emplace_back("local_window_size", l_.Int(attrs_.window));
    if (attrs_.softcap > 0) made.emplace_back("softcap", l_.Float(attrs_.softcap));
    return l_.Nodes("com.microsoft.GroupQueryAttention",
                    {q, k, v, op_.past_key(), op_.past_value(), lengths, length, Value(), Value(),
                     Value(), summand},
                    made, op_.past_key() ? 3 : 1);
  }

  // Keys and values stand side by side, or heads first where they are shared by heads or lie so.
  Operation* MultiHead() {
    const bool by_flags = HidesByFlags(), first = HeadsComeFirst();
    const Value summand = SummandOf(f_, hiding_, by_flags ? Value() : Visible(), attrs_.mask_value,
                                    QueryCount(), KeyCount());
    const Value q = SideBySide(f_, l_, Queries());
    Value k, v, past_key, past_value;
    if (first) {
      k = HeadsFirst(f_, l_, Keys()), v = HeadsFirst(f_, l_, Values());
      if (op_.past_key()) {
        const Value keys[] = {op_.past_key(), k}, values[] = {op_.past_value(), v};
        k = f_.Concat(keys, 2), v = f_.Concat(values, 2);
        present_ = {k, v};
      }
      k = RepeatHeads(f_, k, attrs_.num_heads), v = RepeatHeads(f_, v, attrs_.num_heads);
    } else {
      k = SideBySide(f_, l_, Keys()), v = SideBySide(f_, l_, Values());
      past_key = op_.past_key(), past_value = op_.past_value();
    }
    if (!f_.ok()) return nullptr;
    Lowering::Attrs made = {{"num_heads", l_.Int(attrs_.num_heads)},
                            {"scale", l_.Float(attrs_.scale)}};
    Value key_mask = by_flags ? op_.key_mask() : Value();
    if (key_mask) {
      key_mask = l_.Node("Cast", {key_mask}, {{"to", l_.Int(onnxpb::TensorProto::INT32)}});
      made.emplace_back("mask_filter_value", l_.Float(attrs_.mask_value));
    }
    if (attrs_.causal && by_flags) made.emplace_back("unidirectional", l_.Int(1));
    return l_.Nodes("com.microsoft.MultiHeadAttention",
                    {q, k, v, Value(), key_mask, summand, past_key, past_value}, made,
                    first ? 1 : l_.op().num_results());
  }

  // Zeros for rows that are hidden whole. The nodes give NaN or zeros.
  Value WithoutNan(Value y) {
    if (!Guarded() || !hiding_.HidesRows() || !y) return y;
    y.set_type(l_.op().result(0).type());
    return f_.Where(f_.Make<ten::IsNanOp>(y), f_.Scalar(DType::kF32, 0), y);
  }

  Lowering& l_;
  const fused::AttentionOp op_;
  const fused::AttentionOp::Attrs attrs_;
  const Hiding hiding_;
  OpFormula f_;
  std::vector<Value> present_;
};

}  // namespace

bool LowerOrtAttention(Lowering& l) {
  if (l.op().id() == fused::RotaryOp::kId) return OrtFusedRotary(l, fused::RotaryOp(&l.op()));
  return l.op().id() == fused::AttentionOp::kId &&
         OrtAttention(l, fused::AttentionOp(&l.op())).Lower();
}

}  // namespace tenon::onnx
