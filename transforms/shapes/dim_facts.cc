#include "transforms/shapes/dim_facts.h"

#include <algorithm>

#include "ir/core/dims/dim_expr_rewrite.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/shapes/extent_requirements.h"

namespace tenon {
namespace {

using DimKind = DimExpr::Kind;

// More make proofs slow, and models do not have them.
constexpr size_t kMaxBounds = 16;

std::vector<std::string_view> SymbolsOf(DimExpr e) {
  std::vector<std::string_view> symbols;
  e.CollectSymbols(symbols);
  return symbols;
}

bool Mentions(DimExpr e, DimExpr term) {
  bool found = false;
  Rewrite(e, [&](DimExpr t) -> std::optional<DimExpr> {
    found |= t == term;
    return std::nullopt;
  });
  return found;
}

// Of the terms of an equation, the one with the highest rank goes.
int Rank(DimExpr term, bool kept) {
  switch (term.kind()) {
    case DimKind::kSymbol:
      return kept ? 1 : 5;
    case DimKind::kBroadcast:
      return 4;
    case DimKind::kMin:
      return 3;
    default:
      return 2;
  }
}

// The terms that stand in `e` with factor 1 or -1.
std::vector<DimExpr> UnitTerms(DimExpr e) {
  std::vector<DimExpr> found;
  Rewrite(e, [&](DimExpr term) -> std::optional<DimExpr> {
    const DimExpr rest = e - term, sum = e + term;
    if (!Mentions(rest, term) || !Mentions(sum, term)) found.push_back(term);
    return std::nullopt;
  });
  return found;
}

}  // namespace

bool DimFacts::Proves(DimExpr a, DimExpr b) const {
  if (DimExpr::ProvablyLessEqual(a, b)) return true;
  return std::any_of(non_negative_.begin(), non_negative_.end(),
                     [&](DimExpr bound) { return DimExpr::ProvablyLessEqual(a + bound, b); });
}

DimExpr DimFacts::Resolve(DimExpr e) const {
  if (empty() || e.is_constant() || e.is_unknown()) return e;
  return Rewrite(e, [&](DimExpr term) -> std::optional<DimExpr> {
    if (const auto it = values_.find(term.text()); it != values_.end()) return it->second;
    if (term.kind() != DimKind::kMin) return std::nullopt;
    const DimExpr a = FirstOperand(term), b = SecondOperand(term);
    if (Proves(a, b)) return a;
    if (Proves(b, a)) return b;
    return std::nullopt;
  });
}

Type DimFacts::Resolve(Type type) const {
  if (!type || !type.is_tensor() || type.is_static()) return type;
  std::vector<DimExpr> dims;
  for (DimExpr d : type.dims()) dims.push_back(Resolve(d));
  return Type::Tensor(type.context(), type.dtype(), dims);
}

bool DimFacts::Resolve(Operation& op) const {
  bool changed = false;
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    const Attribute old = op.slot(i);
    if (!old || old.kind() != Attribute::Kind::kDims) continue;
    std::vector<DimExpr> dims;
    for (DimExpr d : old.dims()) dims.push_back(Resolve(d));
    const Attribute now = Attribute::Dims(op.context(), dims);
    if (now == old) continue;
    op.set_slot(i, now);
    changed = true;
  }
  for (unsigned i = 0; i < op.num_results(); ++i) changed |= Resolve(op.result(i));
  return changed;
}

bool DimFacts::Resolve(Value value) const {
  const Type now = Resolve(value.type());
  if (now == value.type()) return false;
  value.set_type(now);
  return true;
}

bool DimFacts::Resolve(Block& block) const {
  bool changed = false;
  for (unsigned i = 0; i < block.num_arguments(); ++i) changed |= Resolve(block.argument(i));
  return changed;
}

// What a term is said in must be known wherever the term is.
bool DimFacts::MayReplace(DimExpr term, DimExpr value) const {
  if (value.is_unknown() || Mentions(value, term)) return false;
  const auto kept = [&](std::string_view s) { return kept_.count(s) > 0; };
  const std::vector<std::string_view> own = SymbolsOf(term), others = SymbolsOf(value);
  return !std::all_of(own.begin(), own.end(), kept) ||
         std::all_of(others.begin(), others.end(), kept);
}

bool DimFacts::Define(DimExpr term, DimExpr value) {
  value = Resolve(value);
  if (!MayReplace(term, value) || !values_.emplace(term.text(), value).second) return false;
  for (auto& [other, known] : values_) known = Resolve(known);
  if (term.kind() == DimKind::kMin) {
    // min(a, b) = a
    if (FirstOperand(term) == value) AssumeNonNegative(SecondOperand(term) - value);
    if (SecondOperand(term) == value) AssumeNonNegative(FirstOperand(term) - value);
  }
  return true;
}

