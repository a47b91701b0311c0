// Folds of ten's elementwise operations.
#include <cmath>
#include <limits>

#include "ir/dialect/folds/fold_support.h"
#include "ir/dialect/folds/zero_signs.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

// x op neutral = x, when the constant on side `side` is neutral.
bool FoldNeutral(Operation& op, std::span<const Attribute> constants, unsigned side, double neutral,
                 FoldResults& results) {
  return IsSplat(constants[side], neutral) && FoldTo(op, op.operand(1 - side), results);
}

// Is it a splat of zeros of this sign? Zeros of integers have both.
bool IsZeroOfSign(Attribute constant, int sign) {
  return IsSplat(constant, 0) && (!IsFloat(constant.type().dtype()) ||
                                  std::signbit(constant.ElementAsDouble(0)) == (sign < 0));
}

// Is `x` as good as the result of `op`, which differs in the signs of zeros alone?
bool IsSignOfZeroLost(Operation& op, Value x) {
  return !MayBeNegativeZero(x) || !MayTellSignOfZero(op.result());
}

}  // namespace

// f(f(x)) = f(x)
bool FoldIdempotent(Operation& op, std::span<const Attribute>, FoldResults& results) {
  const Operation* inner = op.operand(0).defining_op();
  return inner != nullptr && inner->id() == op.id() && FoldTo(op, op.operand(0), results);
}

// f(f(x)) = x
bool FoldInvolution(Operation& op, std::span<const Attribute>, FoldResults& results) {
  const Operation* inner = op.operand(0).defining_op();
  return inner != nullptr && inner->id() == op.id() && FoldTo(op, inner->operand(0), results);
}

bool FoldCast(Operation& op, std::span<const Attribute>, FoldResults& results) {
  return FoldTo(op, op.operand(0), results);
}

bool FoldClip(Operation& op, std::span<const Attribute>, FoldResults& results) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const ten::ClipOp clip(&op);
  return clip.min() == -kInf && clip.max() == kInf && FoldTo(op, op.operand(0), results);
}

// x + 0 = x; x + -0 for floats. -0 + 0 is 0, so that +0 is neutral where that does not show.
bool FoldAdd(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  for (const unsigned side : {1u, 0u}) {
    if (!IsSplat(constants[side], 0) ||
        !ProvablySameType(op.operand(1 - side).type(), op.result().type()))
      continue;
    if (IsZeroOfSign(constants[side], -1) || IsSignOfZeroLost(op, op.operand(1 - side)))
      return FoldTo(op, op.operand(1 - side), results);
  }
  return false;
}

// x - 0 = x, of which -0 is no exception; x - -0 is one.
bool FoldSub(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  if (!IsSplat(constants[1], 0)) return false;
  return (IsZeroOfSign(constants[1], 1) || IsSignOfZeroLost(op, op.operand(0))) &&
         FoldTo(op, op.operand(0), results);
}

bool FoldMul(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  return FoldNeutral(op, constants, 1, 1, results) || FoldNeutral(op, constants, 0, 1, results);
}

// x / 1 = x, x to the power 1 = x
bool FoldDivPow(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  return FoldNeutral(op, constants, 1, 1, results);
}

// max(x, x) = x and its like
bool FoldSameOperands(Operation& op, std::span<const Attribute>, FoldResults& results) {
  return op.operand(0) == op.operand(1) && FoldTo(op, op.operand(0), results);
}

bool FoldAnd(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  if (FoldSameOperands(op, constants, results)) return true;
  if (FoldNeutral(op, constants, 1, 1, results) || FoldNeutral(op, constants, 0, 1, results))
    return true;
  for (Attribute constant : constants) {
    if (IsSplat(constant, 0) && FoldSplatTo(constant, op.result().type(), results)) return true;
  }
  return false;
}

bool FoldOr(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  if (FoldSameOperands(op, constants, results)) return true;
  if (FoldNeutral(op, constants, 1, 0, results) || FoldNeutral(op, constants, 0, 0, results))
    return true;
  for (Attribute constant : constants) {
    if (IsSplat(constant, 1) && FoldSplatTo(constant, op.result().type(), results)) return true;
  }
  return false;
}

bool FoldWhere(Operation& op, std::span<const Attribute> constants, FoldResults& results) {
  if (op.operand(1) == op.operand(2) && FoldTo(op, op.operand(1), results)) return true;
  for (unsigned side : {1u, 2u}) {
    if (!IsSplat(constants[0], side == 1 ? 1 : 0)) continue;
    return FoldTo(op, op.operand(side), results) ||
           FoldSplatTo(constants[side], op.result().type(), results);
  }
  return false;
}

}  // namespace tenon
