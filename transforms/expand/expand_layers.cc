// expand-layers: a stack of layers of a transformer becomes its layers, a layer its halves, and
// each half the operations that it joins. These are the ones that fusion finds in a model, so
// nothing is slower than without layers.
#include <algorithm>
#include <optional>
#include <vector>

#include "ir/base/check.h"
#include "ir/base/stacked_layers.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// Returns attributes with those that all operations with an attention in them share.
template <typename Attrs, typename From>
Attrs AttentionAttrs(const From& from) {
  Attrs attrs;
  attrs.num_heads = from.num_heads;
  attrs.kv_num_heads = from.kv_num_heads;
  attrs.scale = from.scale;
  attrs.causal = from.causal;
  attrs.window = from.window;
  attrs.mask_value = from.mask_value;
  attrs.mask_replaces = from.mask_replaces;
  attrs.mask_last = from.mask_last;
  attrs.repeat_first_key = from.repeat_first_key;
  attrs.nan_guard = from.nan_guard;
  attrs.zero_nan_rows = from.zero_nan_rows;
  attrs.softcap = from.softcap;
  attrs.head_dim = from.head_dim;
  attrs.v_head_dim = from.v_head_dim;
  attrs.q_offset = from.q_offset;
  attrs.k_offset = from.k_offset;
  attrs.v_offset = from.v_offset;
  return attrs;
}

using MaybeValue = absl::StatusOr<Value>;
using Values = absl::StatusOr<std::vector<Value>>;

// Makes the parts of one operation before it.
class LayerParts {
 public:
  explicit LayerParts(Operation& op) : op_(op), builder_(OpBuilder::Before(&op)) {}

  // The values of the results, in order; empty if the operation is not one of these, or if the
  // types of its operands do not say how large its heads are.
  Values Make() {
    switch (op_.id()) {
      case fused::TransformerStackOp::kId:
        return Stack(fused::TransformerStackOp(&op_));
      case fused::TransformerLayerOp::kId:
        return Layer(fused::TransformerLayerOp(&op_));
      case fused::AttentionBlockOp::kId:
        return Block(fused::AttentionBlockOp(&op_));
      case fused::FeedForwardOp::kId:
        return Forward(fused::FeedForwardOp(&op_));
      default:
        return std::vector<Value>();
    }
  }

