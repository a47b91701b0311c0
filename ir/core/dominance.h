// Dominance between operations and blocks of a region.
#ifndef TENON_IR_CORE_DOMINANCE_H_
#define TENON_IR_CORE_DOMINANCE_H_

#include <memory>

#include "ir/core/block.h"

namespace tenon {

// Computed per region on first query and cached; a snapshot of the control flow. Not thread-safe.
class DominanceInfo {
 public:
  DominanceInfo();
  ~DominanceInfo();
  // Does `value` dominate (be available at) `user`? Looks through enclosing regions.
  bool ValueDominates(Value value, Operation* user);
  // Does every way from the entry of their region to `b` lead through `a`? Every block dominates
  // itself, and unreachable ones are dominated by all. REQUIRES: blocks of one region.
  bool BlockDominates(Block* a, Block* b);
  // Is there a way to it from the entry of its region?
  bool IsReachable(Block* block);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_DOMINANCE_H_
