// What ops demand of operands that say extents, bounds, axes and counts when the program runs.
// Their numbers are chosen so that they matter: paddings at both ends, steps other than 1, extents
// that are copied.
#include <algorithm>
#include <numeric>

#include "drr/check/planner.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

// Elements of a slice of an axis, as ten.dynamic_slice counts them.
int64_t SliceLength(int64_t extent, int64_t start, int64_t end, int64_t step) {
  start += start < 0 ? extent : 0;
  end += end < 0 ? extent : 0;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return std::max<int64_t>(0, (end - start + step - 1) / step);
  }
  start = std::clamp<int64_t>(start, 0, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return std::max<int64_t>(0, (start - end - step - 1) / -step);
}

}  // namespace

std::vector<double> AsNumbers(const I64s& integers) {
  return std::vector<double>(integers.begin(), integers.end());
}

I64s AsIntegers(const std::vector<double>& numbers) {
  I64s integers;
  for (const double number : numbers) integers.push_back(static_cast<int64_t>(number));
  return integers;
}

const std::vector<double>* Planner::GivenTo(const Edge* edge) const {
  if (edge == nullptr) return nullptr;
  const auto it = given_.find(Through(*edge).node);
  return it != given_.end() ? &it->second.values : nullptr;
}

bool Planner::Give(const Edge& unresolved, const std::vector<double>& numbers, DType dtype,
                   bool scalar) {
  const Edge edge = Through(unresolved);
  const Node& node = rule_.nodes[edge.node];
  if (node.kind == ValNode::Kind::kOp && node.info->name() == "ten.neg") {
    std::vector<double> negated = numbers;
    for (double& number : negated) number = -number;
    const Shape made = scalar ? Shape() : Shape{Number(static_cast<int64_t>(numbers.size()))};
    return Give(node.operands[0][0], negated, dtype, scalar) && Demand(edge, made);
  }
  if (node.kind == ValNode::Kind::kOp) {
    why_ =
        fmt::format("the check cannot choose numbers for an operand that the rule computes with {}",
                    node.info->name());
    return false;
  }
  if (node.kind == ValNode::Kind::kSplat) {
    const AttrValue value =
        node.splat.kind == AttrCode::Kind::kLiteral ? ToAttrValue(node.splat.literal) : AttrValue();
    const double* number = std::get_if<double>(&value);
    if (number == nullptr || std::any_of(numbers.begin(), numbers.end(),
                                         [&](double wanted) { return wanted != *number; }))
      return false;
  } else {
    if (const auto hint = dtype_hints_.find(edge.node); hint != dtype_hints_.end())
      dtype = hint->second;
    const auto [it, inserted] = given_.emplace(edge.node, GivenNumbers{numbers, dtype});
    if (!inserted && it->second.values != numbers) return false;
  }
  return Demand(edge, scalar ? Shape() : Shape{Number(static_cast<int64_t>(numbers.size()))});
}

std::optional<I64s> Planner::GiveAxes(const Edge* edge, int rank) {
  I64s axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (edge == nullptr) return axes;
  if (const std::vector<double>* given = GivenTo(edge)) {
    axes = AsIntegers(*given);
    for (int64_t& axis : axes) {
      axis += axis < 0 ? rank : 0;
      if (axis < 0 || axis >= rank) return std::nullopt;
    }
    return axes;
  }
  std::shuffle(axes.begin(), axes.end(), random_);
  if (rank > 0) axes.resize(static_cast<size_t>(Pick(1, rank)));
  I64s written = axes;
  for (int64_t& axis : written) axis -= Chance(0.3) ? rank : 0;
  if (!Give(*edge, AsNumbers(written))) return std::nullopt;
  return axes;
}

bool Planner::DynamicPadOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const Edge *x = Operand(n, 0), *pads = Operand(n, 1), *fill = Operand(n, 2);
  const int rank = static_cast<int>(shape.size());
  if (rank == 0 && Chance(0.9)) return false;  // there is nothing to pad
  const std::optional<I64s> axes = GiveAxes(Operand(n, 3), rank);
  if (!axes) return false;
  const std::string mode = TextOf(n, "mode");
  const std::vector<double>* given = GivenTo(pads);
  const size_t count = axes->size();
  if (given != nullptr && given->size() != 2 * count) return false;
  I64s numbers = given != nullptr ? AsIntegers(*given) : I64s(2 * count);
  Shape from = shape;
  for (size_t i = 0; i < count; ++i) {
    const auto a = static_cast<size_t>((*axes)[i]);
    int64_t &low = numbers[i], &high = numbers[i + count];
    if (given == nullptr) {
      low = Chance(0.1) ? -1 : Pick(0, 2);
      high = Chance(0.1) ? -1 : Pick(0, 2);
    }
    const bool open = !Known(shape[a]);
    int64_t inner = open ? Extent() : Value(shape[a]) - low - high;
    const auto fits = [&] {
      const int64_t most = mode == "reflect" ? inner - 1 : mode == "constant" ? inner + 8 : inner;
      return inner >= 1 && low <= most && high <= most && inner + low + high >= 0;
    };
    if (!fits() && given == nullptr) {
      low = high = 0;
      inner = open ? inner : Value(shape[a]);
    } else if (!fits()) {
      return false;
    }
    if (!Unify(shape[a], Number(inner + low + high))) return false;
    from[a] = Number(inner);
  }
  return Give(*pads, AsNumbers(numbers)) && Demand(*x, from) &&
         (fill == nullptr || Demand(*fill, {}));
}

