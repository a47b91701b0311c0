#include "ir/dialect/shapes/shape_data.h"

#include <algorithm>
#include <limits>

#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_evaluation.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {

std::optional<bool> DecideEqual(DimExpr a, DimExpr b) {
  if (a.is_unknown() || b.is_unknown()) return std::nullopt;
  if (DimExpr::ProvablyEqual(a, b)) return true;
  if (ProvablyDifferent(a, b)) return false;
  if (DimExpr::ProvablyLessEqual(a + 1, b) || DimExpr::ProvablyLessEqual(b + 1, a)) return false;
  return std::nullopt;
}

std::optional<bool> DecideLess(DimExpr a, DimExpr b) {
  if (a.is_unknown() || b.is_unknown()) return std::nullopt;
  if (DimExpr::ProvablyLessEqual(b, a)) return false;
  if (DimExpr::ProvablyLessEqual(a + 1, b)) return true;
  return std::nullopt;
}

DimExpr RangeExtent(DimExpr start, DimExpr limit, DimExpr delta) {
  Context& context = start.context();
  if (start.is_unknown() || limit.is_unknown() || !delta.is_constant() || delta.is_constant(0) ||
      delta.constant() == std::numeric_limits<int64_t>::min()) {
    return DimExpr::Unknown(context);
  }
  const int64_t step = delta.constant();
  const DimExpr distance = step > 0 ? limit - start : start - limit;
  if (distance.is_unknown()) return distance;
  const DimExpr room = Max(distance, DimExpr::Constant(context, 0));
  return step == 1 || step == -1 ? room : CeilDiv(room, step > 0 ? step : -step);
}

void ShapeData::Visit(Operation& op) {
  if (!op.info().is_registered()) return;
  if (op.id() == ten::SplitOp::kId) {
    // The only op with several results: parts of a vector of known sizes.
    const ShapeElements* x = FindWithFloats(op.operand(0));
    if (x == nullptr || op.operand(0).type().rank() != 1) return;
    const ShapeElements all = *x;
    size_t begin = 0;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const Type type = op.result(i).type();
      if (!type.is_tensor() || !type.is_static()) return;
      const size_t n = static_cast<size_t>(type.num_elements());
      if (n > all.size() - begin) return;
      Set(op.result(i), ShapeElements(all.begin() + begin, all.begin() + begin + n));
      begin += n;
    }
    return;
  }
  if (op.num_results() != 1) return;
  std::optional<ShapeElements> elements = EvaluateElements(*this, op);
  if (!elements) return;
  // An i32 that would wrap is not tracked.
  if (op.result().type().dtype() == DType::kI32) {
    for (DimExpr& e : *elements) {
      if (!e.is_constant()) continue;
      const int64_t v = e.constant();
      if (v != static_cast<int32_t>(v)) e = DimExpr::Unknown(op.context());
    }
  }
  Set(op.result(), *std::move(elements));
}

const ShapeElements* ShapeData::Find(Value value) const {
  return IsFloat(value.type().dtype()) ? nullptr : FindWithFloats(value);
}

const ShapeElements* ShapeData::FindWithFloats(Value value) const {
  const auto it = elements_.find(value.impl());
  return it == elements_.end() ? nullptr : &it->second;
}

const ShapeElements* ShapeData::FindKnown(Value value) const {
  const ShapeElements* e = Find(value);
  if (e == nullptr) return nullptr;
  return std::any_of(e->begin(), e->end(), [](DimExpr d) { return d.is_unknown(); }) ? nullptr : e;
}

std::optional<absl::InlinedVector<int64_t, 6>> ShapeData::FindConstants(Value value) const {
  const ShapeElements* e = Find(value);
  if (e == nullptr) return std::nullopt;
  absl::InlinedVector<int64_t, 6> numbers;
  for (DimExpr d : *e) {
    if (!d.is_constant()) return std::nullopt;
    numbers.push_back(d.constant());
  }
  return numbers;
}

void ShapeData::Forget(const Operation& op) {
  for (unsigned i = 0; i < op.num_results(); ++i) elements_.erase(op.result(i).impl());
}

void ShapeData::Set(Value value, ShapeElements elements) {
  const bool useless = !elements.empty() && std::all_of(elements.begin(), elements.end(),
                                                        [](DimExpr d) { return d.is_unknown(); });
  if (useless) {
    elements_.erase(value.impl());
  } else {
    elements_[value.impl()] = std::move(elements);
  }
}

}  // namespace tenon
