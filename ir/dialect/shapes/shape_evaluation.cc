#include "ir/dialect/shapes/shape_evaluation.h"

#include <algorithm>
#include <cmath>

#include "ir/core/context/context.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/shapes/index_tuple.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_arithmetic.h"
#include "ir/dialect/shapes/shape_floats.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using elements::Abs;
using elements::AsBool;
using elements::BroadcastPosition;
using elements::Count;
using elements::Divide;
using elements::Logic;
using elements::Not;
using elements::Ravel;
using elements::Remainder;
using elements::Select;
using elements::Shape;
using elements::Truth;
using elements::Unravel;

bool Tracked(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kBool ||
         IsShapeFloat(dtype);
}

// Extents of a tracked tensor that is small enough; nullopt for all other types.
std::optional<Shape> SmallShape(Type type) {
  if (!type.is_tensor() || !Tracked(type.dtype()) || !type.is_static()) return std::nullopt;
  const int64_t n = type.num_elements();
  const int64_t most = IsFloat(type.dtype()) ? kMaxFloats : ShapeData::kMaxElements;
  if (n < 0 || n > most) return std::nullopt;
  Shape shape;
  for (DimExpr d : type.dims()) shape.push_back(d.constant());
  return shape;
}

// Evaluates one operation. All results of it have one tracked type each.
class Evaluation {
 public:
  Evaluation(const ShapeData& data, Operation& op) : data_(data), op_(op), context_(op.context()) {}

  // Elements of result 0; empty optional if nothing can be said.
  std::optional<ShapeElements> Run();

 private:
  DimExpr Unknown() const { return DimExpr::Unknown(context_); }

  // Elements and extents of operand i.
  bool Load(unsigned i, ShapeElements& elements, Shape& shape) const {
    if (i >= op_.num_operands()) return false;
    const ShapeElements* found = data_.FindWithFloats(op_.operand(i));
    const std::optional<Shape> extents = SmallShape(op_.operand(i).type());
    if (found == nullptr || !extents) return false;
    elements = *found;
    shape = *extents;
    return true;
  }

  // As Load, but an operand of a small type of which nothing is known gives unknown elements.
  bool LoadPartly(unsigned i, ShapeElements& elements, Shape& shape) const {
    if (Load(i, elements, shape)) return true;
    const std::optional<Shape> extents = SmallShape(op_.operand(i).type());
    if (!extents) return false;
    shape = *extents;
    elements.assign(Count(shape), Unknown());
    return true;
  }

  std::optional<ShapeElements> Constant() const;
  std::optional<ShapeElements> Extents() const;
  template <typename F>
  std::optional<ShapeElements> Elementwise(F&& f) const;
  template <typename F>
  std::optional<ShapeElements> Unary(F&& f) const {
    return Elementwise([&](std::span<const DimExpr> v) { return f(v[0]); });
  }
  template <typename F>
  std::optional<ShapeElements> Binary(F&& f) const {
    return Elementwise([&](std::span<const DimExpr> v) {
      return v[0].is_unknown() || v[1].is_unknown() ? Unknown() : f(v[0], v[1]);
    });
  }
  template <typename F>
  std::optional<ShapeElements> Move(F&& position) const;
  template <typename F>
  std::optional<ShapeElements> Reduce(DimExpr init, F&& f) const;
  std::optional<ShapeElements> SameOrder() const;
  std::optional<ShapeElements> Gather() const;
  std::optional<ShapeElements> Slice() const;
  std::optional<ShapeElements> Concat() const;
  std::optional<ShapeElements> Range() const;
  std::optional<ShapeElements> Cast() const;
  std::optional<ShapeElements> Clip() const;
  std::optional<ShapeElements> SumOfEqual() const;

  const ShapeData& data_;
  Operation& op_;
  Context& context_;
};

