// The walk that plans shapes: from the roots down, each op tells its operands what shapes they must
// have.
#include "drr/check/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "fmt/format.h"

namespace tenon::drr {

Planner::Planner(const PlanFacts& facts, Context& context, std::mt19937_64& random)
    : facts_(facts), rule_(facts.rule), context_(context), random_(random) {
  next_id_ = static_cast<uint16_t>(rule_.nodes.size());
  constexpr size_t kMostUnknowns = 64;  // of most programs
  parents_.reserve(kMostUnknowns);
  values_.reserve(kMostUnknowns);
  empty_ = Chance(0.15);
  sparse_ = Chance(0.15);
  if (Chance(0.2)) magnitude_ = 8;
  spread_ = Chance(0.25);
  // NaN matters where the graph compares or asks an input for it; where it asks what it has
  // computed, masks make them.
  has_nan_ = facts.compares && Chance(0.25);
  masked_ = facts.asks_for_masks && Chance(0.3);
}

// ---- unknowns

Unknown Planner::Fresh() {
  parents_.push_back(static_cast<Unknown>(parents_.size()));
  values_.push_back(-1);
  return parents_.back();
}

Unknown Planner::Number(int64_t value) {
  if (value < 0) {
    why_ = fmt::format("an extent would be {}", value);
    impossible_ = true;
    value = 0;
  }
  Unknown u = Fresh();
  values_[u] = value;
  return u;
}

Unknown Planner::Find(Unknown u) {
  while (parents_[u] != u) u = parents_[u] = parents_[parents_[u]];
  return u;
}

bool Planner::Unify(Unknown a, Unknown b) {
  a = Find(a), b = Find(b);
  if (a == b) return true;
  if (values_[a] >= 0 && values_[b] >= 0) return values_[a] == values_[b];
  if (values_[a] < 0) std::swap(a, b);
  parents_[b] = a;
  return true;
}

bool Planner::UnifyAll(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Unify(a[i], b[i])) return false;
  }
  return true;
}

int64_t Planner::Extent() {
  static constexpr int64_t kExtents[] = {1, 1, 2, 2, 3, 3, 4, 5};
  if (empty_ && Chance(0.4)) return 0;
  // What a number of the rule cuts off shows at extents beside it.
  const std::vector<int64_t>& written = facts_.written;
  if (!written.empty() && Chance(0.2))
    return std::max<int64_t>(
        1,
        written[static_cast<size_t>(Pick(0, static_cast<int>(written.size()) - 1))] + Pick(-1, 2));
  return Chance(0.04) ? Pick(6, 9) : kExtents[Pick(0, 7)];
}

int64_t Planner::Value(Unknown u) {
  u = Find(u);
  if (values_[u] < 0) values_[u] = Extent();
  return values_[u];
}

std::vector<int64_t> Planner::Values(const Shape& shape) {
  std::vector<int64_t> values;
  values.reserve(shape.size());
  for (Unknown u : shape) values.push_back(Value(u));
  return values;
}

int64_t Planner::Elements(const Shape& shape) {
  int64_t product = 1;
  bool is_empty = false;
  for (const Unknown u : shape) {
    const int64_t extent = Value(u);  // also of those behind a 0, so that all are decided
    is_empty |= extent == 0;
    product = extent > kMaxElements / product ? kMaxElements + 1 : product * extent;
    if (product > kMaxElements) product = kMaxElements + 1;
    product = std::max<int64_t>(product, 1);
  }
  return is_empty ? 0 : product;
}

Shape Planner::FreshShape(int rank) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(Fresh());
  return shape;
}

// Numbers of seven bits, which every float type holds exactly.
double Planner::Real() {
  if (sparse_ && Chance(0.5)) return 0;
  if (has_nan_ && Chance(0.1)) return std::numeric_limits<double>::quiet_NaN();
  const double small = spread_ ? std::ldexp(1.0, -Pick(0, 6)) : 1.0;
  return Pick(-128, 128) / 128.0 * magnitude_ * small;
}

// A number of as many bits as the type has.
double Planner::RealOf(DType dtype) {
  const double value = Real();
  if (!IsFloat(dtype) || !std::isfinite(value)) return value;
  std::byte bytes[8];
  StoreFromDouble(dtype, value * (1 + Pick(0, 1 << 20) / 16777216.0), bytes);
  return LoadAsDouble(dtype, bytes);
}

// ---- the whole

