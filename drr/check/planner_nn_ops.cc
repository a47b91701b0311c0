// What products, norms, convolutions and attention demand of their operands.
#include <algorithm>

#include "drr/check/planner.h"

namespace tenon::drr {
namespace {

Shape Joined(std::initializer_list<Shape> parts) {
  Shape all;
  for (const Shape& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Numbers that a convolution can have, and that extents may be computed with.
bool AreWithin(const I64s& values, int64_t low) {
  return std::all_of(values.begin(), values.end(),
                     [low](int64_t value) { return value >= low && value <= 1 << 16; });
}

}  // namespace

// Which of a product's factors is a vector: 0 or 1; -1: none; 2: both.
int Planner::VectorFactor(uint16_t n, const Shape& shape) {
  const std::vector<std::vector<Edge>>& operands = rule_.nodes[n].operands;
  const int ranks[] = {KnownRank(operands[0][0]), KnownRank(operands[1][0])};
  if (shape.empty()) return 2;
  for (const int i : {0, 1})
    if (ranks[i] == 1) return i;
  if (shape.size() > 1 && !Chance(0.1)) return -1;
  const int i = Pick(0, 1);
  const bool is_open = ranks[i] < 0 && !FlagOf(n, i == 0 ? "transpose_a" : "transpose_b");
  return is_open ? i : -1;
}

bool Planner::MatmulOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const Edge &a = node.operands[0][0], &b = node.operands[1][0];
  const int vector = VectorFactor(n, shape);
  const Unknown k = Fresh();
  if (vector == 2) return Demand(a, {k}) && Demand(b, {k});
  if (vector == 1) return Demand(a, Joined({shape, {k}})) && Demand(b, {k});
  if (vector == 0) {
    const Shape batches(shape.begin(), shape.end() - 1);
    return Demand(a, {k}) && Demand(b, Joined({batches, {k, shape.back()}}));
  }
  if (shape.size() < 2) return false;
  const size_t batch = shape.size() - 2;
  auto rank_of = [&](const Edge& edge) {
    int rank = KnownRank(edge);
    if (rank < 0) rank = Chance(0.75) ? static_cast<int>(shape.size()) : 2;
    return static_cast<size_t>(std::max(rank, 2));
  };
  size_t ra = rank_of(a), rb = rank_of(b);
  if (std::max(ra, rb) < shape.size()) {
    if (KnownRank(a) < 0) {
      ra = shape.size();
    } else if (KnownRank(b) < 0) {
      rb = shape.size();
    }
  }
  if (ra > shape.size() || rb > shape.size()) return false;
  Shape all(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(batch));
  Shape batch_a(all.end() - static_cast<ptrdiff_t>(ra - 2), all.end());
  Shape batch_b(all.end() - static_cast<ptrdiff_t>(rb - 2), all.end());
  Shape to_a = FlagOf(n, "transpose_a") ? Shape{k, shape[batch]} : Shape{shape[batch], k};
  Shape to_b = FlagOf(n, "transpose_b") ? Shape{shape[batch + 1], k} : Shape{k, shape[batch + 1]};
  return Demand(a, Joined({batch_a, to_a})) && Demand(b, Joined({batch_b, to_b}));
}

bool Planner::LinearOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.size() < 2) return false;
  Unknown k = Fresh(), columns = shape.back();
  Shape x = shape;
  x.back() = k;
  if (!Demand(node.operands[0][0], x)) return false;
  if (!Demand(node.operands[1][0],
              FlagOf(n, "transpose_w") ? Shape{columns, k} : Shape{k, columns}))
    return false;
  if (const Edge* bias = Operand(n, 2); bias != nullptr && !Demand(*bias, {columns})) return false;
  const Edge* residual = Operand(n, 3);
  return residual == nullptr || Demand(*residual, shape);
}

// Matrices and biases in turn. An Each stands for one layer or two.
bool Planner::LinearChainOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.size() < 2) return false;
  const bool transposed = FlagOf(n, "transpose_w"), biased = FlagOf(n, "biased");
  const size_t step = biased ? 2 : 1;
  std::vector<std::pair<const Edge*, uint16_t>> parameters;  // without an edge: one more of an Each
  for (const Edge& edge : node.operands[2]) {
    parameters.emplace_back(&edge, uint16_t{0});
    if (rule_.nodes[edge.node].kind != ValNode::Kind::kEach) continue;
    auto [more, inserted] = more_of_each_.try_emplace(edge.node);
    for (int i = inserted ? static_cast<int>(Chance(0.5) ? step : 2 * step) - 1 : 0; i > 0; --i) {
      more->second.push_back(next_id_++);
    }
    for (const uint16_t id : more->second) parameters.emplace_back(nullptr, id);
  }
  const Unknown first = Fresh();
  Unknown rows = first, columns = first;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i % step == 0)
      rows = columns, columns = i + step == parameters.size() ? shape.back() : Fresh();
    const Shape wanted = i % step == 1 ? Shape{columns}
                         : transposed  ? Shape{columns, rows}
                                       : Shape{rows, columns};
    const auto& [edge, id] = parameters[i];
    if (edge != nullptr) {
      if (!Demand(*edge, wanted)) return false;
      continue;
    }
    auto [planned, is_new] = shapes_.emplace(id, wanted);
    if (!is_new && !UnifyAll(planned->second, wanted)) return false;
  }
  Shape x = shape;
  x.back() = first;
  return Demand(node.operands[0][0], x);
}

