// Layers that carry a state from call to call: linear attention and causal convolution.
#include <fmt/format.h>

#include <cmath>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/control/loop_body.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

// Creates ops in the body of a loop. Keeps the first error, as Formula does.
class BodyOps {
 public:
  BodyOps(Node& node, OpBuilder& builder) : node_(node), builder_(builder) {}

  template <typename Op, typename... Args>
  Value Make(Args&&... args) {
    if (!status_.ok()) return Value();
    absl::StatusOr<Op> op = Op::Create(builder_, node_.location(), std::forward<Args>(args)...);
    status_ = op.status();
    if (!op.ok()) return Value();
    node_.importer().Register(op->op());
    return op->op()->result(0);
  }
  // The slice at `index` of axis 1, which goes; null for null.
  Value At(Value x, Value index) {
    return x ? Make<ten::GatherOp>(x, index, ten::GatherOp::Attrs{.axis = 1}) : x;
  }
  const absl::Status& status() const { return status_; }

 private:
  Node& node_;
  OpBuilder& builder_;
  absl::Status status_;
};

// A LinearAttention node while it is imported. Its loop runs over the tokens, and all operands are
// laid out so that one token is [batch, heads of keys, rows, columns].
class LinearAttention {
 public:
  explicit LinearAttention(Node& node) : node_(node), f_(node) {}
  absl::Status Import();

 private:
  absl::Status ReadAttributes();
  absl::Status CheckOperands();
  // Splits the last axis of `x` into `dims`, in the type of computation.
  Value Split(Value x, std::span<const DimExpr> dims);
  absl::Status SplitOperands();
  Value ScaledQueries();
  absl::StatusOr<Value> InitialState();
  absl::StatusOr<std::vector<Value>> Token(OpBuilder& builder, Value index, Value state);

  Node& node_;
  Formula f_;
  int64_t q_heads_ = 0, kv_heads_ = 0;
  float scale_ = 0;
  bool gated_ = false, delta_ = false;
  DType type_ = DType::kF32;  // of computation
  DimExpr key_size_, value_size_;
  // [batch, tokens, heads of keys, rows, columns]
  Value queries_, keys_, values_, decay_, beta_;
};