std::optional<ShapeElements> Evaluation::Constant() const {
  const Attribute value = op_.attr("value");
  if (!value || value.kind() != Attribute::Kind::kElements) return std::nullopt;
  ShapeElements elements;
  const int64_t n = value.type().num_elements();
  const bool floats = IsFloat(value.type().dtype());
  for (int64_t i = 0; i < n; ++i) {
    elements.push_back(floats ? FloatConstant(context_, value.ElementAsDouble(i))
                              : DimExpr::Constant(context_, value.ElementAsInt(i)));
  }
  return elements;
}

std::optional<ShapeElements> Evaluation::Extents() const {
  const Type x = op_.operand(0).type();
  if (!x.is_tensor()) return std::nullopt;
  const ten::ShapeOp shape(&op_);
  if (shape.start() < 0 || shape.start() > shape.end() || shape.end() > x.rank())
    return std::nullopt;
  const std::span<const DimExpr> dims =
      x.dims().subspan(shape.start(), shape.end() - shape.start());
  return ShapeElements(dims.begin(), dims.end());
}

// f of the broadcast operands at each position.
template <typename F>
std::optional<ShapeElements> Evaluation::Elementwise(F&& f) const {
  const unsigned n = op_.num_operands();
  absl::InlinedVector<ShapeElements, 3> elements(n);
  absl::InlinedVector<Shape, 3> shapes(n);
  for (unsigned i = 0; i < n; ++i) {
    if (!LoadPartly(i, elements[i], shapes[i])) return std::nullopt;
  }
  const std::optional<Shape> out = SmallShape(op_.result().type());
  ShapeElements result;
  absl::InlinedVector<DimExpr, 3> at(n);
  for (int64_t p = 0; p < Count(*out); ++p) {
    const Shape index = Unravel(p, *out);
    for (unsigned i = 0; i < n; ++i) {
      const int64_t position = BroadcastPosition(index, shapes[i]);
      if (position < 0 || position >= static_cast<int64_t>(elements[i].size())) return std::nullopt;
      at[i] = elements[i][position];
    }
    result.push_back(f(std::span<const DimExpr>(at)));
  }
  return result;
}

// Operand 0's elements at position(result's index tuple, operand 0's extents).
template <typename F>
std::optional<ShapeElements> Evaluation::Move(F&& position) const {
  ShapeElements x;
  Shape shape;
  if (!Load(0, x, shape)) return std::nullopt;
  const std::optional<Shape> out = SmallShape(op_.result().type());
  ShapeElements result;
  for (int64_t p = 0; p < Count(*out); ++p) {
    const int64_t from = position(Unravel(p, *out), shape);
    if (from < 0 || from >= static_cast<int64_t>(x.size())) return std::nullopt;
    result.push_back(x[from]);
  }
  return result;
}

template <typename F>
std::optional<ShapeElements> Evaluation::Reduce(DimExpr init, F&& f) const {
  ShapeElements x;
  Shape shape;
  if (!Load(0, x, shape) || (x.empty() && !init)) return std::nullopt;
  const Attribute axes_attr = op_.attr("axes");
  const std::span<const int64_t> axes = axes_attr.ints();
  Shape kept_shape;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) == axes.end()) {
      kept_shape.push_back(shape[k]);
    }
  }
  ShapeElements result(Count(kept_shape), init);
  for (int64_t p = 0; p < static_cast<int64_t>(x.size()); ++p) {
    const Shape index = Unravel(p, shape);
    Shape kept;
    for (size_t k = 0; k < shape.size(); ++k) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) == axes.end()) {
        kept.push_back(index[k]);
      }
    }
    DimExpr& into = result[Ravel(kept, kept_shape)];
    // A null start takes the first element.
    into = into ? (into.is_unknown() || x[p].is_unknown() ? Unknown() : f(into, x[p])) : x[p];
  }
  return result;
}

