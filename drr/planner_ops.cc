// What each op demands of its operands, and random attributes.
#include <algorithm>
#include <limits>
#include <numeric>

#include "drr/planner.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

Shape Joined(std::initializer_list<Shape> parts) {
  Shape all;
  for (const Shape& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Shape Front(const Shape& shape, size_t n) {
  return Shape(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(n));
}

}  // namespace

bool Planner::DemandOp(uint16_t n, int result, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const std::string_view op = node.info->name();
  const int rank = static_cast<int>(shape.size());
  if (node.info->Has(Trait::kElementwise)) return Elementwise(n, shape);
  if (op == "ten.matmul") return MatmulOperands(n, shape);
  if (op == "ten.reshape") return ReshapeOperand(n, shape);
  if (op == "fused.linear") return LinearOperands(n, shape);
  if (op == "nn.conv" || op == "fused.conv") return ConvOperands(n, shape);
  if (op == "nn.attention" || op == "fused.attention") return AttentionOperands(n, shape);
  if (op == "nn.layer_norm" || op == "nn.rms_norm" || op == "fused.skip_layer_norm" ||
      op == "fused.skip_rms_norm") {
    return NormOperands(n, shape);
  }
  if (op == "nn.softmax" || op == "nn.log_softmax" || op == "ten.cumsum") {
    if (rank == 0) return false;
    AttrOf(n, "axis", rank);
    return Demand(node.operands[0][0], shape);
  }
  if (op == "nn.group_norm") {
    if (rank < 2) return false;
    const int64_t groups = IntOf(n, "groups", rank);
    if (!Known(shape[1])) Unify(shape[1], Number(groups * Pick(1, 2)));
    if (groups < 1 || Value(shape[1]) % groups != 0 || !Demand(node.operands[0][0], shape))
      return false;
    for (size_t g = 1; g < 3; ++g) {
      if (const Edge* edge = Operand(n, g); edge != nullptr && !Demand(*edge, {shape[1]}))
        return false;
    }
    return true;
  }
  if (op == "fused.gated") {
    if (rank == 0) return false;
    const Edge* up = Operand(n, 1);
    if (up != nullptr) return Demand(node.operands[0][0], shape) && Demand(*up, shape);
    Shape packed = shape;
    packed.back() = Number(2 * Value(shape.back()));
    return Demand(node.operands[0][0], packed);
  }
  if (op == "nn.conv_transpose") {
    const size_t axes = shape.size() < 2 ? 0 : shape.size() - 2;
    if (axes < 1 || axes > 2) return false;
    const I64s strides = std::get<I64s>(AttrOf(n, "strides", rank)),
               pads = std::get<I64s>(AttrOf(n, "pads", rank)),
               dilations = std::get<I64s>(AttrOf(n, "dilations", rank)),
               more = std::get<I64s>(AttrOf(n, "output_padding", rank));
    if (strides.size() != axes || pads.size() != 2 * axes || dilations.size() != axes ||
        more.size() != axes)
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
  // Slices of which the rule says nothing: halves of the last axis.
  const bool open_slice =
      op == "ten.slice" && std::all_of(node.attrs.begin(), node.attrs.end(), [](const auto& code) {
        return code.kind == AttrCode::Kind::kVariable;
      });
  if (open_slice) {
    if (rank == 0) return false;
    const int64_t half = Value(shape.back()), start = Chance(0.5) ? half : 0;
    for (const AttrCode& code : node.attrs) {
      const std::string_view name = node.info->slot_name(code.slot).str();
      attrs_[code.variable] = I64s{name == "axes"     ? rank - 1
                                   : name == "starts" ? start
                                   : name == "ends"   ? start + half
                                                      : 1};
    }
    Shape whole = shape;
    whole.back() = Number(2 * half);
    return Demand(node.operands[0][0], whole);
  }
  if (op == "ten.gather" || op == "fused.embedding") return LookupOperands(n, shape);
  if (op == "ten.pad") {
    AttrValue value = AttrOf(n, "pads", rank);
    const I64s* pads = std::get_if<I64s>(&value);
    if (pads == nullptr || pads->size() != 2 * shape.size()) return false;
    Shape from = shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t extent = Value(shape[i]) - (*pads)[i] - (*pads)[i + shape.size()];
      if (extent < 1) return false;
      if (extent != Value(shape[i])) from[i] = Number(extent);
    }
    const Edge* fill = Operand(n, 1);
    return Demand(node.operands[0][0], from) && (fill == nullptr || Demand(*fill, {}));
  }
  if (op == "ten.cast") return Demand(node.operands[0][0], shape);
  if (op == "ten.transpose") {
    AttrValue perm = AttrOf(n, "perm", rank);
    const I64s* axes = std::get_if<I64s>(&perm);
    if (axes == nullptr || axes->size() != shape.size()) return false;
    Shape from(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) from[static_cast<size_t>((*axes)[i])] = shape[i];
    return Demand(node.operands[0][0], from);
  }
  if (op.starts_with("ten.reduce_")) {
    const bool keepdims = FlagOf(n, "keepdims");
    AttrValue value = AttrOf(n, "axes", keepdims ? rank : rank + 1);
    const I64s* axes = std::get_if<I64s>(&value);
    if (axes == nullptr) return false;
    Shape from = shape;
    if (!keepdims) {
      for (int64_t axis : *axes) {
        if (axis > static_cast<int64_t>(from.size())) return false;
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
  if (op == "nn.batch_norm") {
    if (rank < 2 || !Demand(node.operands[0][0], shape)) return false;
    for (size_t g = 1; g < 5; ++g) {
      if (!Demand(node.operands[g][0], {shape[1]})) return false;
    }
    positive_[Through(node.operands[4][0]).node] = true;
    return true;
  }
  if (op == "ten.expand") {
    const Edge& from = node.operands[0][0];
    auto it = shapes_.find(Through(from).node);
    return Demand(from, it != shapes_.end() ? it->second : Broadcastable(shape, rank));
  }
  if (op == "ten.slice") return SliceOperand(n, shape);
  if (op == "fused.rotary") {
    if (rank == 0) return false;
    const int64_t rotated = IntOf(n, "rotary_dim", rank);
    Shape table = shape, ignored;
    if (rotated > 0) table.back() = Number(rotated);
    if (Value(table.back()) % 2 != 0 || Value(table.back()) > Value(shape.back())) return false;
    return Demand(node.operands[0][0], shape) &&
           DemandBroadcast(node.operands[1][0], table, ignored) &&
           DemandBroadcast(node.operands[2][0], table, ignored);
  }
  if (op == "ten.concat") {
    if (rank == 0) return false;
    auto axis = static_cast<size_t>(IntOf(n, "axis", rank));
    int64_t sum = 0;
    for (const Edge& edge : node.operands[0]) {
      Shape part = shape;
      part[axis] = Fresh();
      if (!Demand(edge, part)) return false;
      sum += Value(part[axis]);
    }
    return Unify(shape[axis], Number(sum));
  }
  (void)result;
  why_ = fmt::format("shapes of {} cannot be planned: add it to drr/planner_ops.cc", op);
  return false;
}

bool Planner::SplitOperand(uint16_t n, int result, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  if (std::find(live_ops_.begin(), live_ops_.end(), n) == live_ops_.end()) live_ops_.push_back(n);
  const auto axis = static_cast<size_t>(IntOf(n, "axis", rank));
  const AttrCode* sizes = nullptr;
  for (const AttrCode& code : node.attrs) {
    if (code.kind == AttrCode::Kind::kDims) sizes = &code;
  }
  if (sizes == nullptr || axis >= shape.size() ||
      static_cast<size_t>(result) >= sizes->dims.size()) {
    why_ = "a split whose sizes are not written out cannot be planned";
    return false;
  }
  if (!Unify(shape[axis], DimUnknown(sizes->dims[static_cast<size_t>(result)]))) return false;
  // The sum waits for FinishSplits: other results may still say how large their parts are.
  auto [whole, inserted] = splits_.emplace(n, Split{sizes, -1});
  if (inserted) whole->second.whole = Fresh();
  Shape from = shape;
  from[axis] = whole->second.whole;
  return Demand(node.operands[0][0], from);
}

bool Planner::FinishSplits() {
  for (auto& [n, split] : splits_) {
    int64_t sum = 0;
    for (uint16_t size : split.sizes->dims) sum += Value(DimUnknown(size));
    if (!Unify(split.whole, Number(sum))) return false;
  }
  return true;
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
  choose([&](const Edge& e) {
    return rule_.nodes[Through(e).node].kind == ValNode::Kind::kOp && !CanShrink(e);
  });
  choose([&](const Edge& e) {
    const uint16_t v = Through(e).node;
    auto hint = rank_hints_.find(v);
    return rule_.nodes[v].kind == ValNode::Kind::kVariable &&
           (hint == rank_hints_.end() || hint->second == static_cast<int>(shape.size()));
  });
  choose([&](const Edge& e) { return rule_.nodes[Through(e).node].kind != ValNode::Kind::kSplat; });
  choose([](const Edge&) { return true; });
  if (full != nullptr && !Demand(*full, shape)) return false;
  for (const Edge* edge : rest) {
    Shape actual;
    if (edge != full && !DemandBroadcast(*edge, shape, actual)) return false;
  }
  return true;
}

// A slice of one axis from the front.
bool Planner::SliceOperand(uint16_t n, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  AttrValue axes = AttrOf(n, "axes", rank), steps = AttrOf(n, "steps", rank),
            starts = AttrOf(n, "starts", rank), ends = AttrOf(n, "ends", rank);
  const I64s *axis = std::get_if<I64s>(&axes), *step = std::get_if<I64s>(&steps),
             *start = std::get_if<I64s>(&starts), *end = std::get_if<I64s>(&ends);
  if (axis == nullptr || step == nullptr || start == nullptr || axis->size() != 1 || rank == 0) {
    return false;
  }
  const Unknown out = shape[static_cast<size_t>((*axis)[0])];
  Shape from = shape;
  if (end != nullptr) {  // of what may be longer
    const int64_t length = ((*end)[0] - (*start)[0] + (*step)[0] - 1) / (*step)[0];
    if (length < 0 || !Unify(out, Number(length))) return false;
    from[static_cast<size_t>((*axis)[0])] = Fresh();
  } else {
    const int64_t length = (*start)[0] + Value(out) * (*step)[0];
    // Strided slices from 0 and from 1 take turns.
    from[static_cast<size_t>((*axis)[0])] =
        Number((*step)[0] > 1 ? Value(out) * (*step)[0] : length);
    any_attrs_[std::pair(n, rule_.nodes[n].info->FindSlot("ends"))] = I64s{length};
  }
  return Demand(rule_.nodes[n].operands[0][0], from);
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

bool Planner::MatmulOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.size() < 2) return false;
  const size_t batch = shape.size() - 2;
  const Edge &a = node.operands[0][0], &b = node.operands[1][0];
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
  Unknown k = Fresh();
  Shape batch_a(all.end() - static_cast<ptrdiff_t>(ra - 2), all.end());
  Shape batch_b(all.end() - static_cast<ptrdiff_t>(rb - 2), all.end());
  Shape to_a = FlagOf(n, "transpose_a") ? Shape{k, shape[batch]} : Shape{shape[batch], k};
  Shape to_b = FlagOf(n, "transpose_b") ? Shape{shape[batch + 1], k} : Shape{k, shape[batch + 1]};
  return Demand(a, Joined({batch_a, to_a})) && Demand(b, Joined({batch_b, to_b}));
}

bool Planner::ReshapeOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const AttrCode& code = node.attrs[0];
  if (code.kind == AttrCode::Kind::kDims) {
    for (size_t i = 0; i < code.dims.size(); ++i) {
      if (i >= shape.size() || !Unify(shape[i], DimUnknown(code.dims[i]))) return false;
    }
  }
  const Edge& from = node.operands[0][0];
  if (int rank = KnownRank(from); rank >= 0) {
    auto it = shapes_.find(Through(from).node);
    return Demand(from, it != shapes_.end() ? it->second : FreshShape(rank));
  }
  std::vector<int64_t> extents = Values(shape);
  int64_t size = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  Shape regrouped;
  // Rows, the shape of the root with this last axis, or factors in any grouping.
  int64_t last = extents.empty() ? 1 : extents.back();
  int64_t root_rows = 1;
  for (size_t i = 0; i + 1 < root_shape_.size(); ++i)
    root_rows *= Known(root_shape_[i]) ? Value(root_shape_[i]) : 0;
  if (!root_shape_.empty() && root_rows * last == size && Chance(0.5)) {
    regrouped = Front(root_shape_, root_shape_.size() - 1);
    regrouped.push_back(Number(last));
  } else if (last == 1 && extents.size() > 1 && Chance(0.4)) {  // without an axis of 1
    for (size_t i = 0; i + 1 < extents.size(); ++i) regrouped.push_back(Number(extents[i]));
  } else if (Chance(0.4)) {
    regrouped = {Number(last == 0 ? 0 : size / last), Number(last)};
  } else {
    int64_t group = 1;
    for (int64_t extent : extents) {
      if (Chance(0.5)) {
        regrouped.push_back(Number(group));
        group = 1;
      }
      group *= extent;
    }
    regrouped.push_back(Number(group));
  }
  return Demand(from, regrouped);
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

// Rows of tables [rows, size], picked by ids; what else is added has the shape of the result.
bool Planner::LookupOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  if (shape.empty()) return false;
  const bool embedding = node.info->name() == "fused.embedding";
  const Shape outer(shape.begin(), shape.end() - 1);
  for (size_t pair = 0; pair < (embedding ? 6u : 2u); pair += 2) {
    const Edge* ids = Operand(n, embedding ? pair : 1);
    const Edge* table = Operand(n, embedding ? pair + 1 : 0);
    if ((ids == nullptr) != (table == nullptr)) return false;
    if (ids == nullptr) continue;
    const int64_t rows = Pick(1, 4);
    index_[Through(*ids).node] = rows;
    if (!Demand(*table, {Number(rows), shape.back()}) || !Demand(*ids, outer)) return false;
  }
  for (size_t g = 6; embedding && g < 9; ++g) {
    const Edge* operand = Operand(n, g);
    if (operand != nullptr && !Demand(*operand, g == 6 ? shape : Shape{shape.back()})) return false;
  }
  return true;
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

bool Planner::ConvOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank < 3 || rank > 4) return false;
  int64_t group = IntOf(n, "group", rank);
  if (!Known(shape[1])) Unify(shape[1], Number(group * Pick(1, 2)));
  if (Value(shape[1]) % group != 0) return false;
  const int64_t channels = group * Pick(1, 2);
  std::string pad = TextOf(n, "auto_pad");
  I64s strides = std::get<I64s>(AttrOf(n, "strides", rank)),
       pads = std::get<I64s>(AttrOf(n, "pads", rank)),
       dilations = std::get<I64s>(AttrOf(n, "dilations", rank));
  Shape x = {shape[0], Number(channels)}, w = {shape[1], Number(channels / group)};
  const size_t axes = shape.size() - 2;
  if (strides.size() != axes || pads.size() != 2 * axes || dilations.size() != axes) return false;
  for (size_t i = 0; i < axes; ++i) {
    int64_t in = Pick(3, 6), kernel = Pick(1, 3), reach = dilations[i] * (kernel - 1) + 1;
    int64_t padded = in + (pad == "NOTSET" ? pads[i] + pads[i + axes] : 0);
    int64_t out = pad.starts_with("SAME")
                      ? (in + strides[i] - 1) / strides[i]
                      : (padded < reach ? 0 : (padded - reach) / strides[i] + 1);
    if (out < 1 || !Unify(shape[i + 2], Number(out))) return false;
    x.push_back(Number(in));
    w.push_back(Number(kernel));
  }
  if (!Demand(node.operands[0][0], x) || !Demand(node.operands[1][0], w)) return false;
  if (const Edge* bias = Operand(n, 2); bias != nullptr && !Demand(*bias, {shape[1]})) return false;
  const Edge* residual = Operand(n, 3);
  return residual == nullptr || Demand(*residual, shape);
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
    if (heads <= 0 || kv <= 0 || heads % kv != 0) return false;
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
  for (bool split : {true, false}) {
    for (int i = 0; i < 3; ++i) {
      if ((layouts[i] != "bsh") != split) continue;
      Shape wanted = shape_of(layouts[i], i == 0 ? h : g, i == 0 ? rows : columns,
                              i == 2 ? value_depth : depth);
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

// ---- attributes
// ---------------------------------------------------------------------------------------------

std::optional<int64_t> Planner::DimValue(uint16_t index) {
  const DimCode& code = rule_.dims[index];
  switch (code.kind) {
    case DimNode::Kind::kConstant:
      return code.constant.constant();
    case DimNode::Kind::kVariable:
      return Value(dim_unknowns_[code.variable]);
    case DimNode::Kind::kAny:
      return std::nullopt;
    default:
      break;
  }
  std::optional<int64_t> a = DimValue(code.a), b = DimValue(code.b);
  if (!a || !b) return std::nullopt;
  return code.kind == DimNode::Kind::kAdd   ? *a + *b
         : code.kind == DimNode::Kind::kSub ? *a - *b
                                            : *a * *b;
}

Unknown Planner::DimUnknown(uint16_t index) {
  if (rule_.dims[index].kind == DimNode::Kind::kVariable)
    return dim_unknowns_[rule_.dims[index].variable];
  std::optional<int64_t> value = DimValue(index);
  return value ? Number(*value) : Fresh();
}

AttrValue Planner::RandomAttr(const OpInfo& info, const AttrDef& def, int rank) {
  const std::string& name = def.name;
  const size_t axes = rank > 2 ? static_cast<size_t>(rank - 2) : 0;
  auto some = [&](std::initializer_list<double> list) {
    return list.begin()[Pick(0, static_cast<int>(list.size()) - 1)];
  };
  auto each = [&](size_t count, int low, int high) {
    I64s values;
    for (size_t i = 0; i < count; ++i) values.push_back(Pick(low, high));
    return values;
  };
  switch (def.type) {
    case AttrType::kBool:
    case AttrType::kUnit:
      return Chance(0.5);
    case AttrType::kI64:
      if (name == "axis") return static_cast<int64_t>(Pick(0, std::max(rank - 1, 0)));
      if (name == "window") return static_cast<int64_t>(Pick(0, 2));
      return static_cast<int64_t>(Pick(1, 2));
    case AttrType::kF32:
    case AttrType::kF64:
      if (name == "epsilon") return some({1.0 / 1024, 1.0 / 16, 0.5});
      if (name == "scale" && info.name() == "nn.attention") return some({0, 0.375, 1.25});
      if (name == "softcap") return some({0, 0, 3});
      if (name == "mask_value") return some({-std::numeric_limits<double>::infinity(), -8});
      if (name == "min") return some({-1, -0.25, 0});
      if (name == "max") return some({0.5, 1, 6});
      return some({0.125, 0.375, 0.5, 1.25});
    case AttrType::kEnum:
      if (Chance(0.5) && !def.enums.empty()) return def.enums[0];
      return def.enums[static_cast<size_t>(Pick(0, static_cast<int>(def.enums.size()) - 1))];
    case AttrType::kI64s: {
      I64s all(static_cast<size_t>(rank));
      std::iota(all.begin(), all.end(), 0);
      if (name == "perm") {
        std::shuffle(all.begin(), all.end(), random_);
        return all;
      }
      if (name == "axes") {
        if (Chance(0.6) || rank < 2)
          return I64s(all.begin() + Pick(0, std::max(rank - 1, 0)), all.end());
        if (Chance(0.6)) return I64s{Pick(0, rank - 1)};
        I64s some_axes;
        for (int64_t axis : all) {
          if (Chance(0.5)) some_axes.push_back(axis);
        }
        if (some_axes.empty()) some_axes.push_back(Pick(0, rank - 1));
        return some_axes;
      }
      if (name == "pads") return each(2 * axes, 0, 1);
      if (name == "output_padding") return each(axes, 0, 0);
      return each(axes, 1, 2);
    }
    case AttrType::kType: {
      static constexpr DType kTypes[] = {DType::kF16, DType::kF32, DType::kF64};
      return kTypes[Pick(0, 2)];
    }
    case AttrType::kDims:
      if (name == "pads") {  // of images: space only, as a rule
        I64s pads = each(2 * static_cast<size_t>(rank), 0, 1);
        for (size_t i = 0; i < pads.size(); ++i) {
          if (rank > 2 && i % static_cast<size_t>(rank) < 2 && Chance(0.9)) pads[i] = 0;
        }
        return pads;
      }
      return {};
    default:
      return {};
  }
}

AttrValue Planner::ReadCode(const AttrCode& code, const OpInfo& info, int slot, int rank) {
  switch (code.kind) {
    case AttrCode::Kind::kLiteral:
      return ToAttrValue(code.literal);
    case AttrCode::Kind::kAxis:
      return std::get<int64_t>(code.source->literal) + rank;
    case AttrCode::Kind::kAxes: {
      I64s axes = std::get<I64s>(code.source->literal);
      for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
      return axes;
    }
    case AttrCode::Kind::kVariable: {
      auto it = attrs_.find(code.variable);
      if (it != attrs_.end()) return it->second;
      static constexpr double kNumbers[] = {0.5, 2, 0.25, 1.5, 3, 0.0625, -0.75};
      AttrValue value = slot < 0
                            ? AttrValue(kNumbers[Pick(0, 6)])
                            : RandomAttr(info, info.def().attrs[static_cast<size_t>(slot)], rank);
      attrs_[code.variable] = value;
      return value;
    }
    case AttrCode::Kind::kDim: {
      std::optional<int64_t> value = DimValue(code.dims[0]);
      return value ? AttrValue(*value) : AttrValue();
    }
    case AttrCode::Kind::kDims: {
      I64s dims;
      for (uint16_t dim : code.dims) dims.push_back(DimValue(dim).value_or(1));
      return dims;
    }
    case AttrCode::Kind::kAny:
      return RandomAttr(info, info.def().attrs[static_cast<size_t>(slot)], rank);
    case AttrCode::Kind::kCompute:
      why_ = "computed attributes in a source graph cannot be planned";
      return {};
  }
  return {};
}

AttrValue Planner::AttrOf(uint16_t n, std::string_view name, int rank) {
  const Node& node = rule_.nodes[n];
  int slot = node.info->FindSlot(name);
  for (const AttrCode& code : node.attrs) {
    if (code.slot != slot) continue;
    if (code.kind != AttrCode::Kind::kAny) return ReadCode(code, *node.info, slot, rank);
    auto [it, inserted] = any_attrs_.emplace(std::pair(n, slot), AttrValue());
    if (inserted) it->second = ReadCode(code, *node.info, slot, rank);
    return it->second;
  }
  return {};
}

}  // namespace tenon::drr
