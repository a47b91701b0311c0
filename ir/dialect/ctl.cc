#include "ir/dialect/ctl.h"

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

}  // namespace

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
