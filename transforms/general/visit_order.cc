#include "transforms/general/visit_order.h"

#include "absl/container/flat_hash_set.h"
#include "ir/dialect/calls_and_jumps.h"

namespace tenon {
namespace {

void AddOps(Operation& op, VisitOrder order, std::vector<Operation*>& ops) {
  for (unsigned r = 0; r < op.num_regions(); ++r) {
    for (Block* const block : BlocksToVisit(op.region(r))) {
      for (Operation& inner : *block) {
        if (order == VisitOrder::kOuterFirst) ops.push_back(&inner);
        AddOps(inner, order, ops);
        if (order == VisitOrder::kInnerFirst) ops.push_back(&inner);
      }
    }
  }
}

}  // namespace

std::vector<Block*> BlocksToVisit(Region& region) {
  std::vector<Block*> blocks = BlocksInDominanceOrder(region);
  if (region.empty() || region.front().next() == nullptr) return blocks;
  const absl::flat_hash_set<Block*> reached(blocks.begin(), blocks.end());
  for (Block& block : region) {
    if (!reached.contains(&block)) blocks.push_back(&block);
  }
  return blocks;
}

std::vector<Operation*> OpsToVisit(Operation& op, VisitOrder order) {
  std::vector<Operation*> ops;
  AddOps(op, order, ops);
  return ops;
}

}  // namespace tenon
