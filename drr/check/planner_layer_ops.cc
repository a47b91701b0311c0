// Demands of the halves of layers of transformers, of layers, and of stacks.
#include <algorithm>
#include <array>

#include "drr/check/planner.h"

namespace tenon::drr {
namespace {

// Operands of fused.transformer_layer: those of a block, and of the rest, by their places there.
constexpr std::array<size_t, 19> kBlock = {0,  1,  2,  3,  6,  7,  8,  9,  10, 11,
                                           12, 13, 14, 15, 16, 17, 18, 19, 20};
constexpr std::array<size_t, 10> kForward = {0, 1, 4, 5, 21, 22, 23, 24, 25, 26};
constexpr size_t kLayerOperands = 27, kNeeded = 6;

}  // namespace

Planner::LayerParts Planner::PartsOf(uint16_t n, size_t groups) {
  LayerParts parts;
  for (size_t g = 0; g < groups; ++g) parts.push_back({Operand(n, g)});
  return parts;
}

bool Planner::DemandPart(const LayerPart& part, const Shape& shape) {
  if (!part.present()) return true;
  if (part.edge != nullptr) return Demand(*part.edge, shape);
  const auto [planned, is_new] = shapes_.emplace(part.id, shape);
  return is_new || UnifyAll(planned->second, shape);
}

bool Planner::DemandNarrow(const LayerPart& part, const Shape& shape) {
  if (!part.present()) return true;
  Shape ignored;
  const bool list =
      part.edge == nullptr || rule_.nodes[part.edge->node].kind == ValNode::Kind::kEach;
  if (!list) return DemandBroadcast(*part.edge, shape, ignored);
  const uint16_t id = part.edge != nullptr ? part.edge->node : part.id;
  if (shapes_.count(id) > 0) return true;  // what is planned already
  Shape narrow = shape;
  for (Unknown& extent : narrow)
    if (Chance(0.3)) extent = Number(1);
  shapes_[id] = narrow;
  return true;
}

void Planner::MakeBoolean(const LayerPart& part) {
  if (part.present()) boolean_[part.edge != nullptr ? Through(*part.edge).node : part.id] = true;
}

bool Planner::DemandMatrix(uint16_t n, const LayerPart& w, const LayerPart& bias, Unknown rows,
                           Unknown columns) {
  if (!w.present()) return true;
  return DemandPart(w, FlagOf(n, "transpose_w") ? Shape{columns, rows} : Shape{rows, columns}) &&
         DemandPart(bias, {columns});
}

bool Planner::DemandNorm(uint16_t n, const LayerPart& scale, const LayerPart& bias,
                         const Shape& shape) {
  return DemandPart(scale, {shape.back()}) && DemandPart(bias, {shape.back()}) &&
         (TextOf(n, "norm") == "layer" || !bias.present());
}

bool Planner::DemandBlock(uint16_t n, const LayerParts& parts, const Shape& shape, Unknown depth,
                          Unknown before) {
  if (shape.size() != 3) return false;
  const int64_t heads = IntOf(n, "num_heads", 3), kv_heads = IntOf(n, "kv_num_heads", 3);
  if (heads <= 0 || kv_heads <= 0 || heads > kMaxElements || heads % kv_heads != 0) return false;
  const bool has_k = parts[5].present(), has_v = parts[7].present();
  const bool rotates = parts[10].present();
  if (rotates != parts[11].present() || (rotates && !has_v)) return false;
  const int64_t size = IntOr(n, "head_dim", -1), v_size = IntOr(n, "v_head_dim", -1);
  const Unknown head = size >= 0 ? Number(size) : Fresh(), v_head = v_size >= 0 ? Number(v_size)
                                                                    : has_v     ? Fresh()
                                                                                : head;
  // The columns of a product that has heads of this many columns from an offset on.
  const auto end = [&](const char* offset, int64_t count, Unknown of) {
    return IntOr(n, offset, 0) + count * Value(of);
  };
  int64_t q = end("q_offset", heads, head), k = end("k_offset", kv_heads, head),
          v = end("v_offset", kv_heads, v_head);
  if (!has_v) k = std::max(k, v);
  if (!has_k) q = std::max(q, k);
  Shape x = shape;
  x.back() = depth;
  if (!DemandPart(parts[0], x) || !DemandPart(parts[1], shape)) return false;
  if (!DemandMatrix(n, parts[2], parts[4], depth, Number(q)) ||
      !DemandMatrix(n, parts[5], parts[6], depth, Number(k)) ||
      !DemandMatrix(n, parts[7], parts[8], depth, Number(v)) ||
      !DemandMatrix(n, parts[3], parts[9], Number(heads * Value(v_head)), shape.back()))
    return false;
  if (rotates) {
    const int64_t rotated = IntOr(n, "rotary_dim", 0);
    const Unknown turned = rotated > 0 ? Number(rotated) : head;
    const Shape table = {shape[1], Number(1), turned};
    if (Value(turned) % 2 != 0 || Value(turned) > Value(head)) return false;
    if (!DemandNarrow(parts[10], table) || !DemandNarrow(parts[11], table)) return false;
  }
  Unknown keys = shape[1];
  if (parts[15].present() != parts[16].present()) return false;
  if (parts[15].present()) {
    if (!DemandPart(parts[15], {shape[0], Number(kv_heads), before, head}) ||
        !DemandPart(parts[16], {shape[0], Number(kv_heads), before, v_head}))
      return false;
    keys = Number(Value(before) + Value(shape[1]));
  }
  const Shape scores = {shape[0], Number(heads), shape[1], keys};
  if (parts[12].present() && Chance(0.4)) MakeBoolean(parts[12]);
  if (!DemandNarrow(parts[12], scores) || !DemandNarrow(parts[13], scores)) return false;
  MakeBoolean(parts[14]);
  return DemandPart(parts[14], {shape[0], keys}) && DemandNorm(n, parts[17], parts[18], shape);
}

bool Planner::DemandForward(uint16_t n, const LayerParts& parts, const Shape& shape,
                            Unknown depth) {
  if (shape.size() < 2) return false;
  const Unknown inner = Fresh();
  Shape x = shape;
  x.back() = depth;
  return DemandPart(parts[0], x) && DemandPart(parts[1], shape) &&
         DemandMatrix(n, parts[2], parts[4], depth, inner) &&
         DemandMatrix(n, parts[5], parts[6], depth, inner) &&
         DemandMatrix(n, parts[3], parts[7], inner, shape.back()) &&
         DemandNorm(n, parts[8], parts[9], shape);
}

bool Planner::DemandLayer(uint16_t n, const LayerParts& parts, const Shape& shape, Unknown depth,
                          Unknown before) {
  LayerParts block, forward;
  for (const size_t operand : kBlock) block.push_back(parts[operand]);
  for (const size_t operand : kForward) forward.push_back(parts[operand]);
  forward[0] = forward[1] = LayerPart();  // what the block makes
  return DemandBlock(n, block, shape, depth, before) &&
         DemandForward(n, forward, shape, TextOf(n, "parallel") == "shared" ? depth : shape.back());
}

bool Planner::AttentionBlockOperands(uint16_t n, const Shape& shape) {
  const Unknown depth = Fresh();
  return DemandBlock(n, PartsOf(n, kBlock.size()), shape, depth, Fresh());
}

bool Planner::FeedForwardOperands(uint16_t n, const Shape& shape) {
  return DemandForward(n, PartsOf(n, kForward.size()), shape, Fresh());
}

bool Planner::TransformerLayerOperands(uint16_t n, const Shape& shape) {
  const Unknown depth = Fresh();
  return DemandLayer(n, PartsOf(n, kLayerOperands), shape, depth, Fresh());
}

std::vector<int64_t> Planner::RandomPresence(uint16_t n) {
  std::vector<int64_t> has(kLayerOperands);
  for (size_t i = 0; i < has.size(); ++i) has[i] = i < kNeeded || Chance(0.5) ? 1 : 0;
  enum : uint8_t { kBq = 6, kWk, kBk, kWv, kBv, kBo, kCos, kSin, kPastKey = 17, kPastValue };
  enum : uint8_t { kNormScale = 19, kNormBias, kWg = 22, kBg = 23, kOutBias = 26 };
  if (has[kWk] == 0) has[kWv] = has[kBk] = 0;
  if (has[kWv] == 0 || IntOr(n, "head_dim", -1) >= 0) has[kCos] = 0;
  if (has[kWv] == 0) has[kBv] = 0;
  if (has[kWg] == 0) has[kBg] = 0;
  has[kSin] = has[kCos];
  has[kPastValue] = has[kPastKey];
  if (TextOf(n, "norm") != "layer") has[kNormBias] = has[kOutBias] = 0;
  if (TextOf(n, "parallel") == "shared") has[kNormScale] = has[kNormBias] = 0;
  return {has.begin() + kNeeded, has.end()};
}

// Each list stands for one layer or two.
bool Planner::TransformerStackOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.size() != 3) return false;
  std::vector<int64_t> has;
  for (const AttrCode& code : node.attrs) {
    if (node.info->slot_name(code.slot).str() != "has" || code.kind != AttrCode::Kind::kVariable)
      continue;
    const auto [value, is_new] = attrs_.emplace(code.variable, AttrValue());
    if (is_new) value->second = RandomPresence(n);
    if (const auto* numbers = std::get_if<I64s>(&value->second)) has = *numbers;
  }
  if (has.size() != kLayerOperands - kNeeded) return false;
  has.insert(has.begin(), kNeeded, 1);
  const auto per_layer = static_cast<size_t>(std::count(has.begin() + 2, has.end(), 1));
  LayerParts own;
  for (const Edge& edge : node.operands[2]) {
    if (rule_.nodes[edge.node].kind != ValNode::Kind::kEach) return false;
    const auto [more, is_new] = more_of_each_.try_emplace(edge.node);
    const size_t count = per_layer * (Chance(0.5) ? 1 : 2);
    for (size_t i = 1; is_new && i < count; ++i) more->second.push_back(next_id_++);
    own.push_back({&edge});
    for (const uint16_t id : more->second) own.push_back({nullptr, id});
  }
  if (own.size() % per_layer != 0) return false;
  // The rows and the residual of the first layer come from outside.
  const Unknown first = Fresh(), before = Fresh();
  Shape x = shape;
  x.back() = first;
  if (!Demand(node.operands[0][0], x) || !Demand(node.operands[1][0], shape)) return false;
  for (size_t next = 0; next < own.size();) {
    const Unknown depth = next == 0 ? first : shape.back();
    LayerParts parts(2);
    for (size_t i = 2; i < has.size(); ++i)
      parts.push_back(has[i] == 0 ? LayerPart() : own[next++]);
    if (!DemandLayer(n, parts, shape, depth, before)) return false;
  }
  return true;
}

}  // namespace tenon::drr
