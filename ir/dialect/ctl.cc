#include "ir/dialect/ctl.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "ir/core/block.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon {
namespace {

std::span<const int64_t> IntsOf(const Operation& op, std::string_view name) {
  const Attribute attr = op.attr(name);
  const bool ints = attr && attr.kind() == Attribute::Kind::kDenseArray;
  return ints ? attr.ints() : std::span<const int64_t>();
}

// Symbols that mean the same outside of an op as in its regions.
std::set<std::string_view> SymbolsAround(Operation& op) {
  std::vector<std::string_view> symbols;
  const auto add = [&](Value value) {
    if (!value.type().is_tensor()) return;
    for (DimExpr d : value.type().dims()) d.CollectSymbols(symbols);
  };
  for (OpOperand& operand : op.operands()) add(operand.get());
  for (const Value value : CapturedValues(op)) add(value);
  return {symbols.begin(), symbols.end()};
}

// `type` without the extents that only the inside of an op can name.
Type Outside(Type type, const std::set<std::string_view>& around) {
  if (!type || !type.is_tensor()) return type;
  std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  for (DimExpr& dim : dims) {
    std::vector<std::string_view> symbols;
    dim.CollectSymbols(symbols);
    const bool visible = std::all_of(symbols.begin(), symbols.end(),
                                     [&](std::string_view s) { return around.count(s) > 0; });
    if (!visible) dim = DimExpr::Unknown(type.context());
  }
  return Type::Tensor(type.context(), type.dtype(), std::span<const DimExpr>(dims));
}

}  // namespace

bool IsStructuredControl(const Operation& op) {
  return Isa<ctl::IfOp>(op) || Isa<ctl::ForOp>(op) || Isa<ctl::WhileOp>(op);
}

LoopParts PartsOfLoop(const Operation& loop) {
  LoopParts parts;
  parts.first_init = Isa<ctl::ForOp>(loop) ? 3 : 0;
  parts.num_carried = loop.num_operands() - parts.first_init;
  const std::span<const int64_t> axes = IntsOf(loop, "scan_axes");
  const std::span<const int64_t> reverse = IntsOf(loop, "scan_reverse");
  for (size_t i = 0; i < axes.size(); ++i) {
    parts.scans.push_back({axes[i], i < reverse.size() && reverse[i] != 0});
  }
  return parts;
}

Type StackedType(Type element, DimExpr count, int64_t axis) {
  if (!element.is_any_tensor()) return Type();
  if (!element.is_tensor() || axis < 0 || axis > element.rank()) {
    return Type::Unranked(element.context(), element.dtype());
  }
  std::vector<DimExpr> dims(element.dims().begin(), element.dims().end());
  dims.insert(dims.begin() + axis, count);
  return Type::Tensor(element.context(), element.dtype(), std::span<const DimExpr>(dims));
}

Type JoinTypes(Type a, Type b) {
  if (a == b) return a;
  if (!a.is_tensor() || !b.is_tensor() || a.dtype() != b.dtype() || a.rank() != b.rank()) {
    return Type();
  }
  std::vector<DimExpr> dims;
  for (int64_t i = 0; i < a.rank(); ++i) {
    dims.push_back(DimExpr::ProvablyEqual(a.dim(i), b.dim(i)) ? a.dim(i)
                                                              : DimExpr::Unknown(a.context()));
  }
  return Type::Tensor(a.context(), a.dtype(), std::span<const DimExpr>(dims));
}

std::vector<Type> ControlResultTypes(Operation& op, DimExpr count) {
  std::vector<Type> types;
  if (Isa<ctl::IfOp>(op)) {
    const Operation* yields[] = {op.region(0).front().back(), op.region(1).front().back()};
    for (unsigned i = 0; i < op.num_results(); ++i) {
      // An extent that both branches know by the same name is known around them.
      types.push_back(JoinTypes(yields[0]->operand(i).type(), yields[1]->operand(i).type()));
    }
    return types;
  }
  const LoopParts parts = PartsOfLoop(op);
  const bool is_for = Isa<ctl::ForOp>(op);
  const Block& body = op.region(op.num_regions() - 1).front();
  const std::set<std::string_view> around = SymbolsAround(op);
  for (unsigned i = 0; i < parts.num_carried; ++i) {
    const Type init = op.operand(parts.first_init + i).type();
    const Type carried =
        is_for ? body.argument(1 + i).type() : op.region(0).front().back()->operand(1 + i).type();
    types.push_back(Outside(JoinTypes(init, carried), around));
  }
  if (!is_for) count = DimExpr::Unknown(op.context());
  for (size_t i = 0; i < parts.scans.size(); ++i) {
    const Type element = body.back()->operand(parts.num_carried + static_cast<unsigned>(i)).type();
    types.push_back(StackedType(Outside(element, around), count, parts.scans[i].axis));
  }
  return types;
}

DimExpr RunsOfLoop(const Operation& loop, const ShapeData& data) {
  DimExpr bounds[3];
  for (unsigned i = 0; i < 3; ++i) {
    const ShapeElements* known = data.FindKnown(loop.operand(i));
    if (known == nullptr || known->size() != 1) return DimExpr::Unknown(loop.context());
    bounds[i] = (*known)[0];
  }
  return RangeExtent(bounds[0], bounds[1], bounds[2]);
}

std::vector<Value> CapturedValues(Operation& op) {
  std::vector<Value> captured;
  absl::flat_hash_set<ValueImpl*> seen;
  op.WalkPreOrder([&](Operation* inner) {
    if (inner == &op) return true;
    for (OpOperand& operand : inner->operands()) {
      const Value value = operand.get();
      const Operation* owner = value.parent_block()->parent_op();
      if (op.IsAncestorOf(owner) || !seen.insert(value.impl()).second) continue;
      captured.push_back(value);
    }
    return true;
  });
  return captured;
}

}  // namespace tenon