absl::Status LinearAttention::ReadAttributes() {
  node_.MarkRead("chunk_size");  // how to compute, not what
  TENON_ASSIGN_OR_RETURN(q_heads_, node_.Int("q_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(kv_heads_, node_.Int("kv_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(scale_, node_.Float("scale", 0.0f));
  TENON_ASSIGN_OR_RETURN(const std::string rule, node_.Str("update_rule", "gated_delta"));
  if (kv_heads_ < 1 || q_heads_ < 1 || q_heads_ % kv_heads_ != 0) {
    return node_.Error(
        fmt::format("LinearAttention has {} heads of queries and {} of keys "
                    "(expected a positive multiple)",
                    q_heads_, kv_heads_));
  }
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    return node_.Error(
        fmt::format("LinearAttention has the update_rule \"{}\" (expected linear, "
                    "gated, delta or gated_delta)",
                    rule));
  }
  gated_ = rule == "gated" || rule == "gated_delta";
  delta_ = rule == "delta" || rule == "gated_delta";
  if (static_cast<bool>(node_.input(4)) != gated_ || static_cast<bool>(node_.input(5)) != delta_) {
    return node_.Error(
        fmt::format("LinearAttention with the update_rule \"{}\" needs {} decay and "
                    "{} beta",
                    rule, gated_ ? "a" : "no", delta_ ? "a" : "no"));
  }
  return absl::OkStatus();
}

absl::Status LinearAttention::CheckOperands() {
  for (int i : {0, 1, 2, 4, 5}) {
    const Value x = node_.input(i);
    if (x && x.type().rank() != 3) {
      return node_.Error(
          fmt::format("input {} of LinearAttention is {} (expected rank 3)", i, x.type().text()));
    }
  }
  const auto size_of = [&](int i, int64_t heads) -> absl::StatusOr<DimExpr> {
    const DimExpr packed = node_.input(i).type().dim(2);
    if (packed.is_constant() && packed.constant() % heads != 0) {
      return node_.Error(
          fmt::format("input {} of LinearAttention is {} (expected a multiple of {} "
                      "heads)",
                      i, node_.input(i).type().text(), heads));
    }
    return FloorDiv(packed, heads);
  };
  TENON_ASSIGN_OR_RETURN(key_size_, size_of(0, q_heads_));
  TENON_ASSIGN_OR_RETURN(const DimExpr size, size_of(1, kv_heads_));
  TENON_ASSIGN_OR_RETURN(value_size_, size_of(2, kv_heads_));
  if (size.is_constant() && key_size_.is_constant() && size.constant() != key_size_.constant()) {
    return node_.Error(fmt::format("LinearAttention has queries of size {} and keys of size {}",
                                   key_size_.text(), size.text()));
  }
  return absl::OkStatus();
}

Value LinearAttention::Split(Value x, std::span<const DimExpr> dims) {
  Dims split = {node_.input(0).type().dim(0), node_.input(0).type().dim(1)};
  split.insert(split.end(), dims.begin(), dims.end());
  return f_.Reshape(f_.Cast(x, type_), std::move(split));
}

Value LinearAttention::ScaledQueries() {
  const DimExpr dims[] = {node_.Dim(kv_heads_), node_.Dim(q_heads_ / kv_heads_), key_size_};
  const Value queries = Split(node_.input(0), dims);
  if (scale_ != 0 || key_size_.is_constant()) {
    const double scale = scale_ != 0 ? static_cast<double>(scale_)
                                     : 1 / std::sqrt(static_cast<double>(key_size_.constant()));
    return f_.Mul(queries, f_.Scalar(type_, scale));
  }
  return f_.Div(queries, f_.Make<ten::SqrtOp>(f_.Cast(f_.Extent(key_size_), type_)));
}

absl::Status LinearAttention::SplitOperands() {
  const DimExpr heads = node_.Dim(kv_heads_), one = node_.Dim(1);
  queries_ = ScaledQueries();
  const DimExpr key_dims[] = {heads, key_size_, one}, value_dims[] = {heads, one, value_size_};
  keys_ = Split(node_.input(1), key_dims);
  values_ = Split(node_.input(2), value_dims);
  const DimExpr batch = node_.input(0).type().dim(0), tokens = node_.input(0).type().dim(1);
  if (gated_) {
    // One number for each head, or for each element of a key. Which one a run may have to tell.
    const DimExpr packed = node_.input(4).type().dim(2), size = FloorDiv(packed, kv_heads_);
    const bool fits = !packed.is_constant() || packed.is_constant(kv_heads_) ||
                      !key_size_.is_constant() || packed == key_size_ * kv_heads_;
    if (!fits || (packed.is_constant() && packed.constant() % kv_heads_ != 0)) {
      return node_.Error(
          fmt::format("the decay of LinearAttention is {} (expected {} or {} in the "
                      "last axis)",
                      node_.input(4).type().text(), kv_heads_, (key_size_ * kv_heads_).text()));
    }
    const DimExpr dims[] = {heads, size, one};
    decay_ = f_.Make<ten::ExpOp>(Split(node_.input(4), dims));
    if (!size.is_constant(1) && size != key_size_) {
      decay_ = f_.Expand(decay_, {batch, tokens, heads, key_size_, one});
    }
  }
  if (delta_) {
    const DimExpr packed = node_.input(5).type().dim(2);
    if (packed.is_constant() && !packed.is_constant(kv_heads_) && !packed.is_constant(1)) {
      return node_.Error(
          fmt::format("the beta of LinearAttention is {} (expected {} or 1 in the "
                      "last axis)",
                      node_.input(5).type().text(), kv_heads_));
    }
    const DimExpr dims[] = {packed, one, one};
    beta_ = Split(node_.input(5), dims);
    if (!packed.is_constant()) beta_ = f_.Expand(beta_, {batch, tokens, heads, one, one});
  }
  return f_.status();
}

absl::StatusOr<Value> LinearAttention::InitialState() {
  const Dims dims = {node_.input(0).type().dim(0), node_.Dim(kv_heads_), key_size_, value_size_};
  const Value past = node_.input(3);
  if (!past) return f_.Expand(f_.Scalar(type_, 0), dims);
  bool fits = past.type().rank() == 4;
  for (int64_t i = 0; fits && i < 4; ++i) {
    const DimExpr given = past.type().dim(i);
    fits = !given.is_constant() || !dims[i].is_constant() || given == dims[i];
  }
  if (!fits) {
    return node_.Error(fmt::format(
        "the past_state of LinearAttention is {} (expected [{}, {}, {}, "
        "{}])",
        past.type().text(), dims[0].text(), dims[1].text(), dims[2].text(), dims[3].text()));
  }
  return f_.Reshape(f_.Cast(past, type_), dims);
}

absl::StatusOr<std::vector<Value>> LinearAttention::Token(OpBuilder& builder, Value index,
                                                          Value state) {
  BodyOps ops(node_, builder);
  const Value key = ops.At(keys_, index);
  Value value = ops.At(values_, index);
  if (gated_) state = ops.Make<ten::MulOp>(state, ops.At(decay_, index));
  if (delta_) {
    const Value known =
        ops.Make<ten::MatmulOp>(key, state, ten::MatmulOp::Attrs{.transpose_a = true});
    value = ops.Make<ten::MulOp>(ops.Make<ten::SubOp>(value, known), ops.At(beta_, index));
  }
  state = ops.Make<ten::AddOp>(state, ops.Make<ten::MulOp>(key, value));
  const Value out = ops.Make<ten::MatmulOp>(ops.At(queries_, index), state);
  TENON_RETURN_IF_ERROR(ops.status());
  return std::vector<Value>{state, out};
}

absl::Status LinearAttention::Import() {
  TENON_RETURN_IF_ERROR(node_.CheckInputs(3, 6));
  TENON_RETURN_IF_ERROR(ReadAttributes());
  TENON_RETURN_IF_ERROR(CheckOperands());
  const Type query = node_.input(0).type();
  if (query.dtype() == DType::kF64) type_ = DType::kF64;
  TENON_RETURN_IF_ERROR(SplitOperands());
  LoopSpec spec;
  TENON_ASSIGN_OR_RETURN(const Value state, InitialState());
  spec.lower = f_.Scalar(DType::kI64, 0);
  spec.upper = f_.Extent(query.dim(1));
  spec.step = f_.Scalar(DType::kI64, 1);
  TENON_RETURN_IF_ERROR(f_.status());
  spec.inits = {state};
  spec.names = {"state"};
  spec.scans = {{.axis = 1}};
  spec.body_nodes = 1;
  spec.run = [this](OpBuilder& builder, Value index, std::span<const Value> carried) {
    return Token(builder, index, carried[0]);
  };
  TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node_, node_.builder(), spec));
  node_.importer().Register(loop);
  const Value out = f_.Cast(loop->result(1), query.dtype());
  TENON_RETURN_IF_ERROR(
      f_.Return(f_.Reshape(out, {query.dim(0), query.dim(1), value_size_ * q_heads_})));
  if (!node_.IsOutputUsed(1)) return absl::OkStatus();
  const DType kept = node_.input(3) ? node_.input(3).type().dtype() : query.dtype();
  return f_.Return(f_.Cast(loop->result(0), kept), 1);
}

}  // namespace

