// What ONNX Runtime's builders of generative models write: attention with grouped heads behind
// caches of keys and values, and rotary embeddings.
#include <fmt/format.h>

#include <limits>

#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

constexpr double kInf = std::numeric_limits<double>::infinity();

// A cache of more keys fits no memory.
constexpr double kMaxTotal = 0x1p48;

// A GroupQueryAttention node while it is imported.
//
// The caches hold P keys. They grow, the result having P + S, or they have room for more than the T
// keys that the longest text of the batch has with the S new ones: which of these is told by T.
// Texts may be shorter than T where there is nothing before the S keys, or S is 1: several new keys
// behind others are those of a single text. The keys of each lie at the start of its cache, and the
// new ones behind them.
class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(Node& node) : node_(node), f_(node) {}
  absl::Status Import();

 private:
  absl::Status ReadAttributes();
  absl::Status CheckFeatures();
  absl::Status ReadOperands();
  // Sets T, and lengths_ and past_ for each text.
  absl::Status ReadLengths();
  // Sets T, and what stands for it where nothing but a run tells it.
  absl::Status ReadTotal(Value total);
  absl::Status Rotate();
  // The cache with room for all T keys.
  Value WithRoom(Value cache);
  // The new keys or values among those of the cache.
  Value Append(Value cache, Value now);
  Value FirstKeys(Value x);
  absl::Status AppendPast();
  // Which of the T keys may be seen, beside causality; null: all.
  Value Allowed();
  // Puts a key in front whose score is the sink of its head, and whose value is 0.
  absl::Status AddSink();
  absl::Status MakeMask();

  Node& node_;
  Formula f_;
  nn::AttentionOp::Attrs attrs_;
  int64_t heads_ = 0, kv_heads_ = 0, window_ = -1;
  bool rotary_ = false, interleaved_ = false, smooth_ = false;
  // Is there nothing before the new keys?
  bool first_ = false;
  DimExpr batch_, queries_, total_;
  Value lengths_, past_;  // [batch], i64
  // T, and 0 … T - 1, where nothing but a run tells T.
  Value count_, range_;
  Value q_, k_, v_, mask_;
};