bool Planner::DynamicSliceOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const int rank = static_cast<int>(shape.size());
  if (rank == 0 && Chance(0.9)) return false;
  const std::optional<I64s> axes = GiveAxes(Operand(n, 3), rank);
  if (!axes) return false;
  // Starts, ends, steps.
  const Edge* edges[] = {Operand(n, 1), Operand(n, 2), Operand(n, 4)};
  const size_t count = axes->size();
  I64s lists[3];
  bool fixed[3];
  for (int i = 0; i < 3; ++i) {
    const std::vector<double>* given = GivenTo(edges[i]);
    fixed[i] = given != nullptr || edges[i] == nullptr;
    lists[i] = given != nullptr ? AsIntegers(*given) : I64s(count, 1);
    if (lists[i].size() != count) return false;
  }
  Shape from = shape;
  for (size_t i = 0; i < count; ++i) {
    const auto a = static_cast<size_t>((*axes)[i]);
    constexpr int kTries = 200;
    bool found = false;
    for (int t = 0; t < kTries && !found; ++t) {
      static constexpr int64_t kSteps[] = {1, 1, 2, 3, -1, -2};
      const int64_t extent = Chance(0.7) ? Pick(2, 6) : Extent();
      const int64_t start = fixed[0] ? lists[0][i] : Pick(-3, 4);
      const int64_t end = fixed[1] ? lists[1][i] : Chance(0.1) ? 99 : Pick(-6, 6);
      const int64_t step = fixed[2] ? lists[2][i] : kSteps[Pick(0, 5)];
      if (step == 0 || extent == 0) continue;
      const int64_t length = SliceLength(extent, start, end, step);
      const bool open = !Known(shape[a]);
      if (open ? length == 0 && t < kTries / 2 : length != Value(shape[a])) continue;
      if (!Unify(shape[a], Number(length))) return false;
      lists[0][i] = start, lists[1][i] = end, lists[2][i] = step;
      from[a] = Number(extent);
      found = true;
    }
    if (!found) return false;
  }
  for (int i = 0; i < 3; ++i)
    if (edges[i] != nullptr && !Give(*edges[i], AsNumbers(lists[i]))) return false;
  return Demand(*Operand(n, 0), from);
}

bool Planner::DynamicReshapeOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const Edge *x = Operand(n, 0), *list = Operand(n, 1);
  const bool allow_zero = FlagOf(n, "allow_zero");
  const auto rank = shape.size();
  const std::vector<int64_t> extents = Values(shape);
  // Some axes in front stay as they are; the rest is regrouped.
  size_t kept = static_cast<size_t>(Pick(0, static_cast<int>(rank)));
  Shape from(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(kept));
  if (auto it = shapes_.find(Through(*x).node); it != shapes_.end()) {
    from = it->second;
    for (kept = 0; kept < rank && kept < from.size() && Value(from[kept]) == extents[kept];) ++kept;
  } else if (kept < rank) {
    int64_t group = 1;
    for (size_t i = kept; i < rank; ++i) {
      group *= extents[i];
      if (group > kMaxElements) return false;
      if (i + 1 < rank && Chance(0.5)) continue;
      from.push_back(Number(group));
      group = 1;
    }
  }
  I64s numbers(extents.begin(), extents.end());
  const std::vector<double>* given = GivenTo(list);
  if (given != nullptr) return Give(*list, *given) && given->size() == rank && Demand(*x, from);
  bool empty = false;
  for (size_t i = 0; i < rank; ++i) {
    empty |= extents[i] == 0;
    if (!allow_zero && i < kept && (extents[i] == 0 || Chance(0.4))) numbers[i] = 0;
    // An extent of nothing that is not copied.
    if (!allow_zero && i >= kept && extents[i] == 0) return false;
  }
  if (rank > 0 && !empty && Chance(0.3))
    numbers[static_cast<size_t>(Pick(0, static_cast<int>(rank) - 1))] = -1;
  return Give(*list, AsNumbers(numbers)) && Demand(*x, from);
}

bool Planner::DynamicExpandOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const Edge *x = Operand(n, 0), *list = Operand(n, 1);
  const int rank = static_cast<int>(shape.size());
  const int known = KnownRank(*x);
  if (known > rank) return false;
  auto it = shapes_.find(Through(*x).node);
  Shape from = it != shapes_.end()
                   ? it->second
                   : Broadcastable(shape, known >= 0 ? known : Pick(rank > 0 ? rank - 1 : 0, rank));
  if (it == shapes_.end())
    for (Unknown& u : from)
      if (Chance(0.3)) u = Number(1);
  if (const std::vector<double>* given = GivenTo(list))
    return Give(*list, *given) && Demand(*x, from);
  I64s numbers;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t skip = shape.size() - from.size();
    const bool own = i >= skip && Value(from[i - skip]) == Value(shape[i]);
    // 1 keeps what x has.
    numbers.push_back(own && Chance(0.3) ? 1 : Value(shape[i]));
  }
  return Give(*list, AsNumbers(numbers)) && Demand(*x, from);
}

bool Planner::DynamicTileOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const Edge *x = Operand(n, 0), *list = Operand(n, 1);
  const std::vector<double>* given = GivenTo(list);
  if (given != nullptr && given->size() != shape.size()) return false;
  I64s numbers = given != nullptr ? AsIntegers(*given) : I64s(shape.size());
  Shape from;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t& times = numbers[i];
    if (given == nullptr) times = Pick(1, 3);
    if (!Known(shape[i])) {
      const int64_t inner = Extent();
      if (!Unify(shape[i], Number(inner * times))) return false;
      from.push_back(Number(inner));
      continue;
    }
    if (given == nullptr && Value(shape[i]) % times != 0) times = 1;
    if (times < 1 || Value(shape[i]) % times != 0) return false;
    from.push_back(Number(Value(shape[i]) / times));
  }
  return Give(*list, AsNumbers(numbers)) && Demand(*x, from);
}

}  // namespace tenon::drr
