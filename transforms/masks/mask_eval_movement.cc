// Elements of operations that move elements: which element of which operand they are.
#include <algorithm>

#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/masks/mask_eval.h"

namespace tenon::mask {
namespace {

using Kind = Term::Kind;

bool Ranked(Operation* op) {
  for (OpOperand& operand : op->operands()) {
    if (!operand.get().type().is_tensor()) return false;
  }
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (!op->result(i).type().is_tensor()) return false;
  }
  return true;
}

}  // namespace

std::optional<Ref> Evaluator::Movement(Operation* op, Value value, const Index& index) {
  if (!Ranked(op)) return std::nullopt;
  switch (op->id()) {
    case core::ConstantOp::kId: {
      const Attribute elements = core::ConstantOp(op).value();
      const DType dtype = value.type().dtype();
      const TableFunction* f = tables_.Find(elements);
      if (f == nullptr) return std::nullopt;
      const Affine zero = Affine::Of(op->context(), 0);
      const Affine col = f->col_axis < 0 ? zero : index[f->col_axis];
      if (f->kind == TableFunction::Kind::kAffine) {
        return store_.Integer(dtype, col * f->step + f->first);
      }
      const Affine distance = f->row_axis < 0 ? col : col - index[f->row_axis];
      Ref made = store_.Number(dtype, f->values[0]);
      for (size_t k = 1; k < f->values.size(); ++k) {
        made = store_.IfThenElse(store_.AtLeastZero(distance + (-f->starts[k])),
                                 store_.Number(dtype, f->values[k]), made);
      }
      return made;
    }
    case core::DimsOp::kId: {
      const std::span<const DimExpr> dims = core::DimsOp(op).dims();
      if (index.empty()) return store_.Integer(DType::kI64, Affine::Of(dims[0]));
      if (!index[0].is_constant() || !index[0].constant.is_constant()) return std::nullopt;
      const int64_t at = index[0].constant.constant();
      if (at < 0 || at >= static_cast<int64_t>(dims.size())) return std::nullopt;
      return store_.Integer(DType::kI64, Affine::Of(dims[at]));
    }
    case ten::RangeOp::kId:
      return Range(op, index);
    case ten::ReshapeOp::kId:
      return Reshape(op, index);
    case ten::ExpandOp::kId:
      return Expand(op, index);
    case ten::TileOp::kId: {
      const ten::TileOp tile(op);
      Index at;
      for (size_t i = 0; i < index.size(); ++i) {
        const bool unit = tile.x().type().dim(static_cast<int64_t>(i)).is_constant(1);
        if (!unit && !tile.repeats()[i].is_constant(1)) return std::nullopt;
        at.push_back(unit ? Affine::Of(op->context(), 0) : index[i]);
      }
      return Element(tile.x(), at);
    }
    case ten::TransposeOp::kId: {
      const ten::TransposeOp transpose(op);
      Index at(index.size(), Affine::Of(op->context(), 0));
      for (size_t i = 0; i < index.size(); ++i) at[transpose.perm()[i]] = index[i];
      return Element(transpose.x(), at);
    }
    case ten::SliceOp::kId:
      return Slice(op, index);
    case ten::SplitOp::kId:
      return Split(op, value, index);
    case ten::ConcatOp::kId:
      return Concat(op, index);
    case ten::PadOp::kId:
      return Pad(op, index);
    case ten::GatherOp::kId:
      return Gather(op, index);
    case ten::GatherElementsOp::kId:
      return GatherElements(op, index);
    case ten::GatherNdOp::kId:
      return GatherNd(op, index);
    case ten::ScatterNdOp::kId:
      return ScatterNd(op, index);
    case ten::TriluOp::kId:
      return Trilu(op, index);
    case ten::CumsumOp::kId:
      return Cumsum(op, index);
    default:
      return std::nullopt;
  }
}

std::optional<Ref> Evaluator::Range(Operation* op, const Index& index) {
  const ten::RangeOp range(op);
  const std::optional<Affine> start = AffineElement(range.start(), {});
  const std::optional<Affine> delta = AffineElement(range.delta(), {});
  const DType dtype = range.out().type().dtype();
  if (!start || !delta || !delta->is_constant() || !HoldsPositions(dtype)) return std::nullopt;
  return store_.Integer(dtype, index[0] * delta->constant + *start);
}

std::optional<Ref> Evaluator::Expand(Operation* op, const Index& index) {
  const ten::ExpandOp expand(op);
  const Type out = expand.out().type();
  if (expand.x().type().rank() > out.rank()) return std::nullopt;
  return BroadcastElement(expand.x(), out.dims(), index);
}

std::optional<Ref> Evaluator::Slice(Operation* op, const Index& index) {
  const ten::SliceOp slice(op);
  const Type type = slice.x().type();
  Index at = index;
  for (size_t i = 0; i < slice.axes().size(); ++i) {
    const int64_t axis = slice.axes()[i], step = slice.steps()[i];
    if (step < 1) return std::nullopt;
    DimExpr start = slice.starts()[i];
    if (start.is_constant() && start.constant() < 0) start = type.dim(axis) + start;
    if (!store_.ranges.NonNegative(Affine::Of(start))) return std::nullopt;
    // A start behind the end leaves nothing whose position could be asked for.
    at[axis] = at[axis] * step + start;
  }
  return Element(slice.x(), at);
}