absl::Status GroupQueryAttention::ReadAttributes() {
  TENON_ASSIGN_OR_RETURN(heads_, node_.Int("num_heads", 0));
  TENON_ASSIGN_OR_RETURN(kv_heads_, node_.Int("kv_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs_.scale, node_.Float("scale", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs_.softcap, node_.Float("softcap", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs_.is_causal, node_.Flag("causal", true));
  TENON_ASSIGN_OR_RETURN(window_, node_.Int("local_window_size", -1));
  TENON_ASSIGN_OR_RETURN(rotary_, node_.Flag("do_rotary", false));
  TENON_ASSIGN_OR_RETURN(interleaved_, node_.Flag("rotary_interleaved", false));
  TENON_ASSIGN_OR_RETURN(const int64_t smooth, node_.Int("smooth_softmax", -1));
  smooth_ = smooth == 1;
  if (heads_ < 1 || kv_heads_ < 1 || heads_ > INT32_MAX || heads_ % kv_heads_ != 0) {
    return node_.Error(
        fmt::format("GroupQueryAttention has {} heads of queries, expected a positive multiple of "
                    "its {} of keys",
                    heads_, kv_heads_));
  }
  if (window_ > 0 && !attrs_.is_causal) {
    return node_.Error("GroupQueryAttention has a local_window_size without being causal");
  }
  return absl::OkStatus();
}

absl::Status GroupQueryAttention::CheckFeatures() {
  for (const char* name : {"qk_norm_epsilon", "q_norm_epsilon", "k_norm_epsilon"}) {
    node_.MarkRead(name);
  }
  node_.MarkRead("kv_cache_bit_width");
  TENON_ASSIGN_OR_RETURN(const bool evicts, node_.Flag("sliding_window_cache", false));
  if (evicts)
    return node_.Unsupported("GroupQueryAttention with sliding_window_cache",
                             "sliding_window_cache = 0: a cache of all keys");
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    TENON_ASSIGN_OR_RETURN(const std::string kind, node_.Str(name, "NONE"));
    if (kind != "NONE")
      return node_.Unsupported("GroupQueryAttention with quantized caches",
                               fmt::format("{} = NONE", name));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t scores, node_.Int("qk_output", 0));
  if (scores != 0 || node_.IsOutputUsed(3)) {
    return node_.Unsupported("the output output_qk in use", "qk_output = 0");
  }
  static constexpr std::pair<int, const char*> kInputs[] = {{12, "k_scale"},
                                                            {13, "v_scale"},
                                                            {14, "q_norm_weight"},
                                                            {15, "k_norm_weight"},
                                                            {16, "query_seqlens"}};
  for (const auto& [i, name] : kInputs) {
    if (node_.input(i))
      return node_.Unsupported(fmt::format("GroupQueryAttention with {}", name),
                               "a node without that input");
  }
  return absl::OkStatus();
}

absl::Status GroupQueryAttention::ReadOperands() {
  q_ = node_.input(0);
  k_ = node_.input(1);
  v_ = node_.input(2);
  if (q_.type().rank() != 3 || !k_ != !v_ ||
      (k_ && (k_.type().rank() != 3 || v_.type().rank() != 3))) {
    return node_.Error(
        "query, key and value of GroupQueryAttention must be of rank 3, or the first have them "
        "all");
  }
  const Value cache_k = node_.input(3), cache_v = node_.input(4);
  if (!cache_k != !cache_v) {
    return node_.Error("GroupQueryAttention needs both past_key and past_value");
  }
  if (cache_k && (cache_k.type().rank() != 4 || cache_v.type().rank() != 4)) {
    return node_.Error("past_key and past_value of GroupQueryAttention must be of rank 4");
  }
  batch_ = q_.type().dim(0);
  queries_ = q_.type().dim(1);
  if (k_) return absl::OkStatus();
  const DimExpr size = FloorDiv(q_.type().dim(2), heads_ + 2 * kv_heads_);
  TENON_ASSIGN_OR_RETURN(
      q_, node_.Make<ten::SplitOp>(
              q_, ten::SplitOp::Attrs{
                      .axis = 2, .sizes = {size * heads_, size * kv_heads_, size * kv_heads_}}));
  k_ = q_.defining_op()->result(1);
  v_ = q_.defining_op()->result(2);
  return absl::OkStatus();
}

absl::Status GroupQueryAttention::ReadLengths() {
  const Value lengths = node_.input(5), total = node_.input(6);
  for (int i : {5, 6}) {
    if (IsInt(node_.input(i).type().dtype()) && node_.input(i).type().rank() <= 2) continue;
    return node_.Error(fmt::format("input {} of GroupQueryAttention must be integers, got {}", i,
                                   node_.input(i).type().text()));
  }
  const Value cache = node_.input(3);
  first_ = !cache || cache.type().dim(2).is_constant(0);
  TENON_RETURN_IF_ERROR(ReadTotal(total));
  // The rows of a text that is too long would lie among those of the next head.
  const Value last = f_.Cast(f_.Reshape(lengths, {batch_}), DType::kI64);
  lengths_ =
      f_.CheckUpTo(f_.Add(last, f_.Scalar(DType::kI64, 1)), count_ ? count_ : f_.Extent(total_),
                   "one more than an element of seqlens_k of GroupQueryAttention");
  past_ = f_.Make<ten::MaxOp>(f_.Sub(lengths_, f_.Extent(queries_)), f_.Scalar(DType::kI64, 0));
  return f_.status();
}

absl::Status GroupQueryAttention::ReadTotal(Value total) {
  if (first_) {
    total_ = queries_;
    return absl::OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(const auto known, node_.Extents(6));
  if (known && known->size() == 1) {
    total_ = (*known)[0];
    return absl::OkStatus();
  }
  // The extent of a range of so many numbers stands for it.
  count_ = f_.CheckRange(f_.Cast(f_.Reshape(total, {}), DType::kI64), f_.Extent(queries_),
                         f_.Scalar(DType::kI64, kMaxTotal),
                         "total_sequence_length of GroupQueryAttention");
  range_ = f_.Make<ten::RangeOp>(f_.Scalar(DType::kI64, 0), count_, f_.Scalar(DType::kI64, 1));
  if (f_.ok()) total_ = range_.type().dim(0);
  return f_.status();
}

absl::Status GroupQueryAttention::Rotate() {
  const Value cos = node_.input(7), sin = node_.input(8);
  if (!cos || !sin || cos.type().rank() != 2) {
    return node_.Error("GroupQueryAttention with do_rotary needs cos_cache and sin_cache");
  }
  Value positions = node_.input(9);
  if (!positions) {
    positions = first_ ? f_.Iota(queries_, 1, 2)
                       : f_.Add(f_.Along(past_, 0, 2, batch_), f_.Iota(queries_, 1, 2));
    positions = f_.Expand(positions, {batch_, queries_});
  }
  const auto rotate = [&](Value x, int64_t heads) {
    nn::RotaryEmbeddingOp::Attrs attrs{.interleaved = interleaved_, .num_heads = heads};
    const DimExpr size = FloorDiv(x.type().dim(2), heads), half = cos.type().dim(1);
    if (!DimExpr::ProvablyEqual(half * 2, size) && half.is_constant()) {
      attrs.rotary_dim = 2 * half.constant();
    }
    return f_.Make<nn::RotaryEmbeddingOp>(x, cos, sin, positions, attrs);
  };
  if (!f_.ok()) return f_.status();
  q_ = rotate(q_, heads_);
  k_ = rotate(k_, kv_heads_);
  return f_.status();
}

Value GroupQueryAttention::WithRoom(Value cache) {
  Dims dims = Formula::DimsOf(cache);
  const DimExpr cached = dims[2];
  const Value zero = f_.Scalar(DType::kI64, 0), one = f_.Scalar(DType::kI64, 1);
  const Value missing = range_ ? f_.Make<ten::MaxOp>(f_.Sub(count_, f_.Extent(cached)), zero)
                               : f_.Extent(Max(cached, total_) - cached);
  const Value none = f_.Mul(f_.Make<ten::RangeOp>(zero, missing, one), zero);
  dims[2] = f_.One();
  const Value row = f_.Expand(f_.Scalar(cache.type().dtype(), 0), dims);
  const Value parts[] = {cache, f_.Make<ten::GatherOp>(row, none, ten::GatherOp::Attrs{.axis = 2})};
  return f_.ok() ? f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 2}) : Value();
}