std::optional<ShapeElements> Evaluation::SameOrder() const {
  ShapeElements x;
  Shape shape;
  if (!Load(0, x, shape) || Count(*SmallShape(op_.result().type())) != Count(shape)) {
    return std::nullopt;
  }
  return x;
}

std::optional<ShapeElements> Evaluation::Gather() const {
  ShapeElements x;
  Shape shape;
  const auto indices = data_.FindConstants(op_.operand(1));
  if (!indices || !Load(0, x, shape)) return std::nullopt;
  const int64_t axis = ten::GatherOp(&op_).axis();
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) return std::nullopt;
  int64_t outer = 1, inner = 1;
  for (int64_t k = 0; k < axis; ++k) outer *= shape[k];
  for (size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
  ShapeElements result;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : *indices) {
      if (index < 0) index += shape[axis];
      if (index < 0 || index >= shape[axis]) return std::nullopt;
      for (int64_t i = 0; i < inner; ++i) {
        result.push_back(x[(o * shape[axis] + index) * inner + i]);
      }
    }
  }
  return result;
}

std::optional<ShapeElements> Evaluation::Slice() const {
  const ten::SliceOp slice(&op_);
  const std::span<const int64_t> axes = slice.axes(), steps = slice.steps();
  const Type x = op_.operand(0).type();
  if (!SmallShape(x)) return std::nullopt;
  Shape first(x.rank(), 0), step(x.rank(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!slice.starts()[i].is_constant() || !slice.ends()[i].is_constant()) return std::nullopt;
    const int64_t extent = x.dim(axes[i]).constant();
    int64_t start = slice.starts()[i].constant();
    if (start < 0) start = start < -extent ? 0 : start + extent;
    first[axes[i]] = std::min(start, steps[i] > 0 ? extent : extent - 1);
    step[axes[i]] = steps[i];
  }
  return Move([&](Shape index, const Shape& shape) {
    for (size_t k = 0; k < index.size(); ++k) index[k] = first[k] + index[k] * step[k];
    return Ravel(index, shape);
  });
}

std::optional<ShapeElements> Evaluation::Concat() const {
  const int64_t axis = ten::ConcatOp(&op_).axis();
  const std::optional<Shape> out = SmallShape(op_.result().type());
  if (axis < 0 || axis >= static_cast<int64_t>(out->size())) return std::nullopt;
  ShapeElements result(Count(*out), Unknown());
  int64_t offset = 0;
  for (unsigned i = 0; i < op_.num_operands(); ++i) {
    ShapeElements part;
    Shape shape;
    if (!LoadPartly(i, part, shape) || shape.size() != out->size()) return std::nullopt;
    for (int64_t p = 0; p < static_cast<int64_t>(part.size()); ++p) {
      Shape index = Unravel(p, shape);
      index[axis] += offset;
      const int64_t to = Ravel(index, *out);
      if (to < 0 || to >= static_cast<int64_t>(result.size())) return std::nullopt;
      result[to] = part[p];
    }
    offset += shape[axis];
  }
  return result;
}

std::optional<ShapeElements> Evaluation::Range() const {
  DimExpr bounds[2];
  for (unsigned i : {0u, 2u}) {
    const ShapeElements* e = data_.FindWithFloats(op_.operand(i));
    if (e == nullptr || e->size() != 1 || e->front().is_unknown()) return std::nullopt;
    bounds[i / 2] = (*e)[0];
  }
  ShapeElements result;
  const int64_t n = op_.result().type().num_elements();
  for (int64_t i = 0; i < n; ++i) result.push_back(bounds[0] + bounds[1] * i);
  return result;
}

std::optional<ShapeElements> Evaluation::Cast() const {
  const DType from = op_.operand(0).type().dtype(), to = op_.result().type().dtype();
  if (to == DType::kBool) return Unary([&](DimExpr x) { return Truth(context_, AsBool(x)); });
  if (IsFloat(to) && !IsFloat(from)) return Unary(FloatFromInt);
  if (IsFloat(from) && !IsFloat(to)) return Unary(IntFromFloat);
  return Unary([](DimExpr x) { return x; });
}