void DimFacts::Define(Type old, Type now) {
  if (!old.is_tensor() || !now.is_tensor() || old.rank() != now.rank()) return;
  for (int64_t i = 0; i < old.rank(); ++i) {
    const DimExpr d = old.dim(i);
    if (d == now.dim(i) || d.kind() != DimKind::kSymbol || kept_.count(d.symbol()) > 0) continue;
    Define(d, now.dim(i));
  }
}

void DimFacts::Equate(DimExpr a, DimExpr b) {
  a = Resolve(a), b = Resolve(b);
  if (a == b || a.is_unknown() || b.is_unknown()) return;
  const DimExpr difference = a - b;
  if (difference.is_unknown() || difference.is_constant()) return;
  DimExpr best;
  std::pair<int, size_t> best_rank;
  for (DimExpr term : UnitTerms(difference)) {
    const auto kept = term.kind() == DimKind::kSymbol ? kept_.find(term.symbol()) : kept_.end();
    const std::pair<int, size_t> rank(Rank(term, kept != kept_.end()),
                                      kept != kept_.end() ? kept->second : 0);
    const DimExpr less = difference - term;
    const DimExpr value = Mentions(less, term) ? difference + term : less * -1;
    if (!MayReplace(term, value) || (best && rank <= best_rank)) continue;
    best = term, best_rank = rank;
  }
  if (!best) return;
  const DimExpr less = difference - best;
  learned_ |= Define(best, Mentions(less, best) ? difference + best : less * -1);
}

void DimFacts::AssumeNonNegative(DimExpr e) {
  e = Resolve(e);
  if (e.is_unknown() || non_negative_.size() >= kMaxBounds ||
      Proves(DimExpr::Constant(e.context(), 0), e)) {
    return;
  }
  non_negative_.push_back(e);
  for (auto& [other, known] : values_) known = Resolve(known);
  learned_ = true;
}

// a and b are equal, or one of them is 1. The same holds for their parts: each part of a broadcast
// is the whole or 1.
void DimFacts::LearnBroadcast(DimExpr a, DimExpr b) {
  const auto whole_and_parts = [this](DimExpr e) {
    e = Resolve(e);
    std::vector<DimExpr> all = BroadcastParts(e);
    if (all.size() > 1) all.push_back(e);
    return all;
  };
  const std::vector<DimExpr> others = whole_and_parts(b);
  for (DimExpr x : whole_and_parts(a)) {
    for (DimExpr y : others) LearnPair(x, y);
  }
}

void DimFacts::LearnPair(DimExpr a, DimExpr b) {
  a = Resolve(a), b = Resolve(b);
  if (a == b || a.is_constant(1) || b.is_constant(1) || a.is_unknown() || b.is_unknown()) return;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    // The last x elements of an axis of 2 or more, if x > 0, else all of them.
    if (y.kind() == DimKind::kSymbol) {
      const auto tail = tails_.find(y.symbol());
      if (tail != tails_.end() && Resolve(tail->second) == x) learned_ |= Define(y, x);
    }
    // min(x, c) with c > 1 is 1 only where x is.
    if (y.kind() == DimKind::kMin) {
      const DimExpr p = FirstOperand(y) == x ? SecondOperand(y) : FirstOperand(y);
      const bool is_bound = (FirstOperand(y) == x || SecondOperand(y) == x) && p.is_constant();
      if (is_bound && p.constant() > 1) AssumeNonNegative(p - x);
    }
    if (x.is_constant() && x.constant() > 1) AssumeNonNegative(x - y);
  }
}

void DimFacts::LearnTails(Operation& op) {
  const ten::SliceOp slice(&op);
  const Type x = op.operand(0).type(), out = op.result().type();
  if (!x.is_tensor() || !out.is_tensor()) return;
  const ten::SliceOp::Attrs attrs = slice.attrs();
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    const int64_t axis = attrs.axes[i];
    if (axis >= x.rank() || axis >= out.rank()) return;
    const DimExpr extent = x.dim(axis), now = out.dim(axis), start = attrs.starts[i];
    if (now.kind() != DimKind::kSymbol || !extent.is_constant() || extent.constant() < 2) continue;
    const bool to_end = DimExpr::ProvablyLessEqual(extent, attrs.ends[i]);
    const DimExpr zero = DimExpr::Constant(op.context(), 0);
    if (to_end && attrs.steps[i] == 1 && DimExpr::ProvablyLessEqual(start, zero))
      tails_.insert_or_assign(std::string(now.symbol()), zero - start);
  }
}

void DimFacts::Learn(Operation& op) {
  if (op.id() == ten::SliceOp::kId) LearnTails(op);
  // A reshape between extents known to be equal is removed, and what it demands would be forgotten.
  if (op.id() == ten::ReshapeOp::kId) return;
  ForEachDemand(op, [this](const DimDemand& demand) {
    switch (demand.kind) {
      case DimDemand::Kind::kEqual:
        return Equate(demand.a, demand.b);
      case DimDemand::Kind::kBroadcast:
        return LearnBroadcast(demand.a, demand.b);
      case DimDemand::Kind::kNonNegative:
        return AssumeNonNegative(demand.a);
    }
  });
}

}  // namespace tenon
