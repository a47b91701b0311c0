// Attention as ONNX Runtime's transformer optimizer writes it: Attention with its projections in
// one, of floats or of bytes (QAttention), and MultiHeadAttention of projected operands.
#include <fmt/format.h>

#include <optional>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/quantized_arithmetic.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

// What the two ops share: heads, a past, masks that are added to the scores. Operands of heads are
// [batch, heads, sequence, size].
class MaskedAttention {
 public:
  explicit MaskedAttention(Node& node) : node_(node), f_(node) {}

 protected:
  absl::Status ReadAttributes();
  // Puts the present keys or values behind those of the past, if there is one.
  Value Append(Value past, Value now);
  // `mask` (lengths, ranges or keys to be seen) and `bias`, which may be null, as what is added to
  // the scores, in mask_. REQUIRES: q_ and k_ are set.
  absl::Status MakeMask(Value mask, Value bias);
  absl::Status ReturnAttention();

  Node& node_;
  Formula f_;
  int64_t heads_ = 0;
  nn::AttentionOp::Attrs attrs_;
  Value q_, k_, v_, mask_;

 private:
  absl::StatusOr<Value> Visible(Value mask);
  Value VisibleInRange(Value bounds);

  float hidden_ = 0;
};

absl::Status MaskedAttention::ReadAttributes() {
  TENON_ASSIGN_OR_RETURN(heads_, node_.Int("num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs_.scale, node_.Float("scale", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs_.is_causal, node_.Flag("unidirectional", false));
  TENON_ASSIGN_OR_RETURN(hidden_, node_.Float("mask_filter_value", -10000.0f));
  if (heads_ >= 1 && heads_ <= INT32_MAX) return absl::OkStatus();
  return node_.Error(
      fmt::format("num_heads of {} is {} (expected 1 or more)", node_.op_type(), heads_));
}

Value MaskedAttention::Append(Value past, Value now) {
  if (!past || !f_.ok()) return now;
  const Value parts[] = {past, now};
  return f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 2});
}

// Ends of the keys in `bounds` [batch], perhaps followed by their starts [batch].
Value MaskedAttention::VisibleInRange(Value bounds) {
  const DimExpr batch = q_.type().dim(0), count = bounds.type().dim(0);
  // What is not known to be ranges is lengths, which the view as one for each row checks.
  const bool ends = !DimExpr::ProvablyEqual(count, batch * 2);
  const auto part = [&](DimExpr from, DimExpr to) {
    Value taken = bounds;
    if (!ends) {
      taken = f_.Make<ten::SliceOp>(
          bounds, ten::SliceOp::Attrs{.axes = {0}, .starts = {from}, .ends = {to}, .steps = {1}});
    }
    taken = f_.CheckUpTo(f_.Cast(taken, DType::kI64), f_.Extent(k_.type().dim(2)),
                         fmt::format("a bound in the mask of {}", node_.op_type()));
    return f_.Reshape(taken, {batch, f_.One(), f_.One(), f_.One()});
  };
  const Value column = f_.Iota(k_.type().dim(2), 3, 4);
  const Value before_end = f_.Make<ten::LessOp>(column, part(node_.Dim(0), batch));
  if (ends) return before_end;
  return f_.And(before_end, f_.Make<ten::GreaterEqualOp>(column, part(batch, batch * 2)));
}

// Which keys a mask lets the queries see; null: all.
absl::StatusOr<Value> MaskedAttention::Visible(Value mask) {
  const int64_t rank = mask.type().rank();
  const DimExpr batch = q_.type().dim(0), queries = q_.type().dim(2), keys = k_.type().dim(2);
  if (rank == 1) return VisibleInRange(mask);
  if (rank != 2 && rank != 3) {
    return node_.Unsupported(
        fmt::format("{} with a mask that is {}", node_.op_type(), mask.type().text()),
        "a mask of rank 1, 2 or 3");
  }
  // One column for several keys stands for no mask.
  if (rank == 2 && mask.type().dim(1).is_constant(1) && !keys.is_constant(1)) return Value();
  const Value shown = f_.Reshape(mask, {batch, f_.One(), rank == 2 ? f_.One() : queries, keys});
  return f_.Make<ten::GreaterOp>(shown, f_.Scalar(mask.type().dtype(), 0));
}

