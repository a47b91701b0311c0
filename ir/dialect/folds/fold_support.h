// Helpers for folds.
#ifndef TENON_IR_DIALECT_FOLDS_FOLD_SUPPORT_H_
#define TENON_IR_DIALECT_FOLDS_FOLD_SUPPORT_H_

#include "ir/dialect/folds/folds.h"

namespace tenon {

// True if both types are ranked tensors with the same element type and provably equal dimensions.
bool ProvablySameType(Type a, Type b);
// Ends a fold: adds the result and returns true. The overload for a value returns false if its type
// is not provably that of the result.
bool FoldTo(const Operation& op, Value value, FoldResults& results);
bool FoldTo(Attribute constant, FoldResults& results);
// True if `constant` is a splat of the number `value`; -0 equals 0. Null gives false.
bool IsSplat(Attribute constant, double value);
// Ends a fold with the splat `constant` as a tensor of type `type`. False if `constant` is no splat
// or `type` is not static.
bool FoldSplatTo(Attribute constant, Type type, FoldResults& results);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_FOLDS_FOLD_SUPPORT_H_