absl::Status ImportLinearAttention(Node& node) { return LinearAttention(node).Import(); }

absl::Status ImportCausalConvWithState(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  const Value x = node.input(0), weight = node.input(1), past = node.input(3);
  for (int i : {0, 1, 3}) {
    if (node.input(i) && node.input(i).type().rank() != 3) {
      return node.Error(fmt::format("input {} of CausalConvWithState is {} (expected rank 3)", i,
                                    node.input(i).type().text()));
    }
  }
  TENON_ASSIGN_OR_RETURN(const std::string activation, node.Str("activation", "none"));
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return node.Error(
        fmt::format("CausalConvWithState has the activation \"{}\" (expected none, "
                    "silu or swish)",
                    activation));
  }
  const DimExpr channels = weight.type().dim(0), size = weight.type().dim(2);
  if (!channels.is_constant() || !size.is_constant()) {
    return node.Unsupported(
        fmt::format("CausalConvWithState with weights of {}", weight.type().text()),
        "a known number of channels and a known size");
  }
  if (size.is_constant(0)) return node.Error("the weights of CausalConvWithState are empty");
  const int64_t kept = size.constant() - 1;
  const DimExpr given = past ? past.type().dim(2) : DimExpr();
  if (past && given.is_constant() && given.constant() != kept) {
    return node.Error(
        fmt::format("the past_state of CausalConvWithState is {} (expected {} in the "
                    "last axis)",
                    past.type().text(), kept));
  }

  Formula f(node);
  const DimExpr zero = node.Dim(0);
  Value padded;  // the state, then x
  if (past) {
    const Dims dims = {x.type().dim(0), x.type().dim(1), node.Dim(kept)};
    const Value parts[] = {f.Reshape(past, dims), x};
    padded = f.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 2});
  } else {
    padded = f.Make<ten::PadOp>(
        x, Value(), ten::PadOp::Attrs{.pads = {zero, zero, node.Dim(kept), zero, zero, zero}});
  }
  // No window fits where x is empty. One element more, which is cut off, makes room for it.
  const DimExpr length = x.type().dim(2);
  const bool may_be_empty = !length.is_constant() || length.is_constant(0);
  nn::ConvOp::Attrs attrs{.strides = {1},
                          .pads = {past ? 0 : kept, may_be_empty ? 1 : 0},
                          .dilations = {1},
                          .group = channels.constant()};
  Value out = f.Make<nn::ConvOp>(past ? padded : x, weight, node.input(2), attrs);
  if (activation != "none") out = f.Make<nn::SiluOp>(out);
  if (may_be_empty) {
    out = f.Make<ten::SliceOp>(
        out, ten::SliceOp::Attrs{.axes = {2}, .starts = {zero}, .ends = {length}, .steps = {1}});
  }
  TENON_RETURN_IF_ERROR(f.Return(out));
  if (!node.IsOutputUsed(1)) return absl::OkStatus();
  const DimExpr end = length + kept;
  return f.Return(
      f.Make<ten::SliceOp>(
          padded,
          ten::SliceOp::Attrs{.axes = {2}, .starts = {length}, .ends = {end}, .steps = {1}}),
      1);
}

}  // namespace tenon::onnx
