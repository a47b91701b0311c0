#include "transforms/control/may_fail.h"

#include <cstdint>
#include <string_view>

#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

bool DividesIntegers(const Operation& op) {
  const bool divides = Isa<ten::DivOp>(op) || Isa<ten::ModOp>(op) || Isa<ten::PowOp>(op);
  return divides && !IsFloat(op.operand(0).type().dtype());
}

// More elements may be more than the memory has.
constexpr int64_t kMostElements = int64_t{1} << 26;

// Operations that fail for no numbers, if their types are known.
bool TakesAllNumbers(const Operation& op) {
  const std::string_view dialect = op.info().dialect();
  return dialect == "nn" || dialect == "fused" || Isa<ten::MatmulOp>(op) ||
         Isa<ten::TransposeOp>(op) || Isa<ten::ReshapeOp>(op) || Isa<ten::SliceOp>(op) ||
         Isa<ten::ConcatOp>(op) || Isa<ten::SplitOp>(op) || Isa<ten::ExpandOp>(op) ||
         Isa<ten::ReduceSumOp>(op) || Isa<ten::ReduceMeanOp>(op) || Isa<ten::ReduceMaxOp>(op) ||
         Isa<ten::ReduceMinOp>(op);
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
  for (unsigned i = 0; i < op.num_results(); ++i) {
    see(op.result(i).type());
    if (is_static && op.result(i).type().num_elements() > kMostElements && !same_shape) return true;
  }
  if (op.Has(Trait::kElementwise)) return DividesIntegers(op) || !(is_static || same_shape);
  return has_integers || !is_static || !TakesAllNumbers(op);
}

}  // namespace tenon
