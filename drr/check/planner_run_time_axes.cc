// What ops demand of operands that say axes, counts and sizes when the program runs, and of
// operands whose numbers decide how large the result is.
#include <algorithm>
#include <numeric>

#include "drr/check/planner.h"

namespace tenon::drr {

bool Planner::DynamicSqueezeOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const std::vector<double>* given = GivenTo(Operand(n, 1));
  const int more = given != nullptr ? static_cast<int>(given->size()) : Pick(1, 2);
  const int rank = static_cast<int>(shape.size()) + more;
  I64s axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random_);
  axes.resize(static_cast<size_t>(more));
  if (given != nullptr) axes = AsIntegers(*given);
  Shape from;
  for (int64_t a = 0, next = 0; a < rank; ++a) {
    const bool squeezed = std::any_of(axes.begin(), axes.end(), [&](int64_t axis) {
      return (axis < 0 ? axis + rank : axis) == a;
    });
    if (!squeezed && next == static_cast<int64_t>(shape.size())) return false;
    from.push_back(squeezed ? Number(1) : shape[static_cast<size_t>(next++)]);
  }
  return Give(*Operand(n, 1), AsNumbers(axes)) && Demand(*Operand(n, 0), from);
}

bool Planner::DynamicUnsqueezeOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  const std::optional<I64s> axes = GiveAxes(Operand(n, 1), rank);
  if (!axes) return false;
  Shape from;
  for (int64_t a = 0; a < rank; ++a) {
    const Unknown extent = shape[static_cast<size_t>(a)];
    if (std::find(axes->begin(), axes->end(), a) == axes->end()) {
      from.push_back(extent);
    } else if (!Unify(extent, Number(1))) {
      return false;
    }
  }
  return Demand(*Operand(n, 0), from);
}

bool Planner::DynamicReduceOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const bool keepdims = FlagOf(n, "keepdims");
  const std::vector<double>* given = GivenTo(Operand(n, 1));
  const int dropped = keepdims           ? 0
                      : given != nullptr ? static_cast<int>(given->size())
                                         : Pick(1, 2);
  const int rank = static_cast<int>(shape.size()) + dropped;
  if (rank == 0) return false;
  I64s axes;
  if (keepdims) {
    const std::optional<I64s> some = GiveAxes(Operand(n, 1), rank);
    if (!some) return false;
    axes = *some;
  } else {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    axes.resize(static_cast<size_t>(dropped));
    if (given != nullptr) axes = AsIntegers(*given);
    if (!Give(*Operand(n, 1), AsNumbers(axes))) return false;
  }
  Shape from;
  for (int64_t a = 0, next = 0; a < rank; ++a) {
    const bool reduced = std::any_of(axes.begin(), axes.end(), [&](int64_t axis) {
      return (axis < 0 ? axis + rank : axis) == a;
    });
    if (reduced) from.push_back(Number(Pick(1, 4)));
    if (reduced && keepdims && !Unify(shape[static_cast<size_t>(next++)], Number(1))) return false;
    if (reduced) continue;
    if (next == static_cast<int64_t>(shape.size())) return false;
    from.push_back(shape[static_cast<size_t>(next++)]);
  }
  return Demand(*Operand(n, 0), from);
}

bool Planner::DynamicTopKOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const int rank = static_cast<int>(shape.size());
  int64_t axis = IntOf(n, "axis", rank);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank) return false;
  const Unknown taken = shape[static_cast<size_t>(axis)];
  if (const std::vector<double>* given = GivenTo(Operand(n, 1));
      given != nullptr && !Unify(taken, Number(static_cast<int64_t>((*given)[0]))))
    return false;
  if (!Known(taken)) Unify(taken, Number(Pick(1, 3)));
  const int64_t k = Value(taken);
  Shape from = shape;
  from[static_cast<size_t>(axis)] = Number(k + Pick(0, 3));
  return Give(*Operand(n, 1), {static_cast<double>(k)}) && Demand(*Operand(n, 0), from);
}

