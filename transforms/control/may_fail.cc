#include "transforms/control/may_fail.h"

#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

bool DividesIntegers(const Operation& op) {
  const bool divides = Isa<ten::DivOp>(op) || Isa<ten::ModOp>(op) || Isa<ten::PowOp>(op);
  return divides && !IsFloat(op.operand(0).type().dtype());
}

}  // namespace

bool MayFail(const Operation& op) {
  if (op.Has(Trait::kConstantLike)) return false;
  if (!op.info().is_registered() || op.num_regions() > 0 || op.num_results() == 0 ||
      op.Has(Trait::kTerminator) || !EffectsOf(op).pure()) {
    return true;
  }
  const Type result = op.result().type();
  bool is_static = true, same_shape = true, has_integers = false;
  const auto see = [&](Type type) {
    is_static &= type.is_tensor() && type.is_static();
    if (!type.is_tensor() || !result.is_tensor() || type.rank() != result.rank()) {
      same_shape = false;
      return;
    }
    for (int64_t i = 0; i < type.rank(); ++i) {
      same_shape &= DimExpr::ProvablyEqual(type.dim(i), result.dim(i));
    }
  };
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    see(op.operand(i).type());
    has_integers |= !IsFloat(op.operand(i).type().dtype());
  }
  for (unsigned i = 0; i < op.num_results(); ++i) see(op.result(i).type());
  if (op.Has(Trait::kElementwise)) return DividesIntegers(op) || !(is_static || same_shape);
  return has_integers || !is_static;
}

}  // namespace tenon
