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

// Returns what ConstantValueOf returns if it is the contents of a tensor of the result's type; null
// otherwise. Constants of other dialects may have values of any kind.
inline Attribute ConstantElementsOf(const Operation* op) {
  const Attribute value = ConstantValueOf(op);
  const bool is_contents = value && value.kind() == Attribute::Kind::kElements &&
                           op->num_results() == 1 && value.type() == op->result(0).type();
  return is_contents ? value : Attribute();
}
// The same for what defines `value`.
inline Attribute ConstantElementsOf(Value value) {
  return value ? ConstantElementsOf(value.defining_op()) : Attribute();
}

// Creates a constant `value` of type `type` at the insertion point of `builder`, and returns its
// op: that of the dialect of `asking` (Dialect::make_constant), or else core.constant. Null if
// neither can say it, and nothing is created then.
Operation* MakeConstant(OpBuilder& builder, const OpInfo& asking, Attribute value, Type type,
                        Location location);

// One entry for each result of an op: an existing value, or a constant to be made.
using FoldResults = absl::InlinedVector<FoldResult, 2>;
// Runs the fold function of `op` with the constants among its operands: contents of tensors, and
// values of any kind if the constant is of the dialect of `op`. Returns true if it has
// filled `results`. A value may name extents in another way than the result that it stands for:
// whoever must keep types compares them. Changes no IR.
bool Fold(Operation& op, FoldResults& results);
// Returns the values of `results`, which Fold has filled for `op`: makes the constants among them
// at the insertion point of `builder`. Returns none, and creates nothing, if one cannot be made.
absl::InlinedVector<Value, 2> MakeFolded(OpBuilder& builder, const Operation& op,
                                         const FoldResults& results);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONSTANTS_CONSTANT_H_
