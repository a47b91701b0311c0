// Changes of blocks, operand lists and regions that take several steps.
#ifndef TENON_IR_CORE_REWRITE_EDIT_H_
#define TENON_IR_CORE_REWRITE_EDIT_H_

#include <span>

#include "ir/core/block.h"

namespace tenon {

// ---- blocks

// Moves the ops from `first` up to `end`, which is not moved, to before `before` in block `to`; at
// its end if `before` is null. `first` and `end` are ops of one block; a null `end` is its end.
// `before` must not be one of the moved ops.
void SpliceOps(Operation* first, Operation* end, Block* to, Operation* before);
// Splits the block of `first`: `first` and the ops behind it move to a new block, which comes
// directly behind the old one and is returned. It has no arguments. The old block is left without a
// terminator. Requires a block in a region.
Block* SplitBlock(Operation* first);
// Moves the ops of `from` to before `before` in block `to`, at its end if `before` is null, gives
// the uses of the arguments of `from` to `arguments`, and destroys `from`. Requires one value per
// argument and another block than `to`, which no terminator has as a successor. The program ends
// otherwise.
void InlineBlock(Block* from, Block* to, Operation* before, std::span<const Value> arguments);
// Appends `from` to `to`, which has no terminator any more. See InlineBlock.
inline void MergeBlocks(Block* from, Block* to, std::span<const Value> arguments) {
  InlineBlock(from, to, nullptr, arguments);
}

// ---- operands

// Makes `values` the operands of one group, and updates operandSegmentSizes if the op has it.
// Returns the op. If there are more operands than before, that is another op: an op has no room to
// grow, so a new one takes its place, its attributes, its regions and the uses of its results.
// Handles to the old op are invalid then. Requires a number of values that the group can have.
Operation* SetOperandGroup(Operation* op, unsigned group, std::span<const Value> values);
// Inserts `values` before operand `at`, which may be num_operands(). Returns the op, which is
// another one if there are values: see SetOperandGroup. operandSegmentSizes stays as it is.
Operation* InsertOperands(Operation* op, unsigned at, std::span<const Value> values);
// Removes `count` operands from operand `first` on. operandSegmentSizes stays as it is.
void EraseOperands(Operation* op, unsigned first, unsigned count);

// ---- ops

// Gives the uses of the results of `op` to `values`, one for each result, and erases `op`.
void ReplaceAndErase(Operation* op, std::span<const Value> values);

}  // namespace tenon

#endif  // TENON_IR_CORE_REWRITE_EDIT_H_