std::optional<Ref> Evaluator::Split(Operation* op, Value value, const Index& index) {
  const ten::SplitOp split(op);
  Index at = index;
  for (unsigned i = 0; i < value.result_index(); ++i) {
    at[split.axis()] = at[split.axis()] + split.sizes()[i];
  }
  return Element(split.x(), at);
}

bool Evaluator::IsPlain(const Index& index) const {
  return std::all_of(index.begin(), index.end(), [&](const Affine& a) {
    const bool one = a.terms.size() == 1 && a.terms[0].second.is_constant(1);
    return (a.terms.empty() || one) && store_.ranges.NonNegative(Affine::Of(a.constant));
  });
}

bool Evaluator::HasPlainLeaves(Ref r) const {
  std::set<Ref> seen;  // terms share their arguments
  const auto plain = [&](const auto& self, Ref terminal) -> bool {
    if (!seen.insert(terminal).second) return true;
    const Term& t = store_.term(terminal);
    return (t.kind != Kind::kLeaf || IsPlain(t.index)) &&
           std::all_of(t.arguments.begin(), t.arguments.end(),
                       [&](Ref a) { return self(self, a); });
  };
  const std::set<Ref> ends = store_.EndsOf(r);
  const std::set<AtomId> atoms = store_.AtomsOf(r);
  return std::all_of(ends.begin(), ends.end(), [&](Ref end) { return plain(plain, end); }) &&
         std::all_of(atoms.begin(), atoms.end(), [&](AtomId a) {
           const Atom& atom = store_.atom(a);
           return atom.kind != Atom::Kind::kNonZero || plain(plain, atom.term);
         });
}

std::optional<Ref> Evaluator::Concat(Operation* op, const Index& index) {
  const int64_t axis = ten::ConcatOp(op).axis();
  Index at = index;
  std::vector<Ref> parts, inside;
  for (OpOperand& operand : op->operands()) {
    const DimExpr extent = operand.get().type().dim(axis);
    // Is the position before the end of this part, or after it?
    const Ref before = store_.AtLeastZero(Affine::Of(extent) - at[axis] + (-1));
    inside.push_back(before);
    parts.push_back(store_.is_bool(before, false) ? store_.Bool(false)
                                                  : Element(operand.get(), at));
    if (store_.is_bool(before, true)) break;
    at[axis] = at[axis] - Affine::Of(extent);
  }
  Ref made = parts.back();
  for (size_t i = parts.size() - 1; i-- > 0;) {
    made = store_.is_bool(inside[i], false) ? made : store_.IfThenElse(inside[i], parts[i], made);
  }
  return made;
}

std::optional<Ref> Evaluator::Pad(Operation* op, const Index& index) {
  const ten::PadOp pad(op);
  if (pad.mode() != "constant") return std::nullopt;
  Index at = index;
  Ref inside = store_.Bool(true);
  for (size_t i = 0; i < index.size(); ++i) {
    const DimExpr begin = pad.pads()[i], end = pad.pads()[i + index.size()];
    if (begin.is_constant(0) && end.is_constant(0)) continue;
    at[i] = index[i] - Affine::Of(begin);
    const DimExpr extent = pad.x().type().dim(static_cast<int64_t>(i));
    inside = store_.And(inside, store_.AtLeastZero(at[i]));
    inside = store_.And(inside, store_.AtLeastZero(Affine::Of(extent) - at[i] + (-1)));
  }
  Ref outside = store_.Number(pad.x().type().dtype(), 0);
  if (pad.value()) {
    const int64_t rank = pad.value().type().rank();
    outside = Element(pad.value(), Index(rank, Affine::Of(op->context(), 0)));
  }
  const Ref made = store_.IfThenElse(inside, Element(pad.x(), at), outside);
  return made;
}

std::optional<Ref> Evaluator::Gather(Operation* op, const Index& index) {
  const ten::GatherOp gather(op);
  const int64_t axis = gather.axis(), rank = gather.indices().type().rank();
  const Index picked(index.begin() + axis, index.begin() + axis + rank);
  const Ref indices = Element(gather.indices(), picked);
  bool known = true;
  const Ref made = store_.Map({&indices, 1}, [&](std::span<const Ref> ends) {
    const Term t = store_.term(ends[0]);
    std::optional<Affine> at;
    if (t.kind == Kind::kAffine) at = Wrapped(t.affine, gather.x().type().dim(axis));
    if (!at) {
      known = false;
      return ends[0];
    }
    Index from(index.begin(), index.begin() + axis);
    from.push_back(*at);
    from.insert(from.end(), index.begin() + axis + rank, index.end());
    return Element(gather.x(), from);
  });
  return known ? std::optional<Ref>(made) : std::nullopt;
}

