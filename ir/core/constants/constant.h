// Constants of any dialect: reading the value of an op, and making an op for a value.
#ifndef TENON_IR_CORE_CONSTANTS_CONSTANT_H_
#define TENON_IR_CORE_CONSTANTS_CONSTANT_H_

#include "absl/container/inlined_vector.h"
#include "ir/core/builder.h"
#include "ir/core/operation.h"

namespace tenon {

// Returns the value of an op with the trait kConstantLike; null for other ops, and for a null `op`.
inline Attribute ConstantValueOf(const Operation* op) {
  if (op == nullptr || op->info().constant_slot() < 0) return Attribute();
  return op->slot(static_cast<unsigned>(op->info().constant_slot()));
}
// Returns the value of what defines `value`; null if that is no constant, or if `value` is null.
inline Attribute ConstantValueOf(Value value) {
  return value ? ConstantValueOf(value.defining_op()) : Attribute();
}

// Returns what ConstantValueOf returns if it is the contents of a tensor; null otherwise.
template <typename T>
Attribute ConstantElementsOf(T op_or_value) {
  const Attribute value = ConstantValueOf(op_or_value);
  return value && value.kind() == Attribute::Kind::kElements ? value : Attribute();
}

// Creates a constant `value` of type `type` at the insertion point of `builder`, and returns its
// op: that of the dialect of `asking` (Dialect::make_constant), or else core.constant. Null if
// neither can say it, and nothing is created then.
Operation* MakeConstant(OpBuilder& builder, const OpInfo& asking, Attribute value, Type type,
                        Location location);

// One entry for each result of an op: an existing value, or a constant to be made.
using FoldResults = absl::InlinedVector<FoldResult, 2>;
// Runs the fold function of `op` with the constants among its operands. Returns true if it has
// filled `results`, with values of the types of the results. Changes no IR.
bool Fold(Operation& op, FoldResults& results);
// Returns the values of `results`, which Fold has filled for `op`: makes the constants among them
// at the insertion point of `builder`. Returns none, and creates nothing, if one cannot be made.
absl::InlinedVector<Value, 2> MakeFolded(OpBuilder& builder, const Operation& op,
                                         const FoldResults& results);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_CONSTANT_H_
