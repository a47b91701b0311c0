// Attention (opsets 23 to 25) and rotary embedding.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An Attention node while it is imported.
class Attention {
 public:
  explicit Attention(Node& node) : node_(node), f_(node) {}
  absl::Status Import();

 private:
  absl::Status ReadAttributes();
  bool NeedsHeads() const;
  // [batch, heads, sequence, size] of an operand that may have its heads packed.
  Value Heads(Value x, int64_t heads);
  absl::Status AppendPast();
  // Which keys a query may see beside causality that the op itself knows; null: all.
  Value Allowed();
  absl::Status MakeMask();
  // The scores as qk_matmul_output_mode wants them.
  Value Scores();

  Node& node_;
  Formula f_;
  nn::AttentionOp::Attrs attrs_;
  int64_t mode_ = 0, left_window_ = -1, right_window_ = -1;
  Value q_, k_, v_, mask_;
};

absl::Status Attention::ReadAttributes() {
  TENON_ASSIGN_OR_RETURN(attrs_.q_num_heads, node_.Int("q_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs_.kv_num_heads, node_.Int("kv_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs_.scale, node_.Float("scale", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs_.softcap, node_.Float("softcap", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs_.is_causal, node_.Flag("is_causal", false));
  TENON_ASSIGN_OR_RETURN(mode_, node_.Int("qk_matmul_output_mode", 0));
  TENON_ASSIGN_OR_RETURN(left_window_, node_.Int("left_window_size", -1));
  TENON_ASSIGN_OR_RETURN(right_window_, node_.Int("right_window_size", -1));
  if (node_.Find("scale") != nullptr && attrs_.scale == 0.0f) {
    return node_.Unsupported("Attention with a scale of 0",
                             "another scale, or none for the default");
  }
  if (mode_ < 0 || mode_ > 3) {
    return node_.Error(
        fmt::format("Attention has the qk_matmul_output_mode {} (expected 0 to 3)", mode_));
  }
  for (int i = 0; i < 3; ++i) {
    const int64_t rank = node_.input(i).type().rank();
    if ((rank != 3 && rank != 4) || rank != node_.input(0).type().rank()) {
      return node_.Error("the first three inputs of Attention must all be of rank 3 or 4");
    }
  }
  const bool packed = node_.input(0).type().rank() == 3;
  if (packed && (attrs_.q_num_heads < 1 || attrs_.kv_num_heads < 1)) {
    return node_.Error("Attention of inputs of rank 3 needs q_num_heads and kv_num_heads");
  }
  return absl::OkStatus();
}

// Is there anything that nn.attention has not for packed heads?
bool Attention::NeedsHeads() const {
  for (int i = 1; i < 4; ++i) {
    if (node_.IsOutputUsed(i)) return true;
  }
  return node_.input(4) || node_.input(5);
}

Value Attention::Heads(Value x, int64_t heads) {
  return x.type().rank() == 4 ? x : f_.SplitHeads(x, heads);
}

absl::Status Attention::AppendPast() {
  const Value past_k = node_.input(4), past_v = node_.input(5);
  if (!past_k != !past_v) return node_.Error("Attention needs both past_key and past_value");
  if (!past_k) return absl::OkStatus();
  if (past_k.type().rank() != 4 || past_v.type().rank() != 4) {
    return node_.Error("past_key and past_value of Attention must be of rank 4");
  }
  const auto append = [&](Value past, Value now) {
    const Value parts[] = {past, now};
    return f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 2});
  };
  k_ = append(past_k, k_);
  v_ = append(past_v, v_);
  if (attrs_.is_causal) attrs_.causal_offset = {past_k.type().dim(2)};
  return f_.status();
}

Value Attention::Allowed() {
  const bool window = left_window_ >= 0 || right_window_ >= 0;
  const Value lengths = node_.input(6);
  if (!lengths && !window) return Value();
  const DimExpr queries = q_.type().dim(-2), keys = k_.type().dim(-2);
  const Value column = f_.Iota(keys, 3, 4);
  Value allowed, offset;  // of the first query among the keys
  const auto also = [&](Value condition) {
    allowed = allowed ? f_.And(allowed, condition) : condition;
  };
  if (lengths) {
    const Value checked = f_.CheckUpTo(f_.Cast(lengths, DType::kI64), f_.Extent(keys),
                                       "a nonpad_kv_seqlen of Attention");
    const Value length = f_.Along(checked, 0, 4, q_.type().dim(0));
    also(f_.Make<ten::LessOp>(column, length));
    offset = f_.Sub(length, f_.Extent(queries));
  } else {
    offset = f_.Extent(node_.input(4) ? node_.input(4).type().dim(2) : node_.Dim(0));
  }
  if (!window && !attrs_.is_causal) return allowed;
  const Value position = f_.Add(f_.Iota(queries, 2, 4), offset);
  if (lengths && attrs_.is_causal) {
    also(f_.Make<ten::LessEqualOp>(column, position));
    attrs_.is_causal = false;
  }
  const auto bound = [&](int64_t size) {
    return f_.Scalar(DType::kI64, static_cast<double>(size));
  };
  if (left_window_ >= 0) {
    also(f_.Make<ten::GreaterEqualOp>(column, f_.Sub(position, bound(left_window_))));
  }
  if (right_window_ >= 0) {
    also(f_.Make<ten::LessEqualOp>(column, f_.Add(position, bound(right_window_))));
  }
  return allowed;
}

absl::Status Attention::MakeMask() {
  mask_ = node_.input(3);
  const DimExpr keys = k_.type().dim(k_.type().rank() == 4 ? 2 : 1);
  if (mask_ && mask_.type().rank() > 0) {
    // A mask that ends before the keys hides the rest.
    const int64_t rank = mask_.type().rank();
    const DimExpr missing = keys - mask_.type().dim(rank - 1);
    if (missing.is_constant() && missing.constant() > 0) {
      const DType dtype = mask_.type().dtype();
      ten::PadOp::Attrs pad;
      pad.pads.assign(2 * rank, node_.Dim(0));
      pad.pads.back() = missing;
      const Value hidden = f_.Scalar(dtype, dtype == DType::kBool ? 0 : -kInfinity);
      mask_ = f_.Make<ten::PadOp>(mask_, hidden, pad);
    }
  }
  const Value allowed = Allowed();
  if (!allowed || !f_.ok()) return f_.status();
  if (!mask_) {
    mask_ = allowed;
  } else if (mask_.type().dtype() == DType::kBool) {
    mask_ = f_.And(mask_, allowed);
  } else {
    mask_ = f_.Where(allowed, mask_, f_.Scalar(mask_.type().dtype(), -kInfinity));
  }
  return f_.status();
}

Value Attention::Scores() {
  if (!f_.ok()) return Value();
  const DType dtype = q_.type().dtype();
  const Dims q = Formula::DimsOf(q_), k = Formula::DimsOf(k_);
  Value keys = k_;
  if (!DimExpr::ProvablyEqual(q[1], k[1])) {
    // Each head of the keys serves several of the queries.
    const DimExpr shared = FloorDiv(q[1], k[1]);
    keys = f_.Reshape(keys, {k[0], k[1], f_.One(), k[2], k[3]});
    keys = f_.Expand(keys, {k[0], k[1], shared, k[2], k[3]});
    keys = f_.Reshape(keys, {k[0], q[1], k[2], k[3]});
  }
  Value scores = f_.Make<ten::MatmulOp>(q_, keys, ten::MatmulOp::Attrs{.transpose_b = true});
  if (attrs_.scale != 0 || q[3].is_constant()) {
    const double scale = attrs_.scale != 0 ? static_cast<double>(attrs_.scale)
                                           : 1 / std::sqrt(static_cast<double>(q[3].constant()));
    scores = f_.Mul(scores, f_.Scalar(dtype, scale));
  } else {
    scores = f_.Div(scores, f_.Make<ten::SqrtOp>(f_.Cast(f_.Extent(q[3]), dtype)));
  }
  if (mode_ == 0) return scores;
  if (attrs_.softcap > 0) {
    const Value cap = f_.Scalar(dtype, attrs_.softcap);
    scores = f_.Mul(f_.Make<ten::TanhOp>(f_.Div(scores, cap)), cap);
  }
  if (mode_ == 1) return scores;
  const Value hidden = f_.Scalar(dtype, -kInfinity);
  if (mask_ && mask_.type().dtype() == DType::kBool) {
    scores = f_.Where(mask_, scores, hidden);
  } else if (mask_) {
    scores = f_.Add(scores, mask_);
  }
  if (attrs_.is_causal) {
    const DimExpr past = attrs_.causal_offset.empty() ? node_.Dim(0) : attrs_.causal_offset[0];
    const Value position = f_.Add(f_.Iota(q[2], 2, 4), f_.Extent(past));
    const Value visible = f_.Make<ten::LessEqualOp>(f_.Iota(k[2], 3, 4), position);
    scores = f_.Where(visible, scores, hidden);
  }
  if (mode_ == 2 || !f_.ok()) return scores;
  // The softmax of a row without any key is zero.
  const Value largest = f_.Make<ten::ReduceMaxOp>(scores, ten::ReduceMaxOp::Attrs{.axes = {3}});
  const Value none = f_.Make<ten::EqualOp>(largest, hidden);
  const Value softmax = f_.Make<nn::SoftmaxOp>(scores, nn::SoftmaxOp::Attrs{.axis = 3});
  return f_.Where(none, f_.Scalar(dtype, 0), softmax);
}

absl::Status Attention::Import() {
  TENON_RETURN_IF_ERROR(ReadAttributes());
  q_ = node_.input(0);
  k_ = node_.input(1);
  v_ = node_.input(2);
  const bool packed = q_.type().rank() == 3;
  if (packed && (NeedsHeads() || node_.input(6) || left_window_ >= 0 || right_window_ >= 0)) {
    q_ = Heads(q_, attrs_.q_num_heads);
    k_ = Heads(k_, attrs_.kv_num_heads);
    v_ = Heads(v_, attrs_.kv_num_heads);
    if (!f_.ok()) return f_.status();
  }
  TENON_RETURN_IF_ERROR(AppendPast());
  TENON_RETURN_IF_ERROR(MakeMask());
  nn::AttentionOp::Attrs attrs = attrs_;
  if (q_.type().rank() == 4) attrs.q_num_heads = attrs.kv_num_heads = 0;
  // Values may be of another type than the result, which is of the queries' type.
  const Value v = f_.Cast(v_, q_.type().dtype());
  Value out = f_.Make<nn::AttentionOp>(q_, k_, v, mask_, attrs);
  if (packed && f_.ok() && out.type().rank() == 4) out = f_.JoinHeads(out);
  TENON_RETURN_IF_ERROR(f_.Return(out));
  if (node_.num_outputs() > 1) TENON_RETURN_IF_ERROR(f_.Return(k_, 1));
  if (node_.num_outputs() > 2) TENON_RETURN_IF_ERROR(f_.Return(v_, 2));
  return node_.IsOutputUsed(3) ? f_.Return(Scores(), 3) : absl::OkStatus();
}

}  // namespace

