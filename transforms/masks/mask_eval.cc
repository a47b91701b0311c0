// Elements of constants and of elementwise operations.
#include "transforms/masks/mask_eval.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "ir/core/dims/dim_expr_rewrite.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::mask {
namespace {

using Kind = Term::Kind;

Ref CastTerm(TermStore& store, Operation* op, Ref r) {
  const Term t = store.term(r);
  const DType to = op->result().type().dtype();
  if (to == t.dtype) return r;
  if (to == DType::kBool) return store.NonZero(r);
  if (t.kind == Kind::kNumber) {
    if (IsFloat(to)) return store.Number(to, t.number);
    if (t.dtype == DType::kBool) return store.Number(to, t.number);
    if (std::isfinite(t.number) && std::abs(t.number) < 127) {
      return store.Number(to, std::trunc(t.number));
    }
  } else if (t.kind == Kind::kAffine) {
    if (t.affine.is_constant() && t.affine.constant.is_constant()) {
      const int64_t v = t.affine.constant.constant();
      if (IsFloat(to)) return store.Number(to, static_cast<double>(v));
      const int64_t limit = to == DType::kI64 ? INT64_MAX : to == DType::kI32 ? INT32_MAX : 127;
      if (v >= 0 && v <= limit) return store.Integer(to, t.affine);
      if (HoldsPositions(to) && v < 0 && v >= -limit) return store.Integer(to, t.affine);
    } else if (IsInt(to) && HoldsPositions(to)) {
      return store.Integer(to, t.affine);
    }
  }
  return store.Apply(op, {&r, 1});
}

// The integer that a term is, also behind a cast to a float.
std::optional<Affine> IntegerOf(const TermStore& store, Ref r) {
  const Term& t = store.term(r);
  if (t.kind == Kind::kAffine) return t.affine;
  if (t.kind == Kind::kApply && Isa<ten::CastOp>(t.op) && HoldsPositions(t.dtype)) {
    const Term& from = store.term(t.arguments[0]);
    if (from.kind == Kind::kAffine) return from.affine;
  }
  if (t.kind == Kind::kNumber && IsFloat(t.dtype) && t.number == std::floor(t.number) &&
      std::abs(t.number) < (1 << 24)) {
    return Affine::Of(store.ranges.context(), static_cast<int64_t>(t.number));
  }
  return std::nullopt;
}

std::optional<Ref> Compare(TermStore& store, OpId id, Ref a, Ref b) {
  const Term &x = store.term(a), &y = store.term(b);
  if (x.kind == Kind::kNumber && y.kind == Kind::kNumber) {
    const double p = x.number, q = y.number;
    switch (id) {
      case ten::EqualOp::kId:
        return store.Bool(p == q);
      case ten::LessOp::kId:
        return store.Bool(p < q);
      case ten::LessEqualOp::kId:
        return store.Bool(p <= q);
      case ten::GreaterOp::kId:
        return store.Bool(p > q);
      default:
        return store.Bool(p >= q);
    }
  }
  if (id == ten::EqualOp::kId && x.dtype != DType::kBool) {
    const auto opaque = [](const Term& t) {
      return t.kind == Kind::kLeaf || t.kind == Kind::kApply;
    };
    if (opaque(x) && store.is_number(b, 0)) return store.Not(store.NonZero(a));
    if (opaque(y) && store.is_number(a, 0)) return store.Not(store.NonZero(b));
  }
  const std::optional<Affine> p = IntegerOf(store, a), q = IntegerOf(store, b);
  if (!p || !q) return std::nullopt;
  const Affine difference = *q - *p;
  switch (id) {
    case ten::EqualOp::kId:
      return store.And(store.AtLeastZero(difference), store.AtLeastZero(difference * -1));
    case ten::LessOp::kId:
      return store.AtLeastZero(difference + (-1));
    case ten::LessEqualOp::kId:
      return store.AtLeastZero(difference);
    case ten::GreaterOp::kId:
      return store.AtLeastZero(difference * -1 + (-1));
    default:
      return store.AtLeastZero(difference * -1);
  }
}

std::optional<Ref> IntegerArithmetic(TermStore& store, OpId id, const Term& x, const Term& y) {
  const Affine a = x.affine, b = y.affine;
  const DType dtype = x.dtype;
  if (!HoldsPositions(dtype)) {
    // Small integers wrap; only what surely does not is computed.
    const auto small = [](const Affine& v) {
      return v.is_constant() && v.constant.is_constant() && v.constant.constant() >= 0 &&
             v.constant.constant() <= 11;
    };
    if (!small(a) || !small(b)) return std::nullopt;
    if (id == ten::SubOp::kId && a.constant.constant() < b.constant.constant()) return std::nullopt;
  }
  switch (id) {
    case ten::AddOp::kId:
      return store.Integer(dtype, a + b);
    case ten::SubOp::kId:
      return store.Integer(dtype, a - b);
    case ten::MulOp::kId:
      if (a.is_constant()) return store.Integer(dtype, b * a.constant);
      if (b.is_constant()) return store.Integer(dtype, a * b.constant);
      return std::nullopt;
    case ten::MinOp::kId:
      return store.IfThenElse(store.AtLeastZero(b - a), store.Integer(dtype, a),
                              store.Integer(dtype, b));
    case ten::MaxOp::kId:
      return store.IfThenElse(store.AtLeastZero(a - b), store.Integer(dtype, a),
                              store.Integer(dtype, b));
    default:
      return std::nullopt;
  }
}

// min and max give NaN if either is NaN.
double Extreme(double p, double q, bool least) {
  if (std::isnan(p) || std::isnan(q)) return std::nan("");
  return least ? std::min(p, q) : std::max(p, q);
}

std::optional<Ref> Arithmetic(TermStore& store, OpId id, Ref a, Ref b) {
  const Term x = store.term(a), y = store.term(b);
  if (x.kind == Kind::kAffine && y.kind == Kind::kAffine) return IntegerArithmetic(store, id, x, y);
  if (x.kind == Kind::kNumber && y.kind == Kind::kNumber && IsFloat(x.dtype)) {
    const double p = x.number, q = y.number;
    switch (id) {
      case ten::AddOp::kId:
        return store.Number(x.dtype, p + q);
      case ten::SubOp::kId:
        return store.Number(x.dtype, p - q);
      case ten::MulOp::kId:
        return store.Number(x.dtype, p * q);
      case ten::DivOp::kId:
        return store.Number(x.dtype, p / q);
      case ten::MinOp::kId:
        return store.Number(x.dtype, Extreme(p, q, true));
      case ten::MaxOp::kId:
        return store.Number(x.dtype, Extreme(p, q, false));
      default:
        return std::nullopt;
    }
  }
  if (id == ten::AddOp::kId && store.is_number(a, 0)) return b;
  if ((id == ten::AddOp::kId || id == ten::SubOp::kId) && store.is_number(b, 0)) return a;
  if (id == ten::MulOp::kId && store.is_number(a, 1)) return b;
  if ((id == ten::MulOp::kId || id == ten::DivOp::kId) && store.is_number(b, 1)) return a;
  return std::nullopt;
}

// Exact results only: what a kernel rounds is left to it.
std::optional<Ref> Unary(TermStore& store, Operation* op, Ref a) {
  const Term x = store.term(a);
  if (x.kind == Kind::kAffine && HoldsPositions(x.dtype)) {
    if (Isa<ten::NegOp>(op)) return store.Integer(x.dtype, x.affine * -1);
    if (Isa<ten::AbsOp>(op)) {
      return store.IfThenElse(store.AtLeastZero(x.affine), a,
                              store.Integer(x.dtype, x.affine * -1));
    }
  }
  if (x.kind != Kind::kNumber || !IsFloat(x.dtype)) return std::nullopt;
  switch (op->id()) {
    case ten::NegOp::kId:
      return store.Number(x.dtype, -x.number);
    case ten::AbsOp::kId:
      return store.Number(x.dtype, std::abs(x.number));
    case ten::IsNanOp::kId:
      return store.Bool(std::isnan(x.number));
    case ten::LogOp::kId:
      if (x.number == 0 || x.number == 1) return store.Number(x.dtype, std::log(x.number));
      return std::nullopt;
    case ten::ClipOp::kId: {
      const ten::ClipOp clip(op);
      if (std::isnan(x.number)) return a;
      return store.Number(x.dtype, std::min(std::max(x.number, clip.min()), clip.max()));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

bool HoldsPositions(DType d) {
  return d == DType::kI32 || d == DType::kI64 || d == DType::kF32 || d == DType::kF64;
}

Ref ApplyElementwise(TermStore& store, Operation* op, std::span<const Ref> arguments) {
  std::optional<Ref> made;
  switch (op->id()) {
    case ten::CastOp::kId:
      return CastTerm(store, op, arguments[0]);
    case ten::WhereOp::kId:
      return store.term(arguments[0]).number != 0 ? arguments[1] : arguments[2];
    case ten::NotOp::kId:
      return store.Bool(store.term(arguments[0]).number == 0);
    case ten::AndOp::kId:
      return store.Bool(store.term(arguments[0]).number * store.term(arguments[1]).number != 0);
    case ten::OrOp::kId:
      return store.Bool(store.term(arguments[0]).number + store.term(arguments[1]).number != 0);
    case ten::XorOp::kId:
      return store.Bool(store.term(arguments[0]).number != store.term(arguments[1]).number);
    case ten::EqualOp::kId:
    case ten::LessOp::kId:
    case ten::LessEqualOp::kId:
    case ten::GreaterOp::kId:
    case ten::GreaterEqualOp::kId:
      made = Compare(store, op->id(), arguments[0], arguments[1]);
      break;
    default:
      if (arguments.size() == 1) made = Unary(store, op, arguments[0]);
      if (arguments.size() == 2) made = Arithmetic(store, op->id(), arguments[0], arguments[1]);
  }
  return made ? *made : store.Apply(op, arguments);
}

Index PositionsOf(std::span<const DimExpr> dims) {
  Index index;
  for (Var v = 0; v < kScoreVars; ++v) {
    Context& context = dims[v].context();
    index.push_back(dims[v].is_constant(1) ? Affine::Of(context, 0) : Affine::Of(context, v, 1));
  }
  return index;
}

Ref Evaluator::Element(Value value, const Index& index) {
  std::string key = fmt::format("{}", static_cast<const void*>(value.impl()));
  for (const Affine& a : index) {
    // Positions of unknown extents are not comparable.
    key += fmt::format(",{}", a.known() ? a.text() : fmt::format("?{}", done_.size()));
  }
  if (const auto it = done_.find(key); it != done_.end()) return it->second;
  ++depth_;
  const Ref made = Derive(value, index);
  --depth_;
  done_.emplace(std::move(key), made);
  return made;
}

Ref Evaluator::Derive(Value value, const Index& index) {
  Operation* op = value.defining_op();
  if (op == nullptr || depth_ > kMaxDepth || !store_.ok() || !op->info().is_registered()) {
    return store_.Leaf(value, index);
  }
  std::optional<Ref> made;
  if (op->Has(Trait::kElementwise) || Isa<ten::CastOp>(op)) {
    made = Elementwise(op, index);
  } else {
    made = Movement(op, value, index);
    // Where elements come from behind is left to the operation.
    if (made && IsPlain(index) && !HasPlainLeaves(*made)) made = std::nullopt;
  }
  return made ? *made : store_.Leaf(value, index);
}

void Evaluator::TakeForOne(std::span<const DimExpr> extents) {
  ones_.assign(extents.begin(), extents.end());
  for (DimExpr e : extents) {
    if (e.kind() == DimExpr::Kind::kSymbol)
      store_.ranges.Assume(e, DimExpr::Constant(e.context(), 1));
  }
}

DimExpr Evaluator::Known(DimExpr extent) const {
  if (ones_.empty() || extent.is_unknown()) return extent;
  const DimExpr one = DimExpr::Constant(extent.context(), 1);
  const auto known = [&](DimExpr e) {
    return std::find(ones_.begin(), ones_.end(), e) != ones_.end() ? std::optional(one)
                                                                   : std::nullopt;
  };
  if (known(extent)) return one;
  const DimExpr found = Rewrite(extent, known);
  // Cut to the scores, of which there is one at least.
  for (Var v = 0; v < kScoreVars; ++v) {
    if (!(found == extent) && found == Min(one, store_.ranges.extent(v))) return one;
  }
  return found;
}

Ref Evaluator::BroadcastElement(Value value, std::span<const DimExpr> dims, const Index& index) {
  const Type type = value.type();
  Index at;
  const size_t skipped = dims.size() - type.rank();
  for (int64_t axis = 0; axis < type.rank(); ++axis) {
    const DimExpr own = Known(type.dim(axis)), out = Known(dims[skipped + axis]);
    if (own.is_constant(1)) {
      at.push_back(Affine::Of(own.context(), 0));
      continue;
    }
    if (!store_.ranges.Equal(own, out)) assumptions_.emplace_back(own, out);
    at.push_back(index[skipped + axis]);
  }
  return Element(value, at);
}

std::optional<Ref> Evaluator::Elementwise(Operation* op, const Index& index) {
  const Type out = op->result().type();
  if (!out.is_tensor() || op->num_results() != 1) return std::nullopt;
  std::vector<Ref> arguments;
  for (OpOperand& operand : op->operands()) {
    const Type type = operand.get().type();
    if (!type.is_tensor() || type.rank() > out.rank()) return std::nullopt;
    arguments.push_back(BroadcastElement(operand.get(), out.dims(), index));
  }
  return store_.Map(arguments,
                    [&](std::span<const Ref> ends) { return ApplyElementwise(store_, op, ends); });
}

std::optional<Affine> Evaluator::AffineElement(Value value, const Index& index) {
  const Term& t = store_.term(Element(value, index));
  return t.kind == Term::Kind::kAffine ? std::optional<Affine>(t.affine) : std::nullopt;
}

std::optional<Affine> Evaluator::Wrapped(const Affine& index, DimExpr extent) const {
  if (store_.ranges.NonNegative(index)) return index;
  if (store_.ranges.Negative(index)) return index + extent;
  return std::nullopt;
}

}  // namespace tenon::mask