void Planner::ChooseAlternatives(uint16_t forced_node, int forced_alternative) {
  alternatives_.assign(rule_.nodes.size(), 0);
  for (const PlanFacts::Choice& choice : facts_.choices) {
    if (choice.group != kNone) {
      if (Chance(0.5)) absent_.push_back(choice);
      continue;
    }
    const Node& node = rule_.nodes[choice.node];
    alternatives_[choice.node] = choice.node == forced_node
                                     ? forced_alternative
                                     : Pick(0, static_cast<int>(node.alternatives.size()) - 1);
  }
}

bool Planner::ApplyLets() {
  if (!facts_.has_lets) return true;
  std::vector<uint16_t> waiting;
  std::set<uint16_t> seen;
  for (const Edge& root : rule_.roots) waiting.push_back(root.node);
  while (!waiting.empty()) {
    const uint16_t n = waiting.back();
    waiting.pop_back();
    if (!seen.insert(n).second) continue;
    const Node& node = rule_.nodes[n];
    if (node.kind == ValNode::Kind::kAnyOf || node.kind == ValNode::Kind::kLet) {
      waiting.push_back(node.alternatives[static_cast<size_t>(alternatives_[n])].node);
    }
    for (size_t g = 0; g < node.operands.size(); ++g) {
      for (size_t i = 0; i < node.operands[g].size(); ++i) {
        if (!IsAbsent(absent_, n, g, i)) waiting.push_back(node.operands[g][i].node);
      }
    }
    if (node.kind != ValNode::Kind::kLet) continue;
    const AttrCode& code = node.let_value;
    const bool is_literal = code.kind == AttrCode::Kind::kLiteral;
    if (!is_literal && (code.kind != AttrCode::Kind::kCompute || !code.args.empty())) continue;
    const AttrValue value = is_literal ? code.source->literal : code.source->compute({});
    const auto [it, inserted] = attrs_.emplace(node.let_variable, value);
    if (!inserted && it->second != value) return false;
  }
  return true;
}

// What one of the parts of a disjunction asks; each takes its arguments behind those of the others.
void Planner::HintOneOf(const ConditionCode& condition) {
  const auto& parts = condition.source->parts;
  const int chosen = Pick(0, static_cast<int>(parts.size()) - 1);
  size_t at = 0;
  for (int p = 0; p < static_cast<int>(parts.size()); ++p) {
    for (const auto& node : parts[static_cast<size_t>(p)]) {
      const size_t first = at;
      at += node->args.size();
      if (p != chosen || node->args.empty() || first >= condition.args.size() ||
          condition.args[first].edge.node == kNone)
        continue;
      const Edge edge = Through(condition.args[first].edge);
      if (node->constant) constant_[edge.node] = true;
      const bool least = node->asks == ConditionNode::Asks::kRankAtLeast;
      if (least) {
        // Of a conjunction with words the shape may ask for more than the least rank.
        if (parts.size() > 1) HintLeastRank(edge.node, node->rank);
      } else if (node->rank >= 0) {
        rank_hints_.emplace(edge.node, node->rank);
      }
      if (node->dtype != DType::kInvalid) dtype_hints_.emplace(edge.node, node->dtype);
    }
  }
}

void Planner::HintLeastRank(uint16_t n, int rank) {
  constexpr int kMost = 5;
  static constexpr int kMoreAxes[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3};
  if (more_axes_ < 0) more_axes_ = kMoreAxes[Pick(0, 9)];
  rank = std::max(rank, std::min(rank + more_axes_, kMost));
  int& least = least_ranks_.emplace(n, rank).first->second;
  least = std::max(least, rank);
}

