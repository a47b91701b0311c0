// What ops that move data demand of their operands.
#include <algorithm>

#include "drr/check/planner.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

// Is it the numbers from 0 to rank - 1 in some order?
bool IsPermutation(const I64s& perm, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t axis : perm) {
    if (axis < 0 || static_cast<size_t>(axis) >= rank || seen[static_cast<size_t>(axis)])
      return false;
    seen[static_cast<size_t>(axis)] = true;
  }
  return perm.size() == rank;
}

Shape Front(const Shape& shape, size_t n) {
  return Shape(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(n));
}

// Does the rule leave the sizes of a split open?
bool IsAnySizes(const AttrCode& code) {
  return code.type == AttrType::kDims &&
         (code.kind == AttrCode::Kind::kVariable || code.kind == AttrCode::Kind::kAny);
}

}  // namespace

bool Planner::ReshapeOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const AttrCode& code = node.attrs[0];  // `shape`, its only one
  if (code.kind == AttrCode::Kind::kDims) {
    for (size_t i = 0; i < code.dims.size(); ++i) {
      if (i >= shape.size() || !Unify(shape[i], DimUnknown(code.dims[i]))) return false;
    }
  }
  const Edge& from = node.operands[0][0];
  if (int rank = KnownRank(from); rank >= 0) {
    auto it = shapes_.find(Through(from).node);
    if (it != shapes_.end()) return Demand(from, it->second);
    // The last axes as one, or anything.
    const auto kept = static_cast<size_t>(std::max(rank - 1, 0));
    if (kept + 1 >= shape.size() || rank == 0 || Chance(0.3)) return Demand(from, FreshShape(rank));
    Shape joined(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(kept));
    joined.push_back(
        Number(Elements(Shape(shape.begin() + static_cast<ptrdiff_t>(kept), shape.end()))));
    return Demand(from, joined);
  }
  const std::vector<int64_t> extents = Values(shape);
  const int64_t size = Elements(shape);
  if (size > kMaxElements) return false;
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

bool Planner::TransposeOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  AttrValue perm = AttrOf(n, "perm", rank);
  const I64s* axes = std::get_if<I64s>(&perm);
  if (axes == nullptr || !IsPermutation(*axes, shape.size())) return false;
  Shape from(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) from[static_cast<size_t>((*axes)[i])] = shape[i];
  return Demand(node.operands[0][0], from);
}

bool Planner::ExpandOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  const Edge& from = node.operands[0][0];
  auto it = shapes_.find(Through(from).node);
  return Demand(from, it != shapes_.end() ? it->second : Broadcastable(shape, rank));
}

bool Planner::PadOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
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

// Slices by numbers: how long a result is follows from how long the operand is, not the other way
// round.
void Planner::DrawBounds(uint16_t n, size_t axes) {
  const Node& node = rule_.nodes[n];
  for (const AttrCode& code : node.attrs) {
    const std::string_view name = node.info->slot_name(code.slot).str();
    const bool starts = name == "starts";
    if ((!starts && name != "ends") || code.kind != AttrCode::Kind::kVariable ||
        attrs_.count(code.variable) > 0)
      continue;
    attrs_[code.variable] = Draw(code.variable, [&] {
      I64s bounds;
      for (size_t i = 0; i < axes; ++i) bounds.push_back(starts ? Pick(0, 2) : Pick(1, 5));
      return AttrValue(bounds);
    });
  }
}