std::optional<Ref> Evaluator::GatherElements(Operation* op, const Index& index) {
  const ten::GatherElementsOp gather(op);
  const std::optional<Affine> picked = AffineElement(gather.indices(), index);
  if (!picked) return std::nullopt;
  const std::optional<Affine> at = Wrapped(*picked, gather.x().type().dim(gather.axis()));
  if (!at) return std::nullopt;
  Index from = index;
  from[gather.axis()] = *at;
  return Element(gather.x(), from);
}

std::optional<Ref> Evaluator::GatherNd(Operation* op, const Index& index) {
  const ten::GatherNdOp gather(op);
  const Type indices = gather.indices().type();
  const DimExpr depth = indices.dim(-1);
  const int64_t batch = gather.batch_dims(), outer = indices.rank() - 1;
  if (!depth.is_constant()) return std::nullopt;
  Index from(index.begin(), index.begin() + batch);
  Index tuple(index.begin(), index.begin() + outer);
  tuple.push_back(Affine::Of(op->context(), 0));
  for (int64_t k = 0; k < depth.constant(); ++k) {
    tuple.back() = Affine::Of(op->context(), k);
    const std::optional<Affine> picked = AffineElement(gather.indices(), tuple);
    if (!picked) return std::nullopt;
    const std::optional<Affine> at = Wrapped(*picked, gather.x().type().dim(batch + k));
    if (!at) return std::nullopt;
    from.push_back(*at);
  }
  from.insert(from.end(), index.begin() + outer, index.end());
  return Element(gather.x(), from);
}

std::optional<Ref> Evaluator::ScatterNd(Operation* op, const Index& index) {
  const ten::ScatterNdOp scatter(op);
  const Type indices = scatter.indices().type(), updates = scatter.updates().type();
  const DimExpr depth = indices.dim(-1);
  if (scatter.reduction() != "none" || !depth.is_constant()) return std::nullopt;
  // Row-wise slices: update u goes to u + offset, axis by axis.
  const int64_t outer = indices.rank() - 1;
  if (depth.constant() != outer) return std::nullopt;
  Index tuple;
  for (int64_t k = 0; k < outer; ++k) {
    const bool unit = Known(updates.dim(k)).is_constant(1);
    tuple.push_back(unit ? Affine::Of(op->context(), 0)
                         : Affine::Of(op->context(), store_.ranges.Add(updates.dim(k)), 1));
  }
  Index from = index;
  Ref inside = store_.Bool(true);
  for (int64_t k = 0; k < outer; ++k) {
    Index component = tuple;
    component.push_back(Affine::Of(op->context(), k));
    const std::optional<Affine> target = AffineElement(scatter.indices(), component);
    if (!target) return std::nullopt;
    const std::optional<Affine> wrapped = Wrapped(*target, scatter.x().type().dim(k));
    if (!wrapped) return std::nullopt;
    const Affine offset = *wrapped - tuple[k];
    if (!offset.is_constant()) return std::nullopt;
    from[k] = index[k] - offset;
    // Updates that cover the whole axis leave nothing of the tensor below.
    const bool whole =
        offset.is_constant(0) && DimExpr::ProvablyEqual(updates.dim(k), scatter.x().type().dim(k));
    if (whole) continue;
    inside = store_.And(inside, store_.AtLeastZero(from[k]));
    inside = store_.And(inside, store_.AtLeastZero(Affine::Of(updates.dim(k)) - from[k] + (-1)));
  }
  if (store_.is_bool(inside, true)) return Element(scatter.updates(), from);
  const Ref made =
      store_.IfThenElse(inside, Element(scatter.updates(), from), Element(scatter.x(), index));
  return made;
}

std::optional<Ref> Evaluator::Trilu(Operation* op, const Index& index) {
  const ten::TriluOp trilu(op);
  const size_t rank = index.size();
  if (rank < 2) return std::nullopt;
  const Affine above = index[rank - 1] - index[rank - 2] + (-trilu.diagonal());
  const Ref keep = store_.AtLeastZero(trilu.upper() ? above : above * -1);
  return store_.IfThenElse(keep, Element(trilu.x(), index),
                           store_.Number(trilu.out().type().dtype(), 0));
}

std::optional<Ref> Evaluator::Cumsum(Operation* op, const Index& index) {
  const ten::CumsumOp cumsum(op);
  // Of equal integers only: their sum is a multiple of their number.
  const std::optional<Affine> element = AffineElement(cumsum.x(), index);
  const DType dtype = cumsum.out().type().dtype();
  if (!element || !element->is_constant() || !HoldsPositions(dtype)) return std::nullopt;
  const Affine at = index[cumsum.axis()];
  const Affine before =
      cumsum.reverse() ? Affine::Of(cumsum.x().type().dim(cumsum.axis())) - at + (-1) : at;
  const Affine count = cumsum.exclusive() ? before : before + 1;
  return store_.Integer(dtype, count * element->constant);
}

}  // namespace tenon::mask