 private:
  template <typename Op, typename... Args>
  Values AddAll(const Args&... args) {
    TENON_ASSIGN_OR_RETURN(const Op made, Op::Create(builder_, op_.location(), args...));
    std::vector<Value> results;
    for (unsigned i = 0; i < made.op()->num_results(); ++i) results.push_back(made.op()->result(i));
    return results;
  }
  template <typename Op, typename... Args>
  MaybeValue Add(const Args&... args) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> results, AddAll<Op>(args...));
    return results.front();
  }

  Values Stack(const fused::TransformerStackOp& op) {
    const auto a = op.attrs();
    auto attrs = AttentionAttrs<fused::TransformerLayerOp::Attrs>(a);
    attrs.interleaved = a.interleaved;
    attrs.rotary_dim = a.rotary_dim;
    attrs.activation = a.activation;
    attrs.alpha = a.alpha;
    attrs.beta = a.beta;
    attrs.norm = a.norm;
    attrs.epsilon = a.epsilon;
    attrs.transpose_w = a.transpose_w;
    attrs.post_norm = a.post_norm;
    attrs.parallel = a.parallel;
    const StackedLayers layers(a.has);
    const size_t count = op.layers().size() / layers.per_layer();
    std::vector<Value> results = {op.x(), op.residual()};
    for (size_t layer = 0; layer < count; ++layer) {
      const auto of = [&](size_t operand) {
        const std::optional<size_t> place = layers.PlaceOf(layer, operand);
        return place ? op_.operand(static_cast<unsigned>(2 + *place)) : Value();
      };
      const Value residual = layer > 0 && a.post_norm ? results[0] : results[1];
      TENON_ASSIGN_OR_RETURN(
          const std::vector<Value> made,
          AddAll<fused::TransformerLayerOp>(results[0], residual, of(2), of(3), of(4), of(5), of(6),
                                            of(7), of(8), of(9), of(10), of(11), of(12), of(13),
                                            of(14), of(15), of(16), of(17), of(18), of(19), of(20),
                                            of(21), of(22), of(23), of(24), of(25), of(26), attrs));
      results[0] = made[0];
      results[1] = made[1];
      results.insert(results.end(), made.begin() + 2, made.end());
    }
    return results;
  }

  Values Layer(const fused::TransformerLayerOp& op) {
    const auto a = op.attrs();
    if (!HeadsAreKnown(op)) return std::vector<Value>();
    if (a.parallel == "own" && !op.residual().type().is_tensor()) return std::vector<Value>();
    auto attention = AttentionAttrs<fused::AttentionBlockOp::Attrs>(a);
    attention.interleaved = a.interleaved;
    attention.rotary_dim = a.rotary_dim;
    attention.norm = a.norm;
    attention.epsilon = a.epsilon;
    attention.transpose_w = a.transpose_w;
    TENON_ASSIGN_OR_RETURN(
        const std::vector<Value> block,
        AddAll<fused::AttentionBlockOp>(
            op.x(), op.residual(), op.wq(), op.wo(), op.bq(), op.wk(), op.bk(), op.wv(), op.bv(),
            op.bo(), op.cos(), op.sin(), op.mask(), op.bias(), op.key_mask(), op.past_key(),
            op.past_value(), op.norm_scale(), op.norm_bias(), attention));
    Value rows = block[0];
    if (a.parallel == "shared") rows = op.x();
    if (a.parallel == "own") {
      TENON_ASSIGN_OR_RETURN(
          rows, NormOf(a.norm, a.epsilon, op.residual(), op.norm_scale(), op.norm_bias()));
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Value> results,
                           AddAll<fused::FeedForwardOp>(
                               rows, a.post_norm ? block[0] : block[1], op.wu(), op.wd(), op.bu(),
                               op.wg(), op.bg(), op.bd(), op.out_scale(), op.out_bias(),
                               fused::FeedForwardOp::Attrs{.activation = a.activation,
                                                           .alpha = a.alpha,
                                                           .beta = a.beta,
                                                           .norm = a.norm,
                                                           .epsilon = a.epsilon,
                                                           .transpose_w = a.transpose_w}));
    results.insert(results.end(), block.begin() + 2, block.end());
    return results;
  }

  // True if the types say how many columns each rotated head has, and what the rows are.
  template <typename Op>
  static bool HeadsAreKnown(const Op& op) {
    if (!op.x().type().is_tensor()) return false;
    if (!op.cos()) return true;
    for (const Value value : {op.x(), op.wq(), op.wk()}) {
      if (!value.type().is_tensor()) return false;
      for (const DimExpr dim : value.type().dims()) {
        if (dim.is_unknown()) return false;
      }
    }
    return true;
  }

  MaybeValue Linear(Value x, Value w, Value bias, bool transpose) {
    return Add<fused::LinearOp>(x, w, bias, Value(),
                                fused::LinearOp::Attrs{.transpose_w = transpose});
  }

  Values Norm(std::string_view norm, float epsilon, Value product, Value residual, Value scale,
              Value bias) {
    const int64_t axis = product.type().rank() - 1;
    if (norm == "layer") {
      return AddAll<fused::SkipLayerNormOp>(
          product, residual, scale, bias, Value(),
          fused::SkipLayerNormOp::Attrs{.axis = axis, .epsilon = epsilon});
    }
    return AddAll<fused::SkipRmsNormOp>(
        product, residual, scale, Value(),
        fused::SkipRmsNormOp::Attrs{.axis = axis, .epsilon = epsilon});
  }

  MaybeValue NormOf(std::string_view norm, float epsilon, Value rows, Value scale, Value bias) {
    const int64_t axis = rows.type().rank() - 1;
    if (norm == "layer") {
      return Add<nn::LayerNormOp>(rows, scale, bias,
                                  nn::LayerNormOp::Attrs{.axis = axis, .epsilon = epsilon});
    }
    return Add<nn::RmsNormOp>(rows, scale, nn::RmsNormOp::Attrs{.axis = axis, .epsilon = epsilon});
  }

  // The product with its heads split and rotated.
  MaybeValue Rotated(const fused::AttentionBlockOp& op, Value product, int64_t heads) {
    const Type type = product.type();
    TENON_ASSIGN_OR_RETURN(
        const Value split,
        Add<ten::ReshapeOp>(product,
                            ten::ReshapeOp::Attrs{.shape = {type.dim(0), type.dim(1),
                                                            DimExpr::Constant(op_.context(), heads),
                                                            FloorDiv(type.dim(2), heads)}}));
    return Add<fused::RotaryOp>(
        split, op.cos(), op.sin(),
        fused::RotaryOp::Attrs{.interleaved = op.interleaved(), .rotary_dim = op.rotary_dim()});
  }

  Values Block(const fused::AttentionBlockOp& op) {
    if (!HeadsAreKnown(op)) return std::vector<Value>();
    const auto a = op.attrs();
    auto attention = AttentionAttrs<fused::AttentionOp::Attrs>(a);
    TENON_ASSIGN_OR_RETURN(Value q, Linear(op.x(), op.wq(), op.bq(), a.transpose_w));
    Value k = q;
    if (op.wk()) {
      TENON_ASSIGN_OR_RETURN(k, Linear(op.x(), op.wk(), op.bk(), a.transpose_w));
    }
    Value v = k;
    if (op.wv()) {
      TENON_ASSIGN_OR_RETURN(v, Linear(op.x(), op.wv(), op.bv(), a.transpose_w));
    }
    if (op.cos()) {
      attention.q_layout = attention.k_layout = "bshd";
      TENON_ASSIGN_OR_RETURN(q, Rotated(op, q, a.num_heads));
      TENON_ASSIGN_OR_RETURN(k, Rotated(op, k, a.kv_num_heads));
    }
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> attended,
                           AddAll<fused::AttentionOp>(q, k, v, op.mask(), op.bias(), op.key_mask(),
                                                      op.past_key(), op.past_value(), attention));
    // The half of a layer whose other half does not wait for it has no norm.
    if (!op_.result(0).has_uses()) {
      TENON_ASSIGN_OR_RETURN(
          const Value sum,
          Add<fused::LinearOp>(attended.front(), op.wo(), op.bo(), op.residual(),
                               fused::LinearOp::Attrs{.transpose_w = a.transpose_w}));
      std::vector<Value> results = {sum, sum};
      results.insert(results.end(), attended.begin() + 1, attended.end());
      return results;
    }
    TENON_ASSIGN_OR_RETURN(const Value product,
                           Linear(attended.front(), op.wo(), op.bo(), a.transpose_w));
    TENON_ASSIGN_OR_RETURN(
        std::vector<Value> results,
        Norm(a.norm, a.epsilon, product, op.residual(), op.norm_scale(), op.norm_bias()));
    results.insert(results.end(), attended.begin() + 1, attended.end());
    return results;
  }

  Values Forward(const fused::FeedForwardOp& op) {
    const auto a = op.attrs();
    if (!op.x().type().is_tensor()) return std::vector<Value>();
    fused::LinearOp::Attrs linear{.transpose_w = a.transpose_w};
    if (!op.wg()) {
      linear.activation = a.activation;
      linear.alpha = a.alpha;
      linear.beta = a.beta;
    }
    TENON_ASSIGN_OR_RETURN(Value inner,
                           Add<fused::LinearOp>(op.x(), op.wu(), op.bu(), Value(), linear));
    if (op.wg()) {
      TENON_ASSIGN_OR_RETURN(const Value gate, Linear(op.x(), op.wg(), op.bg(), a.transpose_w));
      TENON_ASSIGN_OR_RETURN(
          inner,
          Add<fused::GatedOp>(
              gate, inner,
              fused::GatedOp::Attrs{.activation = a.activation, .alpha = a.alpha, .beta = a.beta}));
    }
    TENON_ASSIGN_OR_RETURN(const Value product, Linear(inner, op.wd(), op.bd(), a.transpose_w));
    return Norm(a.norm, a.epsilon, product, op.residual(), op.norm_scale(), op.norm_bias());
  }

  Operation& op_;
  OpBuilder builder_;
};