bool Planner::ApplyHints() {
  for (size_t v = 0; v < rule_.dim_names.size(); ++v) dim_unknowns_.push_back(Fresh());
  // Shapes of any number of axes have as many as they are asked for elsewhere.
  for (const ConditionCode& condition : rule_.conditions) {
    if (condition.source->asks != ConditionNode::Asks::kRankAtLeast || condition.args.empty() ||
        condition.args[0].edge.node == kNone || condition.source->rank < 0)
      continue;
    HintLeastRank(Through(condition.args[0].edge).node, condition.source->rank);
  }
  for (const ConditionCode& condition : rule_.conditions) {
    if (condition.source->asks == ConditionNode::Asks::kEither) HintOneOf(condition);
    if (condition.args.empty() || condition.args[0].edge.node == kNone) continue;
    const bool same_type = condition.source->asks == ConditionNode::Asks::kSameType;
    if ((same_type || condition.source->asks == ConditionNode::Asks::kSameShape) && Chance(0.7)) {
      std::vector<uint16_t> alike;
      for (const ArgCode& arg : condition.args) {
        const uint16_t n = arg.edge.node == kNone ? kNone : Through(arg.edge).node;
        if (n != kNone && rule_.nodes[n].kind == ValNode::Kind::kVariable) alike.push_back(n);
      }
      alike_.push_back(std::move(alike));
    }
    // Fast math applies the rule without its proofs too.
    if (condition.source->assumption != Assumption::kNone && Chance(0.5)) continue;
    Edge edge = Through(condition.args[0].edge);
    if (condition.source->constant) constant_[edge.node] = true;
    if (condition.source->kind == ConditionNode::Kind::kShape) {
      Shape shape;
      for (uint16_t code : condition.shape) shape.push_back(DimUnknown(code));
      if (condition.source->rest >= 0) {
        const auto known = shapes_.find(edge.node);
        const auto least = least_ranks_.find(edge.node);
        size_t rank = shape.size() + static_cast<size_t>(Pick(0, 2));
        if (least != least_ranks_.end())
          rank = std::max(shape.size(), static_cast<size_t>(least->second));
        if (known != shapes_.end()) rank = known->second.size();
        if (rank < shape.size()) return false;
        const Shape rest = FreshShape(static_cast<int>(rank - shape.size()));
        shape.insert(shape.begin() + condition.source->rest, rest.begin(), rest.end());
      }
      auto [it, inserted] = shapes_.emplace(edge.node, shape);
      if (!inserted && !UnifyAll(it->second, shape)) return false;
    } else if (condition.source->asks == ConditionNode::Asks::kRankAtLeast) {
      continue;  // see below: what is known exactly counts
    } else if (condition.source->rank >= 0) {
      rank_hints_[edge.node] = condition.source->rank;
    } else if (condition.source->dtype != DType::kInvalid) {
      dtype_hints_[edge.node] = condition.source->dtype;
    }
  }
  for (const auto& [n, rank] : least_ranks_)
    if (shapes_.count(n) == 0) rank_hints_.emplace(n, rank);
  return true;
}

int Planner::DrawRank(const Edge& root) {
  if (!root_shape_.empty()) return static_cast<int>(root_shape_.size());
  static constexpr int kRanks[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5};
  const int rank = kRanks[Pick(0, 11)];
  if (open_ranks_ <= 0) return rank;
  // It has no fewer axes than a part of which they are known.
  open_ranks_ = 0;
  const int least = KnownRank(root);
  open_ranks_ = 1;
  return std::max(rank, least);
}

bool Planner::Plan(uint16_t forced_node, int forced_alternative, InstancePlan& plan,
                   std::string* why) {
  ChooseAlternatives(forced_node, forced_alternative);
  ApplySameValues();
  bool fits = ApplyLets() && ApplyHints() && ApplyOnes() && SeekNumbers();
  for (const Edge& root : rule_.roots) {
    if (!fits) break;
    int rank = KnownRank(root);
    if (rank < 0) rank = DrawRank(root);
    Shape shape = FreshShape(rank);
    if (root_shape_.empty()) root_shape_ = shape;
    fits = Demand(root, shape);
  }
  fits = fits && FinishSplits();
  if (fits) {
    plan.rule_ = &rule_;
    plan.context_ = &context_;
    fits = FinishLeaves(plan) && FinishSlots(plan) && FitsMemory() && !impossible_;
    plan.alternatives_ = std::move(alternatives_);
    plan.absent_ = std::move(absent_);
    plan.more_of_each_ = std::move(more_of_each_);
    plan.at_run_time_ = at_run_time_;
    if (same_ && plan.leaves_.count(same_->first) > 0 && plan.leaves_.count(same_->second) > 0)
      plan.coincide_ = same_;
    plan.seeks_ = facts_.seeks || facts_.extremes;
    plan.attrs_ = std::move(attrs_);
  }
  if (!fits && why_.empty())
    why_ = refused_.empty() ? "the ranks and shapes that the rule asks for contradict each other"
                            : fmt::format(
                                  "the check found no operands of {} that fit the rest of "
                                  "the program",
                                  refused_);
  if (!fits && why != nullptr) *why = why_;
  return fits;
}

bool Planner::FitsMemory() {
  for (const auto& [n, shape] : shapes_) {
    if (Elements(shape) <= kMaxElements) continue;
    why_ = fmt::format("a tensor would have more than {} elements", kMaxElements);
    return false;
  }
  return true;
}

