// Functions of several blocks, made ready to run block by block.
#ifndef TENON_EXECUTOR_LOWERING_CLOSE_BLOCKS_H_
#define TENON_EXECUTOR_LOWERING_CLOSE_BLOCKS_H_

#include "ir/core/operation.h"

namespace tenon {

// Makes each block of `func` read its own arguments and constants alone: jumps pass what later
// blocks read, and constants are copied into the blocks that read them. Removes blocks that no path
// reaches. Requires that every block ends with a return or a jump (calls_and_jumps.h). Returns
// whether it changed anything.
bool CloseBlocks(Operation& func);

}  // namespace tenon

#endif  // TENON_EXECUTOR_LOWERING_CLOSE_BLOCKS_H_