bool Planner::QuantizedLinearOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.empty()) return false;
  const Unknown k = Fresh(), columns = shape.back();
  Shape x = shape;
  x.back() = k;
  if (!Demand(node.operands[0][0], x) || !Demand(node.operands[1][0], {k, columns})) return false;
  HintZeroPoints(n);
  const Edge *x_zero = Operand(n, 2), *w_zero = Operand(n, 3);
  if (x_zero != nullptr && !Demand(*x_zero, {})) return false;
  return w_zero == nullptr || Demand(*w_zero, Chance(0.5) ? Shape{columns} : Shape{});
}

void Planner::HintZeroPoints(uint16_t n) {
  const Edge *x_zero = Operand(n, 2), *w_zero = Operand(n, 3);
  for (const auto& [of, zero] : {std::pair(Operand(n, 0), x_zero), {Operand(n, 1), w_zero}}) {
    DType dtype = Chance(0.5) ? DType::kU8 : DType::kI8;
    for (const Edge* edge : {zero, of}) {
      if (edge == nullptr) continue;
      const auto hint = dtype_hints_.find(Through(*edge).node);
      if (hint != dtype_hints_.end()) dtype = hint->second;
    }
    for (const Edge* edge : {zero, of})
      if (edge != nullptr) dtype_hints_.emplace(Through(*edge).node, dtype);
  }
}

bool Planner::ReduceOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  const bool keepdims = FlagOf(n, "keepdims");
  AttrValue value = AttrOf(n, "axes", keepdims ? rank : rank + 1);
  const I64s* axes = std::get_if<I64s>(&value);
  if (axes == nullptr) return false;
  Shape from = shape;
  if (!keepdims) {
    for (int64_t axis : *axes) {
      if (axis < 0 || axis > static_cast<int64_t>(from.size())) return false;
      from.insert(from.begin() + axis, Fresh());
    }
    return Demand(node.operands[0][0], from);
  }
  for (int64_t axis : *axes) {
    if (axis < 0 || axis >= rank || !Unify(shape[static_cast<size_t>(axis)], Number(1)))
      return false;
    from[static_cast<size_t>(axis)] = Fresh();
  }
  return Demand(node.operands[0][0], from);
}

bool Planner::AxisOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  AttrOf(n, "axis", rank);
  return Demand(node.operands[0][0], shape);
}

bool Planner::NormOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.empty()) return false;
  const auto axis = static_cast<size_t>(IntOf(n, "axis", static_cast<int>(shape.size())));
  if (axis >= shape.size() || !Demand(node.operands[0][0], shape)) return false;
  const bool skip = node.info->name().starts_with("fused.skip");
  for (size_t g = 1; g < node.operands.size(); ++g) {
    const Edge* operand = Operand(n, g);
    if (operand == nullptr) continue;
    Shape actual;
    if (g == 1 && skip
            ? !DemandBroadcast(*operand, shape, actual)
            : !Demand(*operand, Shape(shape.begin() + static_cast<ptrdiff_t>(axis), shape.end()))) {
      return false;
    }
  }
  return true;
}

bool Planner::GroupNormOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank < 2) return false;
  const int64_t groups = IntOf(n, "groups", rank);
  if (groups < 1 || groups > kMaxElements) return false;
  if (!Known(shape[1])) Unify(shape[1], Number(groups * Pick(1, 2)));
  if (Value(shape[1]) % groups != 0 || !Demand(node.operands[0][0], shape)) return false;
  const size_t scale = node.operands.size() - 2;  // behind a skip, if the op has one
  for (size_t g = 1; g < node.operands.size(); ++g) {
    const Edge* edge = Operand(n, g);
    if (edge != nullptr && !Demand(*edge, g < scale ? shape : Shape{shape[1]})) return false;
  }
  return true;
}

bool Planner::BatchNormOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank < 2 || !Demand(node.operands[0][0], shape)) return false;
  for (size_t g = 1; g < 5; ++g) {
    if (!Demand(node.operands[g][0], {shape[1]})) return false;
  }
  positive_[Through(node.operands[4][0]).node] = true;
  return true;
}

