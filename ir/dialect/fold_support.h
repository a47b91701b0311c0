// What folds are written with.
#ifndef TENON_IR_DIALECT_FOLD_SUPPORT_H_
#define TENON_IR_DIALECT_FOLD_SUPPORT_H_

#include "ir/dialect/folds.h"

namespace tenon {

// Are all extents of both types provably equal, and the element types too?
bool ProvablySameType(Type a, Type b);
// Ends a fold with `value` if it has the result's type.
bool FoldTo(const Operation& op, Value value, FoldResults& results);
bool FoldTo(Attribute constant, FoldResults& results);
// Is every element of a constant (null: none) the number `value`? Zeros of both signs are zero.
bool IsSplat(Attribute constant, double value);
// A splat constant under another static type; false if `constant` is no splat or `type` not static.
bool FoldSplatTo(Attribute constant, Type type, FoldResults& results);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_FOLD_SUPPORT_H_