std::optional<ShapeElements> Evaluation::Clip() const {
  const ten::ClipOp clip(&op_);
  const auto bound = [&](double value) {
    if (IsFloat(op_.result().type().dtype())) return FloatConstant(context_, value);
    const bool is_whole = std::abs(value) < 0x1p53 && value == std::trunc(value);
    return is_whole ? DimExpr::Constant(context_, static_cast<int64_t>(value)) : Unknown();
  };
  return Unary([&](DimExpr x) {
    for (const bool is_min : {true, false}) {
      const double value = is_min ? clip.min() : clip.max();
      if (std::isinf(value) && (value < 0) == is_min) continue;
      const DimExpr to = bound(value);
      if (x.is_unknown() || to.is_unknown()) return Unknown();
      x = is_min ? Max(x, to) : Min(x, to);
    }
    return x;
  });
}

// The sum of all elements of an expanded number.
std::optional<ShapeElements> Evaluation::SumOfEqual() const {
  const ten::ExpandOp expand = DefinedBy<ten::ExpandOp>(op_.operand(0));
  const Type x = op_.operand(0).type();
  if (!expand || !x.is_tensor() || op_.result().type().num_elements() != 1) return std::nullopt;
  const ShapeElements* one = data_.FindWithFloats(expand.x());
  if (one == nullptr || one->size() != 1 || one->front().is_unknown()) return std::nullopt;
  return ShapeElements{one->front() * Product(context_, x.dims())};
}