bool Planner::SliceOperand(uint16_t n, const Shape& shape) {
  const std::vector<AttrCode>& codes = rule_.nodes[n].attrs;
  const bool open = std::all_of(codes.begin(), codes.end(), [](const AttrCode& code) {
    return code.kind == AttrCode::Kind::kVariable || code.kind == AttrCode::Kind::kAny;
  });
  if (open) return HalfOperand(n, shape);
  const int rank = static_cast<int>(shape.size());
  const AttrValue axes = AttrOf(n, "axes", rank), steps = AttrOf(n, "steps", rank);
  if (const I64s* axis = std::get_if<I64s>(&axes)) DrawBounds(n, axis->size());
  const AttrValue starts = AttrOf(n, "starts", rank), ends = AttrOf(n, "ends", rank);
  const I64s *axis = std::get_if<I64s>(&axes), *step = std::get_if<I64s>(&steps),
             *start = std::get_if<I64s>(&starts), *end = std::get_if<I64s>(&ends);
  if (axis == nullptr || step == nullptr || start == nullptr || axis->size() != step->size() ||
      axis->size() != start->size() || (end != nullptr && end->size() != axis->size())) {
    why_ =
        "the check cannot plan a slice whose starts, ends and steps are not one number for each "
        "axis";
    return false;
  }
  Shape from = shape;
  I64s made;  // ends that the rule leaves open
  for (size_t i = 0; i < axis->size(); ++i) {
    const int64_t a = (*axis)[i];
    if (a < 0 || a >= rank || (*step)[i] == 0) return false;
    const Unknown out = shape[static_cast<size_t>(a)];
    Unknown& whole = from[static_cast<size_t>(a)];
    if (end != nullptr) {
      const std::optional<int64_t> extent = SlicedExtent(n, rank, a, out);
      if (!extent) return false;
      whole = Number(*extent);
      continue;
    }
    const int64_t length = (*start)[i] + Value(out) * (*step)[i];
    // Strided slices from 0 and from 1 take turns; a plain one from 0 may leave elements behind it.
    const int64_t rest = (*step)[i] == 1 && (*start)[i] == 0 ? Pick(0, 1) : 0;
    whole = Number((*step)[i] > 1 ? Value(out) * (*step)[i] : length + rest);
    made.push_back(length);
  }
  if (end == nullptr) any_attrs_[std::pair(n, rule_.nodes[n].info->FindSlot("ends"))] = made;
  return Demand(rule_.nodes[n].operands[0][0], from);
}

// An extent of which the slice has as many elements as `out` says, or any number while it is open.
std::optional<int64_t> Planner::SlicedExtent(uint16_t n, int rank, int64_t axis, Unknown out) {
  const auto length = [&](int64_t extent) -> int64_t {
    std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
    extents[static_cast<size_t>(axis)] = extent;
    const Type from = Type::Tensor(context_, DType::kF32, extents);
    const std::optional<ResultTypes> made = InferOp(n, {&from, 1}, {1}, rank);
    return made ? (*made)[0].dim(axis).constant() : -1;
  };
  constexpr int kTries = 24;
  for (int i = 0; i < kTries; ++i) {
    const int64_t extent = Extent(), made = length(extent);
    if (made < 0 || (made == 0 && !empty_ && i < kTries / 2)) continue;
    if (Unify(out, Number(made))) return extent;
  }
  if (!Known(out)) return std::nullopt;
  for (int64_t extent = 0; extent <= kLargestWritten; ++extent)
    if (length(extent) == Value(out)) return extent;
  why_ = fmt::format("no extent gives a slice of {} elements with these numbers", Value(out));
  return std::nullopt;
}

// Slices of which the rule says nothing: halves of the last axis.
bool Planner::HalfOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  const int64_t half = Value(shape.back()), start = Chance(0.5) ? half : 0;
  for (const AttrCode& code : node.attrs) {
    const std::string_view name = node.info->slot_name(code.slot).str();
    AttrValue& value = code.kind == AttrCode::Kind::kVariable ? attrs_[code.variable]
                                                              : any_attrs_[std::pair(n, code.slot)];
    value = I64s{name == "axes"     ? rank - 1
                 : name == "starts" ? start
                 : name == "ends"   ? start + half
                                    : 1};
  }
  Shape whole = shape;
  whole.back() = Number(2 * half);
  return Demand(node.operands[0][0], whole);
}