// Replaces the operation by its parts; false if it has none.
absl::StatusOr<bool> Expand(Operation* op) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> values, LayerParts(*op).Make());
  if (values.empty()) return false;
  for (unsigned i = 0; i < op->num_results(); ++i) op->result(i).ReplaceAllUsesWith(values[i]);
  op->Erase();
  return true;
}

class ExpandLayers : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    int64_t expanded = 0;
    // Each kind makes those of the next.
    for (const std::vector<OpId>& kinds :
         {std::vector<OpId>{fused::TransformerStackOp::kId},
          {fused::TransformerLayerOp::kId},
          {fused::AttentionBlockOp::kId, fused::FeedForwardOp::kId}}) {
      std::vector<Operation*> ops;
      func->Walk([&](Operation* op) {
        if (std::find(kinds.begin(), kinds.end(), op->id()) != kinds.end()) ops.push_back(op);
      });
      for (Operation* op : ops) {
        TENON_ASSIGN_OR_RETURN(const bool done, Expand(op));
        expanded += done ? 1 : 0;
      }
    }
    if (expanded > 0) context.statistics->Add("expanded", expanded);
    return PassResult{expanded > 0};
  }
};

}  // namespace

PassInfo ExpandLayersPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"expanded", "operations taken apart"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<ExpandLayers>(); };
  return info;
}

}  // namespace tenon
