// What each op demands of its operands: the table, and elementwise ops.
#include <algorithm>
#include <string_view>
#include <vector>

#include "drr/check/planner.h"

namespace tenon::drr {

struct Planner::OpDemand {
  std::string_view op;
  bool (Planner::*demand)(uint16_t n, const Shape& shape);
};

bool Planner::DemandOp(uint16_t n, const Shape& shape) {
  // An op without a row here, unless it is elementwise or a reduction, has its operands guessed.
  static constexpr OpDemand kDemands[] = {
      {"fused.attention", &Planner::AttentionOperands},
      {"fused.attention_block", &Planner::AttentionBlockOperands},
      {"fused.conv", &Planner::ConvOperands},
      {"fused.conv_transpose", &Planner::ConvTransposeOperands},
      {"fused.embedding", &Planner::LookupOperands},
      {"fused.feed_forward", &Planner::FeedForwardOperands},
      {"fused.gated", &Planner::GatedOperands},
      {"fused.group_norm", &Planner::GroupNormOperands},
      {"fused.linear", &Planner::LinearOperands},
      {"fused.linear_chain", &Planner::LinearChainOperands},
      {"fused.rotary", &Planner::RotaryOperands},
      {"fused.skip_layer_norm", &Planner::NormOperands},
      {"fused.skip_rms_norm", &Planner::NormOperands},
      {"fused.transformer_layer", &Planner::TransformerLayerOperands},
      {"fused.transformer_stack", &Planner::TransformerStackOperands},
      {"nn.average_pool", &Planner::PoolOperand},
      {"nn.max_pool", &Planner::PoolOperand},
      {"nn.recurrence", &Planner::RecurrenceOperands},
      {"nn.rotary_embedding", &Planner::RotaryEmbeddingOperands},
      {"ten.cumulate", &Planner::CumulateOperands},
      {"ten.dynamic_expand", &Planner::DynamicExpandOperands},
      {"ten.dynamic_pad", &Planner::DynamicPadOperands},
      {"ten.dynamic_reduce", &Planner::DynamicReduceOperands},
      {"ten.dynamic_reshape", &Planner::DynamicReshapeOperands},
      {"ten.dynamic_resize", &Planner::DynamicResizeOperands},
      {"ten.dynamic_slice", &Planner::DynamicSliceOperands},
      {"ten.dynamic_squeeze", &Planner::DynamicSqueezeOperands},
      {"ten.dynamic_tile", &Planner::DynamicTileOperands},
      {"ten.dynamic_topk", &Planner::DynamicTopKOperands},
      {"ten.dynamic_unsqueeze", &Planner::DynamicUnsqueezeOperands},
      {"ten.nonzero", &Planner::NonZeroOperand},
      {"ten.range", &Planner::RangeOperands},
      {"ten.reverse_sequence", &Planner::ReverseSequenceOperands},
      {"ten.argmax", &Planner::ArgReduceOperand},
      {"ten.argmin", &Planner::ArgReduceOperand},
      {"ten.topk", &Planner::TopKOperand},
      {"ten.trilu", &Planner::TriangleOperand},
      {"ten.einsum", &Planner::EinsumOperands},
      {"nn.attention", &Planner::AttentionOperands},
      {"nn.batch_norm", &Planner::BatchNormOperands},
      {"nn.conv", &Planner::ConvOperands},
      {"nn.conv_transpose", &Planner::ConvTransposeOperands},
      {"nn.group_norm", &Planner::GroupNormOperands},
      {"nn.layer_norm", &Planner::NormOperands},
      {"nn.log_softmax", &Planner::AxisOperand},
      {"nn.rms_norm", &Planner::NormOperands},
      {"nn.softmax", &Planner::AxisOperand},
      {"q.conv", &Planner::QuantizedConvOperands},
      {"q.linear", &Planner::QuantizedLinearOperands},
      {"ten.cast", &Planner::SameOperand},
      {"ten.concat", &Planner::ConcatOperands},
      {"ten.cumsum", &Planner::AxisOperand},
      {"ten.expand", &Planner::ExpandOperand},
      {"ten.gather", &Planner::GatherOperands},
      {"ten.matmul", &Planner::MatmulOperands},
      {"ten.pad", &Planner::PadOperands},
      {"ten.reshape", &Planner::ReshapeOperand},
      {"ten.slice", &Planner::SliceOperand},
      {"ten.transpose", &Planner::TransposeOperand},
  };
  const OpInfo& info = *rule_.nodes[n].info;
  if (info.Has(Trait::kElementwise)) return Elementwise(n, shape);
  if (IsReduction(info.name())) return ReduceOperand(n, shape);
  for (const OpDemand& row : kDemands) {
    if (row.op != info.name()) continue;
    if ((this->*row.demand)(n, shape)) return true;
    if (refused_.empty()) refused_ = info.name();
    return false;
  }
  return GuessOperands(n, shape);
}

bool Planner::SameOperand(uint16_t n, const Shape& shape) {
  return Demand(rule_.nodes[n].operands[0][0], shape);
}

bool Planner::Elementwise(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  constexpr uint32_t kOnlyBool = 1u << static_cast<unsigned>(DType::kBool);
  std::vector<const Edge*> rest;
  const Edge* full = nullptr;
  for (size_t g = 0; g < node.operands.size(); ++g) {
    const Edge* operand = Operand(n, g);
    if (operand == nullptr) continue;
    Edge to = Through(*operand);
    if (node.info->def().operands[g].constraint.dtypes == kOnlyBool) boolean_[to.node] = true;
    rest.push_back(operand);
  }
  if (Chance(0.15) && BroadcastBothWays(rest, shape)) {
    for (const Edge* edge : rest) {
      Shape actual;
      if (!DemandBroadcast(*edge, shape, actual)) return false;
    }
    return true;
  }
  // One operand has the whole shape: an op that cannot be smaller, else a variable that may be of
  // this rank.
  auto choose = [&](auto wanted) {
    std::vector<const Edge*> candidates;
    for (const Edge* edge : rest) {
      if (wanted(*edge)) candidates.push_back(edge);
    }
    if (full == nullptr && !candidates.empty()) {
      full = candidates[static_cast<size_t>(Pick(0, static_cast<int>(candidates.size()) - 1))];
    }
  };
  const auto is_variable = [&](const Edge& e) {
    const uint16_t v = Through(e).node;
    auto hint = rank_hints_.find(v);
    return rule_.nodes[v].kind == ValNode::Kind::kVariable &&
           (hint == rank_hints_.end() || hint->second == static_cast<int>(shape.size()));
  };
  const bool smaller = Chance(0.1);  // than a variable is what is computed
  if (smaller) choose(is_variable);
  choose([&](const Edge& e) {
    const int known = KnownRank(e);
    return rule_.nodes[Through(e).node].kind == ValNode::Kind::kOp && !CanShrink(e) &&
           (known < 0 || known == static_cast<int>(shape.size()));
  });
  choose(is_variable);
  choose([&](const Edge& e) { return rule_.nodes[Through(e).node].kind != ValNode::Kind::kSplat; });
  choose([](const Edge&) { return true; });
  if (full != nullptr && !Demand(*full, shape)) return false;
  for (const Edge* edge : rest) {
    if (edge == full) continue;
    if (smaller && rule_.nodes[Through(*edge).node].kind == ValNode::Kind::kOp &&
        !CanShrink(*edge)) {
      const int rank = static_cast<int>(shape.size()), known = KnownRank(*edge);
      if (known > rank) return false;
      if (!Demand(*edge, Broadcastable(shape, known >= 0 ? known : Pick(0, rank)))) return false;
      continue;
    }
    Shape actual;
    if (!DemandBroadcast(*edge, shape, actual)) return false;
  }
  return true;
}

bool Planner::BroadcastBothWays(const std::vector<const Edge*>& operands, const Shape& shape) {
  std::vector<uint16_t> open;
  for (const Edge* edge : operands) {
    const uint16_t n = Through(*edge).node;
    auto hint = rank_hints_.find(n);
    if (rule_.nodes[n].kind == ValNode::Kind::kVariable && shapes_.count(n) == 0 &&
        (hint == rank_hints_.end() || hint->second == static_cast<int>(shape.size())) &&
        std::find(open.begin(), open.end(), n) == open.end())
      open.push_back(n);
  }
  if (open.size() < 2 || shape.size() < 2) return false;
  Shape &a = shapes_[open[0]] = shape, &b = shapes_[open[1]] = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int which = Pick(0, 2);
    if (which == 1) a[i] = Number(1);
    if (which == 2) b[i] = Number(1);
  }
  return true;
}

}  // namespace tenon::drr