// Operands of a concatenation to `shape` that are results of one operation, from one on. Adds their
// extents to `sum`.
bool Planner::JoinedResults(const Edge& rest, const Shape& shape, size_t axis, int64_t& sum) {
  const size_t end = ResultsOf(rest.node).value_or(rest.result + size_t{1});
  for (size_t r = rest.result; r < end; ++r) {
    Shape part = shape;
    part[axis] = Fresh();
    if (!Demand(Edge{rest.node, static_cast<uint16_t>(r)}, part)) return false;
    sum += Value(part[axis]);
  }
  return true;
}

bool Planner::ConcatOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  const auto axis = static_cast<size_t>(IntOf(n, "axis", rank));
  if (axis >= shape.size()) return false;
  int64_t sum = 0;
  for (const Edge& edge : node.operands[0]) {
    if (edge.rest) {
      if (!JoinedResults(edge, shape, axis, sum)) return false;
      continue;
    }
    Shape part = shape;
    part[axis] = Fresh();
    if (!Demand(edge, part)) return false;
    sum += Value(part[axis]);
    if (rule_.nodes[edge.node].kind != ValNode::Kind::kEach) continue;
    // Operands of one pattern get one shape, so that one plan serves all.
    const uint16_t list = rule_.nodes[edge.node].list;
    auto [more, inserted] = more_of_each_.try_emplace(list == kNone ? edge.node : list);
    for (int i = inserted && Chance(0.6) ? Pick(1, 2) : 0; i > 0; --i)
      more->second.push_back(next_id_++);
    if (list != kNone) {
      for (const uint16_t id : more->second) {
        auto [planned, is_new] = shapes_.emplace(id, shapes_.at(list));
        if (!is_new && !UnifyAll(planned->second, shapes_.at(list))) return false;
        sum += Value(part[axis]);
      }
      continue;
    }
    for (const uint16_t id : more->second) {
      part[axis] = Fresh();
      auto [planned, is_new] = shapes_.emplace(id, part);
      if (!is_new && !UnifyAll(planned->second, part)) return false;
      sum += Value(part[axis]);
    }
  }
  return Unify(shape[axis], Number(sum));
}

// The sizes of a split of which the rule says nothing: two parts or three, and more if the rule
// names more. Where it names the rest of the results behind the first, also one.
const Dims* Planner::PartsOf(uint16_t n, const AttrCode& sizes) {
  AttrValue& value =
      sizes.kind == AttrCode::Kind::kAny ? any_attrs_[{n, sizes.slot}] : attrs_[sizes.variable];
  if (std::holds_alternative<std::monostate>(value)) {
    int named = 0;
    bool rest = false;
    const auto note = [&](const std::vector<Edge>& edges) {
      for (const Edge& edge : edges) {
        if (edge.node != n) continue;
        named = std::max(named, edge.result + (edge.rest ? 0 : 1));
        rest |= edge.rest;
      }
    };
    note(rule_.roots);
    for (const Node& node : rule_.nodes)
      for (const std::vector<Edge>& group : node.operands) note(group);
    const bool one = rest && named <= 1 && Chance(0.2);
    Dims parts;
    for (int i = one ? 1 : Pick(std::max(2, named), std::max(3, named + 1)); i > 0; --i)
      parts.push_back(DimExpr::Constant(context_, Pick(1, 3)));
    value = parts;
  }
  return std::get_if<Dims>(&value);
}

// How many results the planned operation has; nullopt if nothing says so.
std::optional<size_t> Planner::ResultsOf(uint16_t n) {
  const Node& node = rule_.nodes[n];
  if (node.info->name() != "ten.split") return std::nullopt;
  for (const AttrCode& code : node.attrs) {
    if (code.kind == AttrCode::Kind::kDims) return code.dims.size();
    if (!IsAnySizes(code)) continue;
    if (const Dims* parts = PartsOf(n, code)) return parts->size();
  }
  return std::nullopt;
}

