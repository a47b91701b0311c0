// Calls of functions and jumps between blocks: which ops they are, and edits of the graph of
// blocks. Passes ask these functions rather than the ops.
#ifndef TENON_IR_DIALECT_CALLS_AND_JUMPS_H_
#define TENON_IR_DIALECT_CALLS_AND_JUMPS_H_

#include <span>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/operation.h"
#include "ir/core/ranges.h"

namespace tenon {

// True for ops of any dialect that call a function: those with CallInterface.
bool IsCall(const Operation& op);
// The function that a call runs: a func.func, looked up from the call's nearest symbol table. Null
// for other ops, and if there is no such function.
Operation* CalledFunction(const Operation& op);
// The operands of a call that become the arguments of the function. Requires IsCall.
OperandRange CallArguments(const Operation& call);
// True for cf.br and cf.cond_br, which end a block and choose the next one.
bool IsJump(const Operation& op);
// True for func.return.
bool IsReturn(const Operation& op);
// True for ops that run other code of the program: calls, and structured control flow.
bool RunsOtherCode(const Operation& op);

// True if a user of `value` takes exactly the type that it has, as block arguments and the
// arguments of functions do: the value keeps its type, and none of another type takes its place.
bool IsTypePinned(Value value);

// Replaces a jump by one that passes more values, and destroys the old one. `more[i]` are the
// values that successor `i` gets behind the ones that it gets already. Returns the new jump.
// Requires a jump that verifies.
Operation* AddJumpOperands(Operation* jump, std::span<const std::vector<Value>> more);
// Inserts an unconditional jump at the end of `from`.
Operation* JumpTo(Block* from, Block* to, std::span<const Value> values, Location location);
// Returns the blocks that the entry leads to, each behind those that dominate it: in the reverse
// order of a post-order walk.
std::vector<Block*> BlocksInDominanceOrder(Region& region);
// Removes blocks that no path from the entry reaches. Returns their number.
int RemoveUnreachableBlocks(Region& region);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_CALLS_AND_JUMPS_H_