std::optional<ShapeElements> Evaluation::Run() {
  if (!SmallShape(op_.result().type())) return std::nullopt;
  const bool floats = IsFloat(op_.result().type().dtype());
  switch (op_.id()) {
    case core::ConstantOp::kId:
      return Constant();
    case core::DimsOp::kId: {
      const std::span<const DimExpr> dims = core::DimsOp(&op_).dims();
      return ShapeElements(dims.begin(), dims.end());
    }
    case ten::ShapeOp::kId:
      return Extents();
    case ten::ReshapeOp::kId:
    case ten::DynamicReshapeOp::kId:
      return SameOrder();
    case ten::ExpandOp::kId:
    case ten::DynamicExpandOp::kId:
      return Move([](const Shape& index, const Shape& x) { return BroadcastPosition(index, x); });
    case ten::TransposeOp::kId: {
      const std::span<const int64_t> perm = ten::TransposeOp(&op_).perm();
      return Move([&](const Shape& index, const Shape& x) {
        Shape from(index.size());
        for (size_t k = 0; k < perm.size(); ++k) from[perm[k]] = index[k];
        return Ravel(from, x);
      });
    }
    case ten::TileOp::kId:
      return Move([](Shape index, const Shape& x) {
        for (size_t k = 0; k < x.size(); ++k) index[k] %= x[k];
        return Ravel(index, x);
      });
    case ten::GatherOp::kId:
      return Gather();
    case ten::SliceOp::kId:
      return Slice();
    case ten::ConcatOp::kId:
      return Concat();
    case ten::RangeOp::kId:
      return Range();
    case ten::CastOp::kId:
      return Cast();
    case ten::AbsOp::kId:
      return Unary(Abs);
    case ten::NegOp::kId:
      return Unary([](DimExpr x) { return x * -1; });
    case ten::ReluOp::kId:
      return Unary([&](DimExpr x) { return Max(x, DimExpr::Constant(context_, 0)); });
    case ten::ClipOp::kId:
      return Clip();
    case ten::NotOp::kId:
      return Unary([&](DimExpr x) { return Truth(context_, Not(AsBool(x))); });
    case ten::AddOp::kId:
      return Binary([](DimExpr a, DimExpr b) { return a + b; });
    case ten::SubOp::kId:
      return Binary([](DimExpr a, DimExpr b) { return a - b; });
    case ten::MulOp::kId:
      if (floats) return Binary(FloatProduct);
      return Binary([](DimExpr a, DimExpr b) { return a * b; });
    case ten::CheckRangeOp::kId:
      // What a run may refuse stays to be checked.
      if (floats) return std::nullopt;
      return Elementwise([&](std::span<const DimExpr> v) {
        const bool known = !v[0].is_unknown() && !v[1].is_unknown() && !v[2].is_unknown();
        return known && DimExpr::ProvablyLessEqual(v[1], v[0]) &&
                       DimExpr::ProvablyLessEqual(v[0], v[2])
                   ? v[0]
                   : Unknown();
      });
    case ten::DivOp::kId:
      return Binary(floats ? FloatQuotient : Divide);
    case ten::FloorOp::kId:
      return Unary(FloatFloor);
    case ten::CeilOp::kId:
      return Unary(FloatCeil);
    case ten::RoundOp::kId:
      return Unary(FloatRound);
    case ten::ModOp::kId: {
      if (floats) return std::nullopt;
      const bool fmod = ten::ModOp(&op_).fmod();
      return Binary([&](DimExpr a, DimExpr b) { return Remainder(a, b, fmod); });
    }
    case ten::MaxOp::kId:
      return Binary([](DimExpr a, DimExpr b) { return Max(a, b); });
    case ten::MinOp::kId:
      return Binary([](DimExpr a, DimExpr b) { return Min(a, b); });
    case ten::EqualOp::kId:
      return Binary([&](DimExpr a, DimExpr b) { return Truth(context_, DecideEqual(a, b)); });
    case ten::LessOp::kId:
      return Binary([&](DimExpr a, DimExpr b) { return Truth(context_, DecideLess(a, b)); });
    case ten::GreaterOp::kId:
      return Binary([&](DimExpr a, DimExpr b) { return Truth(context_, DecideLess(b, a)); });
    case ten::LessEqualOp::kId:
      return Binary([&](DimExpr a, DimExpr b) { return Truth(context_, Not(DecideLess(b, a))); });
    case ten::GreaterEqualOp::kId:
      return Binary([&](DimExpr a, DimExpr b) { return Truth(context_, Not(DecideLess(a, b))); });
    case ten::AndOp::kId:
      return Elementwise([](std::span<const DimExpr> v) { return Logic(v[0], v[1], true); });
    case ten::OrOp::kId:
      return Elementwise([](std::span<const DimExpr> v) { return Logic(v[0], v[1], false); });
    case ten::XorOp::kId:
      return Binary([&](DimExpr a, DimExpr b) { return Truth(context_, Not(DecideEqual(a, b))); });
    case ten::WhereOp::kId:
      return Elementwise([](std::span<const DimExpr> v) { return Select(v[0], v[1], v[2]); });
    case ten::ReduceSumOp::kId:
      if (!SmallShape(op_.operand(0).type())) return SumOfEqual();
      return Reduce(DimExpr::Constant(context_, 0), [](DimExpr a, DimExpr b) { return a + b; });
    case ten::ReduceProdOp::kId:
      if (floats) return std::nullopt;
      return Reduce(DimExpr::Constant(context_, 1), [](DimExpr a, DimExpr b) { return a * b; });
    case ten::ReduceMaxOp::kId:
      return Reduce(DimExpr(), [](DimExpr a, DimExpr b) { return Max(a, b); });
    case ten::ReduceMinOp::kId:
      return Reduce(DimExpr(), [](DimExpr a, DimExpr b) { return Min(a, b); });
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ShapeElements> EvaluateElements(const ShapeData& data, Operation& op) {
  std::optional<ShapeElements> elements = Evaluation(data, op).Run();
  if (elements && IsFloat(op.result().type().dtype())) {
    for (DimExpr& e : *elements) e = IfExact(e);
  }
  return elements;
}

}  // namespace tenon