bool Planner::SplitInParts(uint16_t n, const AttrCode& sizes, size_t axis, int result,
                           const Shape& shape) {
  const Dims* parts = PartsOf(n, sizes);
  if (parts == nullptr || axis >= shape.size() || static_cast<size_t>(result) >= parts->size())
    return false;
  int64_t whole = 0;
  for (const DimExpr part : *parts) whole += part.constant();
  Shape from = shape;
  from[axis] = Number(whole);
  return Unify(shape[axis], Number((*parts)[static_cast<size_t>(result)].constant())) &&
         Demand(rule_.nodes[n].operands[0][0], from);
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
    if (IsAnySizes(code)) return SplitInParts(n, code, axis, result, shape);
  }
  if (sizes == nullptr || axis >= shape.size() ||
      static_cast<size_t>(result) >= sizes->dims.size()) {
    why_ = "the check cannot plan a split whose sizes are not written out";
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

// What the ids pick stands in the result where the axis was that they pick from.
bool Planner::GatherOperands(uint16_t n, const Shape& shape) {
  const Edge &table = rule_.nodes[n].operands[0][0], &ids = rule_.nodes[n].operands[1][0];
  const auto rank = static_cast<int>(shape.size());
  int of_table = KnownRank(table), of_ids = KnownRank(ids);
  if (of_ids < 0) of_ids = of_table < 0 ? Pick(0, std::min(rank, 2)) : rank - of_table + 1;
  if (of_table < 0) of_table = rank - of_ids + 1;
  if (of_ids < 0 || of_table < 1 || of_table - 1 + of_ids != rank) return false;
  const int64_t axis = IntOf(n, "axis", of_table), rows = Pick(1, 4);
  if (axis < 0 || axis >= of_table) return false;
  const auto first = shape.begin() + axis, last = first + of_ids;
  Shape of(shape.begin(), first);
  of.push_back(Number(rows));
  of.insert(of.end(), last, shape.end());
  index_[Through(ids).node] = rows;
  return Demand(table, of) && Demand(ids, Shape(first, last));
}

// Rows of tables [rows, size], picked by ids; what else is added has the shape of the result. An
// Each stands for one pair or two.
bool Planner::LookupOperands(uint16_t n, const Shape& shape) {
  if (shape.empty()) return false;
  const Shape outer(shape.begin(), shape.end() - 1);
  int64_t rows = 0;
  const auto is_ids = [](size_t position) { return position % 2 == 0; };
  const auto demanded = [&](size_t position) {
    if (is_ids(position)) rows = Pick(1, 4);
    return is_ids(position) ? outer : Shape{Number(rows), shape.back()};
  };
  size_t position = 0;
  for (const Edge& edge : rule_.nodes[n].operands[3]) {
    if (rule_.nodes[edge.node].list != kNone) {
      why_ = "the check cannot plan lookups that are computed for each item";
      return false;
    }
    const Shape first = demanded(position);
    if (is_ids(position)) index_[Through(edge).node] = rows;
    if (!Demand(edge, first)) return false;
    ++position;
    if (rule_.nodes[edge.node].kind != ValNode::Kind::kEach) continue;
    auto [more, inserted] = more_of_each_.try_emplace(edge.node);
    for (int i = inserted ? (Chance(0.5) ? 1 : 3) : 0; i > 0; --i)
      more->second.push_back(next_id_++);
    for (const uint16_t id : more->second) {
      const Shape part = demanded(position);
      if (is_ids(position)) index_[id] = rows;
      auto [planned, is_new] = shapes_.emplace(id, part);
      if (!is_new && !UnifyAll(planned->second, part)) return false;
      ++position;
    }
  }
  for (size_t g = 0; g < 3; ++g) {
    const Edge* operand = Operand(n, g);
    if (operand != nullptr && !Demand(*operand, g == 0 ? shape : Shape{shape.back()})) return false;
  }
  return true;
}

}  // namespace tenon::drr
