// An order of visits that does not depend on the order in which blocks are printed.
#ifndef TENON_TRANSFORMS_GENERAL_VISIT_ORDER_H_
#define TENON_TRANSFORMS_GENERAL_VISIT_ORDER_H_

#include <cstdint>
#include <vector>

#include "ir/core/block.h"

namespace tenon {

// Returns all blocks: those that the entry leads to behind the blocks that dominate them, then the
// others.
std::vector<Block*> BlocksToVisit(Region& region);

// Whether an op comes before or behind what is in its regions.
enum class VisitOrder : uint8_t { kOuterFirst, kInnerFirst };
// Returns the ops inside of `op`: an op that the entry leads to comes behind what defines its
// operands.
std::vector<Operation*> OpsToVisit(Operation& op, VisitOrder order);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_GENERAL_VISIT_ORDER_H_
