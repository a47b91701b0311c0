#include "transforms/shapes/value_ranges.h"

#include <algorithm>

#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

constexpr int kMaxDepth = 24;

bool IsInteger(Type type) {
  return type.is_tensor() && (type.dtype() == DType::kI64 || type.dtype() == DType::kI32);
}

DimExpr Zero(DimExpr e) { return DimExpr::Constant(e.context(), 0); }

// No axis of which both operands have more than one element: each element of one meets each of the
// other.
bool Independent(Type a, Type b) {
  for (int64_t i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    if (!a.dim(a.rank() - i).is_constant(1) && !b.dim(b.rank() - i).is_constant(1)) return false;
  }
  return true;
}

class Finder {
 public:
  explicit Finder(const ShapeData& data) : data_(data) {}

  std::optional<ValueRange> Find(Value value, int depth) const {
    if (!IsInteger(value.type())) return std::nullopt;
    if (const ShapeElements* known = data_.FindKnown(value)) return OfElements(*known);
    const Operation* op = value.defining_op();
    if (op == nullptr || depth == 0) return std::nullopt;
    switch (op->id()) {
      case ten::CastOp::kId:
      case ten::ReshapeOp::kId:
      case ten::TransposeOp::kId:
      case ten::ExpandOp::kId:
        return Find(op->operand(0), depth - 1);
      case ten::RangeOp::kId:
        return OfRange(*op);
      case ten::AddOp::kId:
      case ten::SubOp::kId:
      case ten::MulOp::kId:
        return OfArithmetic(*op, depth - 1);
      default:
        return std::nullopt;
    }
  }

 private:
  static std::optional<ValueRange> OfElements(const ShapeElements& elements) {
    std::optional<ValueRange> range;
    for (DimExpr e : elements) {
      if (!range) range = {e, e};
      if (DimExpr::ProvablyLessEqual(e, range->least)) range->least = e;
      if (DimExpr::ProvablyLessEqual(range->greatest, e)) range->greatest = e;
      if (!DimExpr::ProvablyLessEqual(range->least, e) ||
          !DimExpr::ProvablyLessEqual(e, range->greatest))
        return std::nullopt;
    }
    return range;
  }

  std::optional<ValueRange> OfRange(const Operation& op) const {
    const ShapeElements *start = data_.FindKnown(op.operand(0)),
                        *step = data_.FindKnown(op.operand(2));
    const Type out = op.result().type();
    if (start == nullptr || step == nullptr || start->size() != 1 || step->size() != 1 ||
        out.dim(0).is_unknown() || !step->front().is_constant()) {
      return std::nullopt;
    }
    const DimExpr first = start->front(),
                  last = first + (out.dim(0) - 1) * step->front().constant();
    if (last.is_unknown()) return std::nullopt;
    return step->front().constant() > 0 ? ValueRange{first, last} : ValueRange{last, first};
  }

  std::optional<ValueRange> OfArithmetic(const Operation& op, int depth) const {
    std::optional<ValueRange> a = Find(op.operand(0), depth), b = Find(op.operand(1), depth);
    if (!a || !b || !Independent(op.operand(0).type(), op.operand(1).type())) return std::nullopt;
    ValueRange range;
    if (op.id() == ten::AddOp::kId) {
      range = {a->least + b->least, a->greatest + b->greatest};
    } else if (op.id() == ten::SubOp::kId) {
      range = {a->least - b->greatest, a->greatest - b->least};
    } else {
      if (a->least != a->greatest) std::swap(a, b);
      const DimExpr factor = a->least;
      if (factor != a->greatest || !DimExpr::ProvablyLessEqual(Zero(factor), factor))
        return std::nullopt;
      range = {b->least * factor, b->greatest * factor};
    }
    if (range.least.is_unknown() || range.greatest.is_unknown()) return std::nullopt;
    return range;
  }

  const ShapeData& data_;
};

}  // namespace

std::optional<ValueRange> RangeOfValues(Value value, const ShapeData& data) {
  return Finder(data).Find(value, kMaxDepth);
}

}  // namespace tenon