bool Planner::GatedOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  const Edge* up = Operand(n, 1);
  if (up != nullptr) return Demand(node.operands[0][0], shape) && Demand(*up, shape);
  Shape packed = shape;
  packed.back() = Number(2 * Value(shape.back()));
  return Demand(node.operands[0][0], packed);
}

bool Planner::ConvOperands(uint16_t n, const Shape& shape) {
  if (!ConvImages(n, shape)) return false;
  if (const Edge* bias = Operand(n, 2); bias != nullptr && !Demand(*bias, {shape[1]})) return false;
  const Edge* residual = Operand(n, 3);
  return residual == nullptr || Demand(*residual, shape);
}

bool Planner::QuantizedConvOperands(uint16_t n, const Shape& shape) {
  if (!ConvImages(n, shape)) return false;
  HintZeroPoints(n);
  for (const size_t number : {size_t{2}, size_t{3}, size_t{6}}) {
    if (const Edge* edge = Operand(n, number); edge != nullptr && !Demand(*edge, {})) return false;
  }
  for (const size_t row : {size_t{4}, size_t{5}}) {
    const Edge* edge = Operand(n, row);
    if (edge != nullptr && !Demand(*edge, {shape[1]})) return false;
  }
  return true;
}

bool Planner::ConvImages(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank < 3 || rank > 4) return false;
  int64_t group = IntOf(n, "group", rank);
  if (group < 1 || group > kMaxElements) return false;
  if (!Known(shape[1])) Unify(shape[1], Number(group * Pick(1, 2)));
  if (Value(shape[1]) % group != 0) return false;
  const int64_t channels = group * Pick(1, 2);
  std::string pad = TextOf(n, "auto_pad");
  I64s strides = ListOf(n, "strides", rank), pads = ListOf(n, "pads", rank),
       dilations = ListOf(n, "dilations", rank);
  Shape x = {shape[0], Number(channels)}, w = {shape[1], Number(channels / group)};
  const size_t axes = shape.size() - 2;
  if (strides.size() != axes || pads.size() != 2 * axes || dilations.size() != axes) return false;
  if (!AreWithin(strides, 1) || !AreWithin(dilations, 1) || !AreWithin(pads, 0)) return false;
  for (size_t i = 0; i < axes; ++i) {
    int64_t in = Pick(1, 6), kernel = Pick(1, 3), reach = dilations[i] * (kernel - 1) + 1;
    int64_t padded = in + (pad == "NOTSET" ? pads[i] + pads[i + axes] : 0);
    int64_t out = pad.starts_with("SAME")
                      ? (in + strides[i] - 1) / strides[i]
                      : (padded < reach ? 0 : (padded - reach) / strides[i] + 1);
    if (out < 1 || !Unify(shape[i + 2], Number(out))) return false;
    x.push_back(Number(in));
    w.push_back(Number(kernel));
  }
  return Demand(node.operands[0][0], x) && Demand(node.operands[1][0], w);
}

bool Planner::ConvTransposeOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  const size_t axes = shape.size() < 2 ? 0 : shape.size() - 2;
  if (axes < 1 || axes > 2) return false;
  const I64s strides = ListOf(n, "strides", rank), pads = ListOf(n, "pads", rank),
             dilations = ListOf(n, "dilations", rank), more = ListOf(n, "output_padding", rank);
  if (strides.size() != axes || pads.size() != 2 * axes || dilations.size() != axes ||
      more.size() != axes)
    return false;
  if (!AreWithin(strides, 1) || !AreWithin(dilations, 1) || !AreWithin(pads, 0) ||
      !AreWithin(more, 0))
    return false;
  const int64_t channels = Pick(1, 3);
  Shape x = {shape[0], Number(channels)}, w = {Number(channels), shape[1]};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t in = Pick(2, 4), kernel = Pick(1, 3);
    const int64_t out = (in - 1) * strides[i] + dilations[i] * (kernel - 1) + 1 + more[i] -
                        pads[i] - pads[i + axes];
    if (out < 1 || !Unify(shape[i + 2], Number(out))) return false;
    x.push_back(Number(in));
    w.push_back(Number(kernel));
  }
  const Edge* bias = Operand(n, 2);
  return Demand(node.operands[0][0], x) && Demand(node.operands[1][0], w) &&
         (bias == nullptr || Demand(*bias, {shape[1]}));
}

bool Planner::RotaryOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  const int64_t rotated = IntOf(n, "rotary_dim", rank);
  Shape table = shape, ignored;
  if (rotated > 0) table.back() = Number(rotated);
  if (Value(table.back()) % 2 != 0 || Value(table.back()) > Value(shape.back())) return false;
  return Demand(node.operands[0][0], shape) &&
         DemandBroadcast(node.operands[1][0], table, ignored) &&
         DemandBroadcast(node.operands[2][0], table, ignored);
}

