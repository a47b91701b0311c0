// Demands of the halves of layers of transformers.
#include <algorithm>

#include "drr/check/planner.h"

namespace tenon::drr {

bool Planner::DemandMatrix(uint16_t n, size_t w, size_t bias, Unknown rows, Unknown columns) {
  const Edge *matrix = Operand(n, w), *vector = Operand(n, bias);
  if (matrix == nullptr) return true;
  if (!Demand(*matrix, FlagOf(n, "transpose_w") ? Shape{columns, rows} : Shape{rows, columns}))
    return false;
  return vector == nullptr || Demand(*vector, {columns});
}

bool Planner::DemandNorm(uint16_t n, size_t scale, const Shape& shape) {
  for (const size_t group : {scale, scale + 1}) {
    const Edge* edge = Operand(n, group);
    if (edge != nullptr && !Demand(*edge, {shape.back()})) return false;
  }
  return TextOf(n, "norm") == "layer" || Operand(n, scale + 1) == nullptr;
}

bool Planner::AttentionBlockOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.size() != 3) return false;
  const int64_t heads = IntOf(n, "num_heads", 3), kv_heads = IntOf(n, "kv_num_heads", 3);
  if (heads <= 0 || kv_heads <= 0 || heads > kMaxElements || heads % kv_heads != 0) return false;
  const bool has_k = Operand(n, 5) != nullptr, has_v = Operand(n, 7) != nullptr;
  const bool rotates = Operand(n, 10) != nullptr;
  if (rotates != (Operand(n, 11) != nullptr) || (rotates && !has_v)) return false;
  const int64_t size = IntOr(n, "head_dim", -1), v_size = IntOr(n, "v_head_dim", -1);
  const Unknown depth = Fresh(), head = size >= 0 ? Number(size) : Fresh(),
                v_head = v_size >= 0 ? Number(v_size)
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
  if (!Demand(node.operands[0][0], x) || !Demand(node.operands[1][0], shape)) return false;
  if (!DemandMatrix(n, 2, 4, depth, Number(q)) || !DemandMatrix(n, 5, 6, depth, Number(k)) ||
      !DemandMatrix(n, 7, 8, depth, Number(v)) ||
      !DemandMatrix(n, 3, 9, Number(heads * Value(v_head)), shape.back()))
    return false;
  if (rotates) {
    const int64_t rotated = IntOr(n, "rotary_dim", 0);
    const Unknown turned = rotated > 0 ? Number(rotated) : head;
    Shape table = {shape[1], Number(1), turned}, ignored;
    if (Value(turned) % 2 != 0 || Value(turned) > Value(head)) return false;
    for (const size_t group : {size_t{10}, size_t{11}}) {
      if (!DemandBroadcast(*Operand(n, group), table, ignored)) return false;
    }
  }
  Unknown keys = shape[1];
  const Edge *past_key = Operand(n, 15), *past_value = Operand(n, 16);
  if ((past_key == nullptr) != (past_value == nullptr)) return false;
  if (past_key != nullptr) {
    const Unknown before = Fresh();
    if (!Demand(*past_key, {shape[0], Number(kv_heads), before, head}) ||
        !Demand(*past_value, {shape[0], Number(kv_heads), before, v_head}))
      return false;
    keys = Number(Value(before) + Value(shape[1]));
  }
  for (const size_t group : {size_t{12}, size_t{13}}) {
    const Edge* mask = Operand(n, group);
    if (mask == nullptr) continue;
    if (group == 12 && Chance(0.4)) boolean_[Through(*mask).node] = true;
    Shape actual;
    if (!DemandBroadcast(*mask, {shape[0], Number(heads), shape[1], keys}, actual)) return false;
  }
  if (const Edge* mask = Operand(n, 14); mask != nullptr) {
    boolean_[Through(*mask).node] = true;
    if (!Demand(*mask, {shape[0], keys})) return false;
  }
  return DemandNorm(n, 17, shape);
}

bool Planner::FeedForwardOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.size() < 2) return false;
  const Unknown depth = Fresh(), inner = Fresh();
  Shape x = shape;
  x.back() = depth;
  return Demand(node.operands[0][0], x) && Demand(node.operands[1][0], shape) &&
         DemandMatrix(n, 2, 4, depth, inner) && DemandMatrix(n, 5, 6, depth, inner) &&
         DemandMatrix(n, 3, 7, inner, shape.back()) && DemandNorm(n, 8, shape);
}

}  // namespace tenon::drr
