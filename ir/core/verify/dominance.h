// Dominance between operations and blocks.
#ifndef TENON_IR_CORE_VERIFY_DOMINANCE_H_
#define TENON_IR_CORE_VERIFY_DOMINANCE_H_

#include <memory>

#include "ir/core/block.h"

namespace tenon {

// Answers dominance queries. It computes a region on its first query and caches the result: changes
// of blocks or successors make it stale, but ops may be added and removed. Not thread-safe. Source
// of the algorithm: Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph".
class DominanceInfo {
 public:
  DominanceInfo();
  ~DominanceInfo();
  // True if `value` is available at `user`, which may be nested in regions below the value's block.
  // An op's own regions do not see its results.
  bool ValueDominates(Value value, Operation* user);
  // True if every path from the entry of the region to `b` goes through `a`. A block dominates
  // itself, and every block dominates an unreachable one. Requires two blocks of one region.
  bool BlockDominates(Block* a, Block* b);
  // The last block before `block` that every path to it goes through. Null for the entry of the
  // region and for unreachable blocks.
  Block* ImmediateDominator(Block* block);
  // True if there is a path from the entry of the region to `block`.
  bool IsReachable(Block* block);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_VERIFY_DOMINANCE_H_