// The softmax of f64 operands is in f64, and at least in f32 for others.
absl::Status ImportAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 7));
  TENON_ASSIGN_OR_RETURN(const int64_t precision,
                         node.Int("softmax_precision", onnxpb::TensorProto::FLOAT));
  const DType dtype = node.input(0).type().dtype(), of_values = node.input(2).type().dtype();
  if (precision != onnxpb::TensorProto::DOUBLE || dtype == DType::kF64)
    return Attention(node).Import();
  Formula f(node);
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Value x = node.input(i);
    if (x && IsFloat(x.type().dtype())) node.SetInput(i, f.Cast(x, DType::kF64));
  }
  TENON_RETURN_IF_ERROR(f.status());
  TENON_RETURN_IF_ERROR(Attention(node).Import());
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (node.output(i)) node.SetOutput(i, f.Cast(node.output(i), i == 2 ? of_values : dtype));
  }
  return f.status();
}

absl::Status ImportRotaryEmbedding(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 4));
  nn::RotaryEmbeddingOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.interleaved, node.Flag("interleaved", false));
  TENON_ASSIGN_OR_RETURN(attrs.num_heads, node.Int("num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs.rotary_dim, node.Int("rotary_embedding_dim", 0));
  return node.Return(node.Make<nn::RotaryEmbeddingOp>(node.input(0), node.input(1), node.input(2),
                                                      node.input(3), attrs));
}

}  // namespace tenon::onnx