bool Planner::AttentionOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const bool fused = node.info->name() == "fused.attention";
  const Edge* q = Operand(n, 0);
  const bool joined = !fused && KnownRank(*q) == 3;
  int64_t heads = IntOf(n, fused ? "num_heads" : "q_num_heads", 4),
          kv = IntOf(n, "kv_num_heads", 4);
  Unknown h, g;
  if (fused || joined) {
    if (heads <= 0 || kv <= 0 || heads > kMaxElements || heads % kv != 0) return false;
    h = Number(heads), g = Number(kv);
  } else {
    h = Fresh(), g = Fresh();
  }
  Unknown batch = Fresh(), rows = Fresh(), columns = Fresh(), depth = Fresh(),
          value_depth = Fresh();
  auto layout_of = [&](const char* name) {
    return fused ? TextOf(n, name) : std::string(joined ? "bsh" : "bhsd");
  };
  auto shape_of = [&](const std::string& layout, Unknown count, Unknown length,
                      Unknown size) -> Shape {
    if (layout == "bsh") return {batch, length, Number(Value(count) * Value(size))};
    if (layout == "bshd") return {batch, length, count, size};
    return layout == "bhsd" ? Shape{batch, count, length, size} : Shape{batch, count, size, length};
  };
  // Split heads first: they say how large a head is.
  const Edge* edges[] = {q, Operand(n, 1), Operand(n, 2)};
  std::string layouts[] = {layout_of("q_layout"), layout_of("k_layout"), layout_of("v_layout")};
  if (fused) {
    for (int i = 0; i < 3; ++i) {
      const int64_t size = IntOr(n, i == 2 ? "v_head_dim" : "head_dim", -1);
      if (size >= 0 && !Unify(i == 2 ? value_depth : depth, Number(size))) return false;
    }
  }
  // The columns of layout bsh up to the end of the heads, in the widest operand of one value.
  const auto columns_of = [&](int of) {
    int64_t widest = 0;
    for (int i = 0; i < 3; ++i) {
      if (Through(*edges[i]).node != Through(*edges[of]).node) continue;
      const char* offset = i == 0 ? "q_offset" : i == 1 ? "k_offset" : "v_offset";
      const int64_t first = fused ? IntOr(n, offset, 0) : 0;
      widest =
          std::max(widest, first + Value(i == 0 ? h : g) * Value(i == 2 ? value_depth : depth));
    }
    return Number(widest);
  };
  for (bool split : {true, false}) {
    for (int i = 0; i < 3; ++i) {
      if ((layouts[i] != "bsh") != split) continue;
      Shape wanted = shape_of(layouts[i], i == 0 ? h : g, i == 0 ? rows : columns,
                              i == 2 ? value_depth : depth);
      if (!split) wanted.back() = columns_of(i);
      auto it = shapes_.find(Through(*edges[i]).node);
      if (it != shapes_.end() && it->second.size() == wanted.size() && split &&
          !UnifyAll(it->second, wanted))
        return false;
      if (!Demand(*edges[i], wanted)) return false;
    }
    if (split && layout_of("out_layout") != "bsh" &&
        !UnifyAll(shape, shape_of(layout_of("out_layout"), h, rows, value_depth))) {
      return false;
    }
  }
  if (!fused && !joined && (Value(g) == 0 || Value(h) % Value(g) != 0)) return false;
  if (!UnifyAll(shape, shape_of(layout_of("out_layout"), h, rows, value_depth))) return false;
  Unknown keys = columns;  // with those of the past
  const Edge *past_key = Operand(n, 6), *past_value = Operand(n, 7);
  if ((past_key == nullptr) != (past_value == nullptr)) return false;
  if (past_key != nullptr) {
    const Unknown before = Fresh();
    if (!Demand(*past_key, {batch, g, before, depth}) ||
        !Demand(*past_value, {batch, g, before, value_depth})) {
      return false;
    }
    keys = Number(Value(before) + Value(columns));
  }
  for (size_t group : {size_t{3}, size_t{4}}) {
    const Edge* mask = Operand(n, group);
    if (mask == nullptr) continue;
    Shape full = {batch, h, rows, keys}, actual;
    if (group == 3 && Chance(0.4)) boolean_[Through(*mask).node] = true;
    if (shapes_.count(Through(*mask).node) == 0 && Chance(0.5)) full[1] = Number(1);
    if (!DemandBroadcast(*mask, full, actual)) return false;
  }
  if (const Edge* mask = Operand(n, 5); mask != nullptr) {
    boolean_[Through(*mask).node] = true;
    if (!Demand(*mask, {batch, keys})) return false;
  }
  return true;
}

}  // namespace tenon::drr
