// Extents that one block of a function names and a later one reads.
#ifndef TENON_EXECUTOR_COMPILE_BLOCK_SYMBOLS_H_
#define TENON_EXECUTOR_COMPILE_BLOCK_SYMBOLS_H_

#include "executor/program_impl.h"
#include "ir/core/block.h"

namespace tenon {

// Sets Instruction::symbols of `blocks`, the instruction that runs the blocks of `region`: a block
// reads the symbols of each block that dominates it, with the values of the last time that it ran.
// Requires the programs of all blocks.
void LinkBlockSymbols(Region& region, Instruction& blocks);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_BLOCK_SYMBOLS_H_