absl::Status MaskedAttention::MakeMask(Value mask, Value bias) {
  if (!f_.ok()) return f_.status();
  const DType dtype = q_.type().dtype();
  if (mask) {
    if (!IsInt(mask.type().dtype())) {
      return node_.Error(fmt::format("the mask of {} must be integers, got {}", node_.op_type(),
                                     mask.type().text()));
    }
    TENON_ASSIGN_OR_RETURN(const Value visible, Visible(mask));
    if (visible) mask_ = f_.Where(visible, f_.Scalar(dtype, 0), f_.Scalar(dtype, hidden_));
  }
  if (!bias) return f_.status();
  if (bias.type().rank() != 4) {
    return node_.Error(fmt::format("attention_bias of {} must be of rank 4, got {}",
                                   node_.op_type(), bias.type().text()));
  }
  mask_ = mask_ ? f_.Add(mask_, bias) : bias;
  return f_.status();
}

absl::Status MaskedAttention::ReturnAttention() {
  return f_.Return(f_.JoinHeads(f_.Make<nn::AttentionOp>(q_, k_, v_, mask_, attrs_)));
}

// ---- Attention ---------------------------------------------------------------------------------

class ProjectedAttention : MaskedAttention {
 public:
  using MaskedAttention::MaskedAttention;
  // Which inputs they are; -1: there is none.
  struct Inputs {
    int mask, past, bias;
  };
  // `projected`: input 0 by the weights, input 1, without a bias; the error if that failed.
  absl::Status Import(Formula& f, Value projected, const Inputs& inputs);

 private:
  // Takes q, k and v from the product, with input 2, their bias.
  absl::Status Split(Value sums);
  absl::Status AppendPast(Value past);
  absl::Status ReturnPresent();
};

absl::Status ProjectedAttention::Split(Value sums) {
  const Value bias = node_.input(2);
  if (bias && bias.type().rank() != 1) {
    return node_.Error(
        fmt::format("bias of {} must be a vector, got {}", node_.op_type(), bias.type().text()));
  }
  if (bias) sums = f_.Add(sums, bias);
  if (!f_.ok()) return f_.status();
  const DimExpr columns = sums.type().dim(2);
  Dims sizes(3, FloorDiv(columns, 3));
  TENON_ASSIGN_OR_RETURN(const auto given, node_.Ints("qkv_hidden_sizes"));
  if (given && !given->empty()) {
    if (given->size() != 3 || (*given)[0] != (*given)[1] || (*given)[0] < 1 || (*given)[2] < 1 ||
        (*given)[0] % heads_ != 0 || (*given)[2] % heads_ != 0) {
      return node_.Error(
          fmt::format("qkv_hidden_sizes of Attention are not three multiples of {}, "
                      "the first two equal",
                      heads_));
    }
    for (int i = 0; i < 3; ++i) sizes[i] = node_.Dim((*given)[i]);
  }
  if (!f_.ok()) return f_.status();
  TENON_ASSIGN_OR_RETURN(const Value q, node_.Make<ten::SplitOp>(
                                            sums, ten::SplitOp::Attrs{.axis = 2, .sizes = sizes}));
  Operation* parts = q.defining_op();
  q_ = f_.SplitHeads(parts->result(0), heads_);
  k_ = f_.SplitHeads(parts->result(1), heads_);
  v_ = f_.SplitHeads(parts->result(2), heads_);
  return f_.status();
}