bool Planner::FinishLeaves(InstancePlan& plan) {
  std::set<uint16_t> added;
  for (uint16_t n : live_ops_) {
    if (!masked_ || rule_.nodes[n].info->name() != "ten.add") continue;
    for (const auto& group : rule_.nodes[n].operands) {
      for (const Edge& edge : group) added.insert(Through(edge).node);
    }
  }
  for (auto& [n, shape] : shapes_) {
    InstancePlan::Leaf leaf;
    leaf.node = n;
    for (const auto& [each, ids] : more_of_each_)
      if (std::find(ids.begin(), ids.end(), n) != ids.end()) leaf.node = each;
    const Node& node = rule_.nodes[leaf.node];
    if (node.kind == ValNode::Kind::kOp || !node.in_source) continue;
    leaf.shape = Values(shape);
    leaf.known = Chance(0.3);
    if (node.kind == ValNode::Kind::kSplat) {
      leaf.constant = true;
      AttrValue value;
      if (node.splat.kind != AttrCode::Kind::kAny)
        value = ReadCode(node.splat, *context_.FindOp("core.constant"), -1, 0);
      leaf.values = {NumberOf(value).value_or(0)};
      if (node.splat.kind == AttrCode::Kind::kAny) leaf.values = {RandomNumber()};
    } else {
      leaf.constant = node.source->constant || constant_.count(n) > 0;
      leaf.boolean = boolean_.count(n) > 0;
      leaf.positive = positive_.count(n) > 0;
      if (leaf.boolean) leaf.dtype = DType::kBool;
      leaf.index = index_.count(n) > 0;
      if (leaf.index) leaf.dtype = DType::kI64;
      const auto given = given_.find(n);
      leaf.given = given != given_.end();
      if (leaf.given) leaf.dtype = given->second.dtype;
      if (auto hint = dtype_hints_.find(n); hint != dtype_hints_.end()) leaf.dtype = hint->second;
      const int64_t size = Elements(shape);
      if (size > kMaxElements) return FitsMemory();
      if (leaf.given) {
        leaf.known = Chance(0.8);
        leaf.values = given->second.values;
        if (leaf.values.size() != static_cast<size_t>(size)) return false;
        plan.leaves_[n] = std::move(leaf);
        continue;
      }
      const auto ops = facts_.producers.find(leaf.node);
      if (ops != facts_.producers.end() && !ops->second.empty() && Chance(0.8))
        leaf.producer =
            ops->second[static_cast<size_t>(Pick(0, static_cast<int>(ops->second.size()) - 1))];
      const auto rows = index_.find(n);
      const bool is_added = added.count(n) > 0 && !leaf.boolean;
      leaf.values.reserve(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i) {
        double value = leaf.dtype == DType::kInvalid ? Real() : RealOf(leaf.dtype);
        if (leaf.boolean) value = Chance(0.7) ? 1 : 0;
        if (leaf.dtype == DType::kU8) value = Pick(0, 255);
        if (leaf.dtype == DType::kI8) value = Pick(-128, 127);
        if (rows != index_.end())
          value = Pick(static_cast<int>(-rows->second), static_cast<int>(rows->second) - 1);
        if (leaf.positive) value = std::abs(value) + 0.25;
        if (is_added && Chance(0.5)) value = -std::numeric_limits<double>::infinity();
        leaf.values.push_back(value);
      }
    }
    plan.leaves_[n] = std::move(leaf);
  }
  return true;
}

bool Planner::FinishSlots(InstancePlan& plan) {
  for (uint16_t n : live_ops_) {
    const Node& node = rule_.nodes[n];
    const Edge* first = Operand(n, 0);
    int rank = 0;
    if (first != nullptr) {
      if (auto it = shapes_.find(Through(*first).node); it != shapes_.end())
        rank = static_cast<int>(it->second.size());
    }
    std::vector<Attribute> slots(static_cast<size_t>(node.info->num_slots()));
    for (const AttrCode& code : node.attrs) {
      std::string_view name = node.info->slot_name(code.slot).str();
      AttrValue value;
      if (node.info->name() == "ten.reshape" || node.info->name() == "ten.expand") {
        value = Values(shapes_.at(n));
      } else {
        value = AttrOf(n, name, rank);
      }
      if (std::holds_alternative<std::monostate>(value)) continue;
      slots[code.slot] = ToAttribute(context_, code.type, value);
    }
    plan.slots_[n] = std::move(slots);
  }
  return true;
}

}  // namespace tenon::drr
