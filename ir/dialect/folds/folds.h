// Folds (FoldFn in ir/core/context/op_info.h): operations that equal an operand or a constant
// without any arithmetic. Each fold adds one result and returns true, or leaves `results` alone and
// returns false. A value that a fold returns has the type of the result.
#ifndef TENON_IR_DIALECT_FOLDS_FOLDS_H_
#define TENON_IR_DIALECT_FOLDS_FOLDS_H_

#include <span>

#include "absl/container/inlined_vector.h"
#include "ir/core/operation.h"

namespace tenon {

using FoldResults = absl::InlinedVector<FoldResult, 2>;

// core
bool FoldDims(Operation& op, std::span<const Attribute> constants, FoldResults& results);

// ten: elementwise
bool FoldIdempotent(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldInvolution(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldCast(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldClip(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldAdd(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldSub(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldMul(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldDivPow(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldSameOperands(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldAnd(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldOr(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldWhere(Operation& op, std::span<const Attribute> constants, FoldResults& results);

// ten: shape and data movement
bool FoldReduce(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldShapeOf(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldReshape(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldExpand(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldTranspose(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldConcat(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldSlice(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldSplit(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldPad(Operation& op, std::span<const Attribute> constants, FoldResults& results);
bool FoldTile(Operation& op, std::span<const Attribute> constants, FoldResults& results);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_FOLDS_FOLDS_H_