// Sizes or scales of all resized axes.
bool Planner::DynamicResizeOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  const int rank = static_cast<int>(shape.size());
  const Edge *roi = Operand(n, 1), *scales = Operand(n, 2), *sizes = Operand(n, 3);
  if ((scales == nullptr) == (sizes == nullptr) || TextOf(n, "policy") != "stretch") {
    why_ = "the check plans ten.dynamic_resize with either sizes or scales that stretch";
    return false;
  }
  I64s axes = ListOf(n, "axes", rank);
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  Shape from = shape;
  std::vector<double> numbers, region(2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) return false;
    const Unknown out = shape[static_cast<size_t>(axes[i])];
    int64_t in = Pick(1, 4);
    if (scales != nullptr) {
      const int64_t times = Pick(1, 2);
      if (!Known(out)) Unify(out, Number(in * times));
      if (Value(out) % times != 0 || Value(out) == 0) return false;
      in = Value(out) / times;
      numbers.push_back(static_cast<double>(times));
    } else {
      if (!Known(out)) Unify(out, Number(Pick(1, 5)));
      numbers.push_back(static_cast<double>(Value(out)));
    }
    region[axes.size() + i] = 1;
    from[static_cast<size_t>(axes[i])] = Number(in);
  }
  return Give(scales != nullptr ? *scales : *sizes, numbers,
              scales != nullptr ? DType::kF32 : DType::kI64) &&
         (roi == nullptr || Give(*roi, region, DType::kF32)) && Demand(*Operand(n, 0), from);
}

bool Planner::CumulateOperands(uint16_t n, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return false;
  const std::vector<double>* given = GivenTo(Operand(n, 1));
  const std::vector<double> axis = {given != nullptr ? (*given)[0]
                                                     : static_cast<double>(Pick(-rank, rank - 1))};
  return Give(*Operand(n, 1), axis, DType::kI64, true) && Demand(*Operand(n, 0), shape);
}

bool Planner::RangeOperands(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  if (shape.size() != 1) return false;
  static constexpr double kSteps[] = {1, 1, 2, -1, -2, 3};
  const std::vector<double>* given[] = {GivenTo(Operand(n, 0)), GivenTo(Operand(n, 1)),
                                        GivenTo(Operand(n, 2))};
  const double step = given[2] != nullptr ? (*given[2])[0] : kSteps[Pick(0, 5)];
  const double start = given[0] != nullptr ? (*given[0])[0] : Pick(-3, 3);
  const double limit =
      given[1] != nullptr ? (*given[1])[0] : start + step * static_cast<double>(Value(shape[0]));
  // They have the element type of the program.
  return Give(*Operand(n, 0), {start}, DType::kInvalid, true) &&
         Give(*Operand(n, 1), {limit}, DType::kInvalid, true) &&
         Give(*Operand(n, 2), {step}, DType::kInvalid, true);
}

// How many there are is left to the numbers.
bool Planner::NonZeroOperand(uint16_t n, const Shape& shape) {
  at_run_time_ = true;
  sparse_ = true;
  if (shape.size() != 2) return false;
  const int known = KnownRank(*Operand(n, 0));
  const int rank = known >= 0 ? known : Pick(1, 3);
  return Unify(shape[0], Number(rank)) && Demand(*Operand(n, 0), FreshShape(rank));
}

bool Planner::UniqueOperand(uint16_t n, int result, const Shape& shape) {
  at_run_time_ = true;
  sparse_ = true;
  const bool flat = FlagOf(n, "flat");
  if (std::find(live_ops_.begin(), live_ops_.end(), n) != live_ops_.end()) return true;
  live_ops_.push_back(n);
  if ((flat || result > 0) && shape.size() != 1) return false;
  const int known = KnownRank(*Operand(n, 0));
  Shape from = known >= 0 ? FreshShape(known) : FreshShape(Pick(1, 3));
  if (!flat && result == 0) from = FreshShape(static_cast<int>(shape.size()));
  const int rank = static_cast<int>(from.size());
  if (!flat && (rank == 0 || IntOf(n, "axis", rank) >= rank)) return false;
  return Demand(*Operand(n, 0), from);
}

}  // namespace tenon::drr
