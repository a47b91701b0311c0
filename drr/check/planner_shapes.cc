// What is known of the ranks and shapes of a rule's values, and what operations ask of them.
#include <algorithm>
#include <set>

#include "drr/check/planner.h"
#include "fmt/format.h"

namespace tenon::drr {

Edge Planner::Through(Edge edge) const {
  while (true) {
    const Node& node = rule_.nodes[edge.node];
    if (node.kind == ValNode::Kind::kAnyOf) {
      edge = node.alternatives[static_cast<size_t>(alternatives_[edge.node])];
    } else if (node.kind == ValNode::Kind::kLet) {
      edge = node.alternatives[0];
    } else if (!node.chain.empty()) {
      edge = node.chain[0].op;
    } else {
      return edge;
    }
  }
}

const Edge* Planner::Operand(uint16_t n, size_t group) const {
  const Node& node = rule_.nodes[n];
  if (group >= node.operands.size() || node.operands[group].empty() ||
      IsAbsent(absent_, n, group, 0))
    return nullptr;
  return &node.operands[group][0];
}

bool IsReduction(std::string_view op) { return op.starts_with("ten.reduce_"); }

int Planner::KnownRank(const Edge& edge) {
  Ranks found;
  return KnownRank(edge, found);
}

int Planner::KnownRank(const Edge& unresolved, Ranks& found) {
  const Edge edge = Through(unresolved);
  const auto it = std::find_if(found.begin(), found.end(),
                               [&](const auto& known) { return known.first == edge.node; });
  if (it != found.end()) return it->second;
  const int rank = FindRank(edge, found);
  found.emplace_back(edge.node, rank);
  return rank;
}

int Planner::FindRank(const Edge& edge, Ranks& found) {
  if (auto it = shapes_.find(edge.node); it != shapes_.end())
    return static_cast<int>(it->second.size());
  if (auto it = rank_hints_.find(edge.node); it != rank_hints_.end()) return it->second;
  const Node& node = rule_.nodes[edge.node];
  if (node.kind != ValNode::Kind::kOp) return -1;
  std::string_view op = node.info->name();
  auto attr = [&](std::string_view name) -> const AttrCode* {
    for (const AttrCode& code : node.attrs) {
      if (node.info->slot_name(code.slot).str() == name) return &code;
    }
    return nullptr;
  };
  if (op == "ten.reshape") {
    const AttrCode* shape = attr("shape");
    return shape->kind == AttrCode::Kind::kDims ? static_cast<int>(shape->dims.size()) : -1;
  }
  if (op == "ten.transpose") {
    const AttrCode* perm = attr("perm");
    if (perm->kind == AttrCode::Kind::kLiteral)
      return static_cast<int>(perm->literal.ints().size());
  }
  if (op == "nn.max_pool" || op == "nn.average_pool") {
    const AttrCode* strides = attr("strides");
    if (strides->kind == AttrCode::Kind::kLiteral)
      return static_cast<int>(strides->literal.ints().size()) + 2;
  }
  if (op == "ten.einsum") {
    const std::string equation = attr("equation")->kind == AttrCode::Kind::kLiteral
                                     ? std::string(attr("equation")->literal.str())
                                     : "";
    const size_t arrow = equation.find("->");
    if (arrow == std::string::npos) return -1;
    return static_cast<int>(std::count_if(equation.begin() + static_cast<ptrdiff_t>(arrow) + 2,
                                          equation.end(), [](char c) { return c != ' '; }));
  }
  if (op == "fused.attention") {
    const AttrCode* layout = attr("out_layout");
    if (layout->kind == AttrCode::Kind::kLiteral) return layout->literal.str() == "bsh" ? 3 : 4;
    return -1;
  }
  if (op == "ten.nonzero") return 2;
  if (op == "ten.range" || op == "ten.shape") return 1;
  if (op == "ten.gather_nd") return -1;
  if (op == "fused.embedding") {
    const std::vector<Edge>& lookups = node.operands.back();  // ids come first
    const int rank = lookups.empty() ? -1 : KnownRank(lookups[0], found);
    return rank < 0 ? -1 : rank + 1;
  }
  if ((op == "ten.argmax" || op == "ten.argmin") && !FlagOf(edge.node, "keepdims")) {
    const int rank = KnownRank(node.operands[0][0], found);
    return rank < 0 ? -1 : rank - 1;
  }
  if (op == "ten.unique" && (edge.result > 0 || FlagOf(edge.node, "flat"))) return 1;
  if (op == "ten.dynamic_reshape" || op == "ten.dynamic_squeeze" || op == "ten.dynamic_unsqueeze" ||
      op == "ten.dynamic_reduce" || op == "ten.dynamic_expand")
    return -1;
  if (op == "nn.recurrence") return edge.result == 0 ? 3 : 2;
  if (op == "ten.gather") {
    const int table = KnownRank(node.operands[0][0], found);
    const int ids = KnownRank(node.operands[1][0], found);
    return table > 0 && ids >= 0 ? table - 1 + ids : -1;
  }
  if (op == "ten.matmul") {
    const int a = KnownRank(node.operands[0][0], found);
    const int b = KnownRank(node.operands[1][0], found);
    if (a == 1 || b == 1) return a < 0 || b < 0 ? -1 : std::max(a, b) - 1;
  }
  if (!node.info->Has(Trait::kElementwise) && op != "ten.matmul") {
    const Edge* first = Operand(edge.node, 0);
    const int rank = first != nullptr ? KnownRank(*first, found) : -1;
    if (rank < 0 || !IsReduction(op) || FlagOf(edge.node, "keepdims")) return rank;
    const AttrCode* axes = attr("axes");
    const auto dropped = static_cast<int>(
        axes->kind == AttrCode::Kind::kLiteral ? axes->literal.ints().size()
        : axes->kind == AttrCode::Kind::kAxes  ? std::get<I64s>(axes->source->literal).size()
                                               : rank + 1);
    return std::max(rank - dropped, -1);
  }
  // The largest rank counts, but a variable of unknown rank may be larger than known variables.
  int of_ops = -1, of_variables = -1;
  bool open = false;
  for (size_t g = 0; g < node.operands.size(); ++g) {
    const Edge* operand = Operand(edge.node, g);
    if (operand == nullptr) continue;
    ValNode::Kind kind = rule_.nodes[Through(*operand).node].kind;
    if (kind == ValNode::Kind::kSplat) continue;
    int rank = KnownRank(*operand, found);
    open |= rank < 0;
    int& most = kind == ValNode::Kind::kOp ? of_ops : of_variables;
    most = std::max(most, rank);
  }
  if (of_ops >= 0 && !(open && OpenRanks())) return std::max(of_ops, of_variables);
  return open ? -1 : of_variables;
}

bool Planner::CanShrink(const Edge& unresolved) {
  Edge edge = Through(unresolved);
  const Node& node = rule_.nodes[edge.node];
  if (node.kind != ValNode::Kind::kOp) return false;
  if (IsReduction(node.info->name())) return FlagOf(edge.node, "keepdims");
  if (!node.info->Has(Trait::kElementwise)) return false;
  for (size_t g = 0; g < node.operands.size(); ++g) {
    const Edge* operand = Operand(edge.node, g);
    if (operand == nullptr || rule_.nodes[Through(*operand).node].kind == ValNode::Kind::kSplat)
      continue;
    if (!CanShrink(*operand)) return false;
  }
  return true;
}

// The last `rank` dimensions, some of them 1.
Shape Planner::Broadcastable(const Shape& shape, int rank) {
  Shape result(shape.end() - rank, shape.end());
  for (Unknown& u : result) {
    if (Chance(0.2)) u = Number(1);
  }
  return result;
}

bool Planner::ShareShape(uint16_t variable) {
  const Shape shape = shapes_.at(variable);
  for (const std::vector<uint16_t>& alike : alike_) {
    if (std::find(alike.begin(), alike.end(), variable) == alike.end()) continue;
    for (const uint16_t other : alike) {
      const auto [it, inserted] = shapes_.emplace(other, shape);
      if (!inserted && !UnifyAll(it->second, shape)) return false;
    }
  }
  return true;
}

bool Planner::Demand(const Edge& unresolved, const Shape& shape) {
  Edge edge = Through(unresolved);
  const uint16_t n = edge.node;
  const Node& node = rule_.nodes[n];
  if (auto hint = rank_hints_.find(n);
      hint != rank_hints_.end() && hint->second != static_cast<int>(shape.size())) {
    return false;
  }
  if (node.kind == ValNode::Kind::kOp && node.info->name() == "ten.split") {
    return SplitOperand(n, edge.result, shape);  // its results differ in shape
  }
  if (node.kind == ValNode::Kind::kOp && node.info->name() == "ten.unique")
    return UniqueOperand(n, edge.result, shape);
  auto [it, inserted] = shapes_.emplace(n, shape);
  if (!inserted && !UnifyAll(it->second, shape)) return false;
  if (node.kind != ValNode::Kind::kOp) return ShareShape(n);
  if (std::find(live_ops_.begin(), live_ops_.end(), n) != live_ops_.end()) return true;
  live_ops_.push_back(n);
  return DemandOp(n, shape);
}

bool Planner::DemandBroadcast(const Edge& unresolved, const Shape& shape, Shape& actual) {
  Edge edge = Through(unresolved);
  const uint16_t n = edge.node;
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (auto it = shapes_.find(n); it != shapes_.end()) {
    actual = it->second;
    if (actual.size() > shape.size()) return false;
    size_t skip = shape.size() - actual.size();
    for (size_t i = 0; i < actual.size(); ++i) {
      Unknown u = Find(actual[i]);
      if (values_[u] != 1 && !Unify(u, shape[i + skip])) return false;
    }
    return node.kind != ValNode::Kind::kOp || Demand(edge, actual);
  }
  if (node.kind == ValNode::Kind::kSplat) {
    // A scalar, ones, or all of the shape.
    if (Chance(0.6)) {
      actual = {};
    } else if (Chance(0.5)) {
      for (int i = Pick(0, rank); i > 0; --i) actual.push_back(Number(1));
    } else {
      actual = shape;
    }
    shapes_[n] = actual;
    return true;
  }
  if (node.kind != ValNode::Kind::kOp) {
    auto hint = rank_hints_.find(n);
    if (hint != rank_hints_.end()) {
      if (hint->second > rank) return false;
      actual = Broadcastable(shape, hint->second);
    } else {
      actual = Chance(0.5) ? shape : Broadcastable(shape, Pick(0, rank));
    }
    shapes_[n] = actual;
    return ShareShape(n);
  }
  if (!CanShrink(edge)) {
    const int known = KnownRank(edge);
    actual = known >= 0 && known < rank  ? Broadcastable(shape, known)
             : known < 0 && Chance(0.15) ? Broadcastable(shape, Pick(0, rank))
             : Chance(0.05)              ? Broadcastable(shape, rank)
                                         : shape;
    return Demand(edge, actual);
  }
  if (std::find(live_ops_.begin(), live_ops_.end(), n) == live_ops_.end()) live_ops_.push_back(n);
  if (IsReduction(node.info->name())) {
    AttrValue axes = AttrOf(n, "axes", rank);
    if (!std::holds_alternative<I64s>(axes)) return false;
    actual = shape;
    for (int64_t axis : std::get<I64s>(axes)) {
      if (axis < 0 || axis >= rank) return false;
      actual[static_cast<size_t>(axis)] = Number(1);
    }
    shapes_[n] = actual;
    return Demand(node.operands[0][0], shape);
  }
  std::vector<Shape> parts;
  for (size_t g = 0; g < node.operands.size(); ++g) {
    const Edge* operand = Operand(n, g);
    if (operand == nullptr || rule_.nodes[Through(*operand).node].kind == ValNode::Kind::kSplat)
      continue;
    parts.emplace_back();
    if (!DemandBroadcast(*operand, shape, parts.back())) return false;
  }
  actual.clear();
  for (const Shape& part : parts) {
    while (actual.size() < part.size()) actual.insert(actual.begin(), Number(1));
    for (size_t i = 0; i < part.size(); ++i) {
      Unknown& u = actual[actual.size() - part.size() + i];
      if (values_[Find(u)] == 1) u = part[i];
    }
  }
  shapes_[n] = actual;
  for (size_t g = 0; g < node.operands.size(); ++g) {
    const Edge* operand = Operand(n, g);
    Shape ignored;
    if (operand != nullptr && rule_.nodes[Through(*operand).node].kind == ValNode::Kind::kSplat &&
        !DemandBroadcast(*operand, actual, ignored)) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon::drr