Value GroupQueryAttention::Append(Value cache, Value now) {
  const DimExpr cached = cache.type().dim(2);
  // A single text has all T keys.
  if (batch_.is_constant(1) && DimExpr::ProvablyEqual(total_, cached + queries_)) {
    const Value parts[] = {cache, now};
    return f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 2});
  }
  const Value wide = WithRoom(cache);
  if (!f_.ok()) return Value();
  const Dims dims = Formula::DimsOf(wide), added = Formula::DimsOf(now);
  const DimExpr heads = dims[0] * dims[1];
  const Value rows = range_ ? f_.Make<ten::MaxOp>(count_, f_.Extent(cached)) : f_.Extent(dims[2]);
  const Value head = f_.Reshape(f_.Iota(heads, 0, 1), {dims[0], dims[1], f_.One()});
  const Value at = f_.Add(f_.Along(past_, 0, 3, batch_), f_.Iota(queries_, 2, 3));
  const DimExpr count = added[0] * added[1] * added[2];
  const Value index = f_.Reshape(f_.Add(f_.Mul(head, rows), at), {count, f_.One()});
  const Value all = f_.Make<ten::ScatterNdOp>(f_.Reshape(wide, {heads * dims[2], dims[3]}), index,
                                              f_.Reshape(now, {count, added[3]}));
  return f_.Reshape(all, dims);
}

Value GroupQueryAttention::FirstKeys(Value x) {
  if (!f_.ok() || DimExpr::ProvablyEqual(x.type().dim(2), total_)) return x;
  if (range_) return f_.Make<ten::GatherOp>(x, range_, ten::GatherOp::Attrs{.axis = 2});
  Dims dims = Formula::DimsOf(x);
  dims[2] = total_;
  const Value first = f_.Make<ten::SliceOp>(
      x,
      ten::SliceOp::Attrs{.axes = {2}, .starts = {node_.Dim(0)}, .ends = {total_}, .steps = {1}});
  return f_.Reshape(first, dims);
}

absl::Status GroupQueryAttention::AppendPast() {
  const Value cache_k = node_.input(3), cache_v = node_.input(4);
  if (!first_) {
    k_ = Append(cache_k, k_);
    v_ = Append(cache_v, v_);
  }
  if (node_.num_outputs() > 1) TENON_RETURN_IF_ERROR(f_.Return(k_, 1));
  if (node_.num_outputs() > 2) TENON_RETURN_IF_ERROR(f_.Return(v_, 2));
  k_ = FirstKeys(k_);
  v_ = FirstKeys(v_);
  if (attrs_.is_causal && !first_) attrs_.causal_offset = {total_ - queries_};
  return f_.status();
}

Value GroupQueryAttention::Allowed() {
  Value allowed;
  const Value column = range_ ? f_.Along(range_, 3, 4) : f_.Iota(total_, 3, 4);
  // Of a first text shorter than others, queries behind its end alone see more than its keys. A
  // sink needs a mask to stand in.
  const bool sink = node_.input(11) || smooth_;
  if (sink || (!batch_.is_constant(1) && (!first_ || !attrs_.is_causal))) {
    allowed = f_.Make<ten::LessOp>(column, f_.Along(lengths_, 0, 4, batch_));
  }
  if (window_ <= 0) return allowed;
  Value position = f_.Iota(queries_, 2, 4);
  if (!first_) position = f_.Add(position, f_.Along(past_, 0, 4, batch_));
  const Value begin = f_.Sub(position, f_.Scalar(DType::kI64, static_cast<double>(window_)));
  const Value near = f_.Make<ten::GreaterOp>(column, begin);
  return allowed ? f_.And(allowed, near) : near;
}

