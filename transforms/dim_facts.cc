#include "transforms/dim_facts.h"

#include <algorithm>
#include <vector>

#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

bool Mentions(DimExpr e, std::string_view symbol) {
  std::vector<std::string_view> symbols;
  e.CollectSymbols(symbols);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

}  // namespace

DimExpr DimFacts::Resolve(DimExpr e) const {
  if (values_.empty() || e.is_constant() || e.is_unknown()) return e;
  return e.Substitute([&](std::string_view symbol) -> std::optional<DimExpr> {
    const auto it = values_.find(symbol);
    if (it == values_.end()) return std::nullopt;
    return it->second;
  });
}

Type DimFacts::Resolve(Type type) const {
  if (values_.empty() || !type || !type.is_tensor() || type.is_static()) return type;
  std::vector<DimExpr> dims;
  for (DimExpr d : type.dims()) dims.push_back(Resolve(d));
  return Type::Tensor(type.context(), type.dtype(), dims);
}

bool DimFacts::Resolve(Operation& op) const {
  if (values_.empty()) return false;
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

bool DimFacts::Define(DimExpr symbol, DimExpr value) {
  if (symbol.kind() != DimExpr::Kind::kSymbol || kept_.count(symbol.symbol()) > 0) return false;
  return Store(symbol, Resolve(value));
}

bool DimFacts::Store(DimExpr symbol, DimExpr value) {
  if (value.is_unknown() || Mentions(value, symbol.symbol())) return false;
  const std::string name(symbol.symbol());
  if (!values_.emplace(name, value).second) return false;
  for (auto& [other, known] : values_) {
    if (Mentions(known, name)) known = Resolve(known);
  }
  return true;
}

void DimFacts::Define(Type old, Type now) {
  if (!old.is_tensor() || !now.is_tensor() || old.rank() != now.rank()) return;
  for (int64_t i = 0; i < old.rank(); ++i) {
    if (!(old.dim(i) == now.dim(i))) Define(old.dim(i), now.dim(i));
  }
}

// Of two symbols the second goes: what was seen first is known first.
void DimFacts::Equate(DimExpr a, DimExpr b) {
  if (a == b || a.is_unknown() || b.is_unknown()) return;
  const bool b_goes = b.kind() == DimExpr::Kind::kSymbol && kept_.count(b.symbol()) == 0;
  learned_ |= (b_goes ? Define(b, a) : Define(a, b)) || DefineInput(b, a) || DefineInput(a, b);
}

bool DimFacts::DefineInput(DimExpr symbol, DimExpr value) {
  if (symbol.kind() != DimExpr::Kind::kSymbol || kept_.count(symbol.symbol()) == 0) return false;
  value = Resolve(value);
  std::vector<std::string_view> symbols;
  value.CollectSymbols(symbols);
  const bool from_inputs = std::all_of(symbols.begin(), symbols.end(),
                                       [&](std::string_view s) { return kept_.count(s) > 0; });
  return from_inputs && !symbols.empty() && Store(symbol, value);
}

void DimFacts::Learn(const Operation& op) {
  if (op.id() == ten::ConcatOp::kId) {
    const Type first = op.operand(0).type();
    const int64_t axis = op.attr("axis").int_value();
    for (unsigned i = 1; i < op.num_operands(); ++i) {
      const Type other = op.operand(i).type();
      if (!first.is_tensor() || !other.is_tensor() || first.rank() != other.rank()) continue;
      for (int64_t k = 0; k < first.rank(); ++k) {
        if (k != axis) Equate(first.dim(k), other.dim(k));
      }
    }
  } else if (op.id() == ten::MatmulOp::kId) {
    const Type a = op.operand(0).type(), b = op.operand(1).type();
    if (!a.is_tensor() || !b.is_tensor() || a.rank() < 2 || b.rank() < 2) return;
    const ten::MatmulOp matmul(const_cast<Operation*>(&op));
    Equate(a.dim(matmul.transpose_a() ? -2 : -1), b.dim(matmul.transpose_b() ? -1 : -2));
  }
}

}  // namespace tenon