// The past is [2, batch, heads, sequence, size].
absl::Status ProjectedAttention::AppendPast(Value past) {
  if (!past) return absl::OkStatus();
  if (past.type().rank() != 5) {
    return node_.Error(
        fmt::format("past of {} must be of rank 5, got {}", node_.op_type(), past.type().text()));
  }
  Dims dims = Formula::DimsOf(past);
  const Dims one = {dims.begin() + 1, dims.end()};
  TENON_ASSIGN_OR_RETURN(
      const Value first,
      node_.Make<ten::SplitOp>(
          past, ten::SplitOp::Attrs{.axis = 0, .sizes = {node_.Dim(1), node_.Dim(1)}}));
  k_ = Append(f_.Reshape(first, one), k_);
  v_ = Append(f_.Reshape(first.defining_op()->result(1), one), v_);
  if (attrs_.is_causal) attrs_.causal_offset = {dims[3]};
  return f_.status();
}

absl::Status ProjectedAttention::ReturnPresent() {
  if (!node_.IsOutputUsed(1)) return absl::OkStatus();
  const auto part = [&](Value x) {
    Dims dims = Formula::DimsOf(x);
    dims.insert(dims.begin(), f_.One());
    return f_.Reshape(x, dims);
  };
  const Value parts[] = {part(k_), part(v_)};
  if (!f_.ok()) return f_.status();
  return f_.Return(f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 0}), 1);
}

absl::Status ProjectedAttention::Import(Formula& f, Value projected, const Inputs& inputs) {
  if (!f.ok()) return f.status();
  TENON_RETURN_IF_ERROR(ReadAttributes());
  node_.MarkRead("rotary_embedding_dim");
  TENON_ASSIGN_OR_RETURN(const bool rotary, node_.Flag("do_rotary", false));
  TENON_ASSIGN_OR_RETURN(const bool shared, node_.Flag("past_present_share_buffer", false));
  const Value past = node_.input(inputs.past);
  if (rotary)
    return node_.Unsupported(fmt::format("{} with do_rotary", node_.op_type()),
                             "do_rotary = 0 and RotaryEmbedding before it");
  if (shared && past) {
    return node_.Unsupported(fmt::format("{} whose past and present share memory", node_.op_type()),
                             "past_present_share_buffer = 0");
  }
  TENON_RETURN_IF_ERROR(Split(projected));
  TENON_RETURN_IF_ERROR(AppendPast(past));
  TENON_RETURN_IF_ERROR(
      MakeMask(node_.input(inputs.mask), inputs.bias < 0 ? Value() : node_.input(inputs.bias)));
  TENON_RETURN_IF_ERROR(ReturnPresent());
  return ReturnAttention();
}

// Input and weights of a projection, which must be [batch, rows, size] and [size, columns].
absl::Status CheckProjection(const Node& node) {
  const Type x = node.input(0).type(), weights = node.input(1).type();
  if (x.rank() == 3 && weights.rank() == 2) return absl::OkStatus();
  return node.Error(fmt::format("{} has input {} and weights {} (expected ranks 3 and 2)",
                                node.op_type(), x.text(), weights.text()));
}

// ---- MultiHeadAttention ------------------------------------------------------------------------

class MultiHeadAttention : MaskedAttention {
 public:
  using MaskedAttention::MaskedAttention;
  absl::Status Import();

 private:
  absl::Status ReadOperands();
  // The part of the bias that `x` gets: from column `from` on.
  Value Biased(Value x, DimExpr from);
};

Value MultiHeadAttention::Biased(Value x, DimExpr from) {
  const Value bias = node_.input(3);
  if (!bias) return x;
  return f_.Add(x, f_.Make<ten::SliceOp>(bias, ten::SliceOp::Attrs{.axes = {0},
                                                                   .starts = {from},
                                                                   .ends = {from + x.type().dim(2)},
                                                                   .steps = {1}}));
}