absl::Status GroupQueryAttention::AddSink() {
  const Value sink = node_.input(11);
  if (!sink && !smooth_) return absl::OkStatus();
  const DType dtype = q_.type().dtype();
  const DimExpr heads = node_.Dim(heads_);
  const auto behind = [&](Value first, Value x, int64_t axis) {
    const Value parts[] = {first, x};
    return f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = axis});
  };
  for (Value* x : {&k_, &v_}) {
    Dims dims = Formula::DimsOf(*x);
    dims[2] = f_.One();
    *x = behind(f_.Expand(f_.Scalar(dtype, 0), dims), *x, 2);
    if (!f_.ok()) return f_.status();
  }
  Dims dims = Formula::DimsOf(mask_);
  dims[1] = heads;
  mask_ = f_.Expand(mask_, dims);
  dims[3] = f_.One();
  const Value score = sink ? f_.Along(sink, 1, 4, heads) : f_.Scalar(dtype, 0);
  mask_ = behind(f_.Expand(score, dims), mask_, 3);
  if (attrs_.is_causal) attrs_.causal_offset = {total_ - queries_ + 1};
  return f_.status();
}

absl::Status GroupQueryAttention::MakeMask() {
  const Value bias = node_.input(10), allowed = Allowed();
  if (!f_.ok()) return f_.status();
  if (bias && bias.type().rank() != 4) {
    return node_.Error(fmt::format(
        "attention_bias of GroupQueryAttention must be of rank 4, got {}", bias.type().text()));
  }
  const DType dtype = q_.type().dtype();
  mask_ = bias;
  if (allowed && (bias || node_.input(11) || smooth_)) {
    mask_ = f_.Where(allowed, bias ? bias : f_.Scalar(dtype, 0), f_.Scalar(dtype, -kInf));
  } else if (allowed) {
    mask_ = allowed;
  }
  return AddSink();
}

absl::Status GroupQueryAttention::Import() {
  TENON_RETURN_IF_ERROR(ReadAttributes());
  TENON_RETURN_IF_ERROR(CheckFeatures());
  TENON_RETURN_IF_ERROR(ReadOperands());
  TENON_RETURN_IF_ERROR(ReadLengths());
  if (rotary_) TENON_RETURN_IF_ERROR(Rotate());
  q_ = f_.SplitHeads(q_, heads_);
  k_ = f_.SplitHeads(k_, kv_heads_);
  v_ = f_.SplitHeads(v_, kv_heads_);
  TENON_RETURN_IF_ERROR(AppendPast());
  TENON_RETURN_IF_ERROR(MakeMask());
  return f_.Return(f_.JoinHeads(f_.Make<nn::AttentionOp>(q_, k_, v_, mask_, attrs_)));
}

}  // namespace

absl::Status ImportMicrosoftGroupQueryAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 17));
  for (int i : {5, 6}) {
    if (!node.input(i)) {
      return node.Error(fmt::format("input {} of GroupQueryAttention is missing", i));
    }
  }
  return GroupQueryAttention(node).Import();
}

// Positions are those of each row, or that of the first.
absl::Status ImportMicrosoftRotaryEmbedding(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(4, 4));
  node.MarkRead("scale");  // without effect in ONNX Runtime
  node.MarkRead("is_packed_batching");
  nn::RotaryEmbeddingOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.interleaved, node.Flag("interleaved", false));
  TENON_ASSIGN_OR_RETURN(attrs.num_heads, node.Int("num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs.rotary_dim, node.Int("rotary_embedding_dim", 0));
  const Value x = node.input(0), cos = node.input(2);
  const int64_t rank = x.type().rank();
  if ((rank != 3 && rank != 4) || cos.type().rank() != 2) {
    return node.Error(
        fmt::format("RotaryEmbedding has input {} and angles {} (expected rank 3 or 4 and rank 2)",
                    x.type().text(), cos.type().text()));
  }
  if (rank == 3 && attrs.num_heads == 0) {
    const DimExpr heads = FloorDiv(x.type().dim(2), cos.type().dim(1) * 2);
    if (!heads.is_constant() || heads.constant() < 1) {
      return node.Unsupported("an unknown number of heads",
                              "the attribute num_heads, or a constant last extent");
    }
    attrs.num_heads = heads.constant();
  }
  Formula f(node);
  Value positions = node.input(1);
  if (positions.type().rank() <= 1) {
    const DimExpr batch = x.type().dim(0), rows = x.type().dim(rank - 2);
    positions = f.Add(f.Reshape(positions, {f.One(), f.One()}), f.Iota(rows, 1, 2));
    positions = f.Expand(positions, {batch, rows});
  }
  return f.Return(f.Make<nn::RotaryEmbeddingOp>(x, cos, node.input(3), positions, attrs));
}

}  // namespace tenon::onnx
