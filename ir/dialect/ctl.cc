#include "ir/dialect/ctl.h"

#include <algorithm>
#include <optional>
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

// `type` without the extents that only the inside of `op` can name. `around`: SymbolsAround(op), as
// soon as a type needs it.
Type Outside(Type type, Operation& op, std::optional<std::set<std::string_view>>& around) {
  if (!type || !type.is_tensor() || type.is_static()) return type;
  if (!around) around = SymbolsAround(op);
  std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  for (DimExpr& dim : dims) {
    std::vector<std::string_view> symbols;
    dim.CollectSymbols(symbols);
    const bool visible = std::all_of(symbols.begin(), symbols.end(),
                                     [&](std::string_view s) { return around->count(s) > 0; });
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
  std::optional<std::set<std::string_view>> around;
  for (unsigned i = 0; i < parts.num_carried; ++i) {
    const Type init = op.operand(parts.first_init + i).type();
    const Type carried =
        is_for ? body.argument(1 + i).type() : op.region(0).front().back()->operand(1 + i).type();
    types.push_back(Outside(JoinTypes(init, carried), op, around));
  }
  if (!is_for) count = DimExpr::Unknown(op.context());
  for (size_t i = 0; i < parts.scans.size(); ++i) {
    const Type element = body.back()->operand(parts.num_carried + static_cast<unsigned>(i)).type();
    types.push_back(StackedType(Outside(element, op, around), count, parts.scans[i].axis));
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
  absl::flat_hash_set<const ValueImpl*> seen;
  // The blocks of `op` that the walk has reached. They are known before what may read their values,
  // so that no operand needs a climb to `op`.
  absl::flat_hash_set<const Block*> inside;
  op.WalkPreOrder([&](Operation* inner) {
    for (unsigned r = 0; r < inner->num_regions(); ++r) {
      for (const Block& block : inner->region(r)) inside.insert(&block);
    }
    if (inner == &op) return true;
    for (const OpOperand& operand : inner->operands()) {
      const Value value = operand.get();
      if (inside.contains(value.parent_block()) || !seen.insert(value.impl()).second) continue;
      captured.push_back(value);
    }
    return true;
  });
  return captured;
}

CapturesByOp CapturedInBlock(Block& block) {
  CapturesByOp captures;
  for (Operation& producer : block) {
    for (unsigned i = 0; i < producer.num_results(); ++i) {
      const Value value = producer.result(i);
      absl::flat_hash_set<const Operation*> passed;  // on the way from readers up to the block
      for (const OpOperand& use : value.uses()) {
        const Operation* reader = use.owner();
        if (reader->block() == &block) continue;
        while (reader != nullptr && reader->block() != &block && passed.insert(reader).second) {
          reader = reader->parent_op();
        }
        // Null: another block of the region. Passed before: a reader beside it was here.
        if (reader == nullptr || reader->block() != &block) continue;
        std::vector<Value>& of_reader = captures[reader];
        if (of_reader.empty() || of_reader.back() != value) of_reader.push_back(value);
      }
    }
  }
  return captures;
}

}  // namespace tenon
