#include "drr/rewrite/measuring.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tenon::drr {
namespace {

using Weight = MeasuredOp::Weight;

Value ResultOf(const Operation& op, unsigned r) { return const_cast<Operation&>(op).result(r); }

std::optional<int64_t> ElementsOf(Type type) {
  if (!type.is_tensor() || !type.is_static()) return std::nullopt;
  return type.num_elements();
}

std::optional<int64_t> ElementsMade(const Operation& op, bool bytes) {
  int64_t sum = 0;
  for (unsigned r = 0; r < op.num_results(); ++r) {
    const Type type = ResultOf(op, r).type();
    const std::optional<int64_t> elements = ElementsOf(type);
    if (!elements) return std::nullopt;
    sum += *elements * (bytes ? static_cast<int64_t>(SizeOf(type.dtype())) : 1);
  }
  return sum;
}

std::optional<int64_t> ElementsRead(const Operation& op) {
  int64_t sum = 0;
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const std::optional<int64_t> elements = ElementsOf(op.operand(i).type());
    if (!elements) return std::nullopt;
    sum += *elements;
  }
  return sum;
}

int64_t Exchanges(const Operation& op) {
  const int slot = op.info().FindSlot("perm");
  if (slot < 0 || !op.slot(static_cast<unsigned>(slot))) return 0;
  const std::span<const int64_t> perm = op.slot(static_cast<unsigned>(slot)).ints();
  int64_t pairs = 0;
  for (size_t i = 0; i < perm.size(); ++i)
    pairs += std::count_if(perm.begin() + static_cast<ptrdiff_t>(i), perm.end(),
                           [&](int64_t axis) { return axis < perm[i]; });
  return pairs;
}

int64_t Negatives(const Operation& op) {
  int64_t count = 0;
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const Operation* def = op.operand(i).defining_op();
    if (def == nullptr || !def->Has(Trait::kConstantLike)) continue;
    const Attribute elements = def->slot(0);
    if (!elements || elements.kind() != Attribute::Kind::kElements ||
        elements.type().num_elements() == 0)
      continue;
    count += elements.ElementAsDouble(0) < 0 ? 1 : 0;
  }
  return count;
}

int64_t RankOfResult(const Operation& op) {
  if (op.num_results() == 0) return 0;
  const Type type = ResultOf(op, 0).type();
  return type.is_tensor() ? type.rank() : 0;
}

bool Fits(const Operation& op, const MeasuredOp& measured) {
  if (op.name() != measured.name) return false;
  if (measured.attr.empty()) return true;
  const auto* number = std::get_if<int64_t>(&measured.value);
  if (measured.attr == "rank") return number != nullptr && RankOfResult(op) == *number;
  if (measured.attr == "operands")
    return number != nullptr && static_cast<int64_t>(op.num_operands()) == *number;
  const int slot = op.info().FindSlot(measured.attr);
  if (slot < 0) return false;
  const Attribute is = op.slot(static_cast<unsigned>(slot));
  if (!is) return false;
  if (number == nullptr)
    return is.kind() == Attribute::Kind::kString &&
           is.str() == std::get<std::string>(measured.value);
  if (is.kind() == Attribute::Kind::kBool) return is.bool_value() == (*number != 0);
  if (is.kind() != Attribute::Kind::kInteger) return false;
  return is.int_value() == *number ||
         (*number < 0 && is.int_value() >= 0 && is.int_value() - RankOfResult(op) == *number);
}

// What the operation counts among `measured`. Nullopt: extents that it needs are unknown.
std::optional<int64_t> Count(const Operation& op, const std::vector<MeasuredOp>& measured) {
  int64_t sum = 0;
  for (const MeasuredOp& one : measured) {
    if (!Fits(op, one)) continue;
    std::optional<int64_t> count = 1;
    if (one.weight == Weight::kAxes) count = RankOfResult(op);
    if (one.weight == Weight::kExchanges) count = Exchanges(op);
    if (one.weight == Weight::kOperands) count = op.num_operands();
    if (one.weight == Weight::kNegatives) count = Negatives(op);
    if (one.weight == Weight::kReads) count = ElementsRead(op);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

// What operations of `measured` count among `ops` from which an operand is computed.
std::optional<int64_t> Below(Value operand, std::span<Operation* const> ops,
                             const std::vector<MeasuredOp>& measured) {
  std::optional<int64_t> sum = 0;
  std::set<const Operation*> seen;
  std::vector<const Operation*> open;
  const auto visit = [&](const Operation* below) {
    if (below == nullptr || !sum ||
        (!below->Has(Trait::kConstantLike) &&
         std::find(ops.begin(), ops.end(), below) == ops.end()) ||
        !seen.insert(below).second)
      return;
    const std::optional<int64_t> count = Count(*below, measured);
    sum = count ? std::optional<int64_t>(*sum + *count) : std::nullopt;
    open.push_back(below);
  };
  visit(operand.defining_op());
  while (!open.empty()) {
    const Operation* at = open.back();
    open.pop_back();
    for (unsigned i = 0; i < at->num_operands(); ++i) visit(at->operand(i).defining_op());
  }
  return sum;
}

// Each operand counts for itself: operands may be one value, of which a rule replaces one after the
// other.
std::optional<int64_t> Before(const Operation& op, std::span<Operation* const> ops,
                              const Measure& measure) {
  int64_t sum = 0;
  for (const MeasuredOp& behind : measure.behind) {
    if (!Fits(op, behind)) continue;
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      if (behind.operand >= 0 && static_cast<unsigned>(behind.operand) != i) continue;
      const std::optional<int64_t> below = Below(op.operand(i), ops, measure.ops);
      if (!below) return std::nullopt;
      sum += *below;
    }
  }
  return sum;
}

}  // namespace

std::optional<int64_t> MeasureOf(const Measure& measure, std::span<Operation* const> ops) {
  int64_t sum = 0;
  for (const Operation* op : ops) {
    std::optional<int64_t> count = 0;
    switch (measure.kind) {
      case Measure::Kind::kNone:
      case Measure::Kind::kWords:
        return std::nullopt;
      case Measure::Kind::kOps:
        count = Count(*op, measure.ops);
        break;
      case Measure::Kind::kBefore:
        count = Before(*op, ops, measure);
        break;
      case Measure::Kind::kElements:
      case Measure::Kind::kBytes:
        if (!op->Has(Trait::kConstantLike))
          count = ElementsMade(*op, measure.kind == Measure::Kind::kBytes);
        break;
    }
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

std::vector<Operation*> WithoutConstants(std::span<Operation* const> ops) {
  std::set<const Operation*> constant;
  std::vector<Operation*> left;
  for (Operation* op : ops) {
    const bool of_constants =
        op->num_operands() > 0 && op->num_regions() == 0 &&
        std::all_of(op->operands().begin(), op->operands().end(), [&](const OpOperand& operand) {
          const Operation* def = operand.get().defining_op();
          return def != nullptr && (def->Has(Trait::kConstantLike) || constant.contains(def));
        });
    of_constants ? void(constant.insert(op)) : left.push_back(op);
  }
  return left;
}

}  // namespace tenon::drr