absl::Status MultiHeadAttention::ReadOperands() {
  const Value q = node_.input(0), k = node_.input(1), v = node_.input(2), bias = node_.input(3);
  if (!k || !v || q.type().rank() != 3) {
    return node_.Unsupported("MultiHeadAttention of packed operands",
                             "query, key and value as inputs of their own, the query of rank 3");
  }
  const int64_t rank = k.type().rank();
  if (rank != v.type().rank() || (rank != 3 && rank != 4)) {
    return node_.Error(fmt::format("MultiHeadAttention has keys {} and values {}", k.type().text(),
                                   v.type().text()));
  }
  if (bias && bias.type().rank() != 1) {
    return node_.Error(
        fmt::format("bias of MultiHeadAttention must be a vector, got {}", bias.type().text()));
  }
  const DimExpr size = q.type().dim(2);
  q_ = f_.SplitHeads(Biased(q, node_.Dim(0)), heads_);
  // Keys and values that have their heads split, as those of another sequence, are final.
  k_ = rank == 4 ? k : f_.SplitHeads(Biased(k, size), heads_);
  v_ = rank == 4 ? v : f_.SplitHeads(Biased(v, size * 2), heads_);
  return f_.status();
}

absl::Status MultiHeadAttention::Import() {
  TENON_RETURN_IF_ERROR(ReadAttributes());
  if (node_.input(8) || node_.input(9)) {
    return node_.Unsupported("MultiHeadAttention whose past and present share memory",
                             "inputs past_key and past_value alone");
  }
  if (node_.IsOutputUsed(3))
    return node_.Unsupported("the output qk in use", "a node that leaves it out");
  TENON_RETURN_IF_ERROR(ReadOperands());
  const Value past_k = node_.input(6), past_v = node_.input(7);
  if (!past_k != !past_v) {
    return node_.Error("MultiHeadAttention needs both past_key and past_value");
  }
  if (past_k && (past_k.type().rank() != 4 || past_v.type().rank() != 4)) {
    return node_.Error("past_key and past_value of MultiHeadAttention must be of rank 4");
  }
  if (attrs_.is_causal && f_.ok()) {
    // Causality of other keys than those of the queries has no meaning.
    Dims dims = Formula::DimsOf(k_);
    const DimExpr rows = q_.type().dim(2);
    if (rows.is_constant() && dims[2].is_constant() && !DimExpr::ProvablyEqual(rows, dims[2])) {
      return node_.Unsupported(fmt::format("MultiHeadAttention with unidirectional = 1 of {} to {}",
                                           node_.input(0).type().text(), k_.type().text()),
                               "as many keys as queries");
    }
    dims[2] = rows;
    k_ = f_.Reshape(k_, dims);
  }
  k_ = Append(past_k, k_);
  v_ = Append(past_v, v_);
  if (past_k && attrs_.is_causal) attrs_.causal_offset = {past_k.type().dim(2)};
  TENON_RETURN_IF_ERROR(MakeMask(node_.input(4), node_.input(5)));
  if (node_.num_outputs() > 1) TENON_RETURN_IF_ERROR(f_.Return(k_, 1));
  if (node_.num_outputs() > 2) TENON_RETURN_IF_ERROR(f_.Return(v_, 2));
  return ReturnAttention();
}

}  // namespace

absl::Status ImportMicrosoftAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 7));
  TENON_RETURN_IF_ERROR(CheckProjection(node));
  if (node.input(6))
    return node.Unsupported("Attention whose past and present share memory",
                            "a node without past_sequence_length");
  Formula f(node);
  const Value projected = f.Make<ten::MatmulOp>(node.input(0), node.input(1));
  return ProjectedAttention(node).Import(f, projected, {.mask = 3, .past = 4, .bias = 5});
}

absl::Status ImportMicrosoftQAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(5, 9));
  TENON_RETURN_IF_ERROR(CheckProjection(node));
  Formula f(node);
  const Value projected = ScaledProduct(f, node.input(0), node.input(6), node.input(1),
                                        node.input(7), f.Mul(node.input(3), node.input(4)));
  return ProjectedAttention(node).Import(f, projected, {.mask = 5, .past = 8, .bias = -1});
}

absl::Status ImportMicrosoftMultiHeadAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 10));
  return MultiHeadAttention(node).Import();
}

}  // namespace tenon::onnx
