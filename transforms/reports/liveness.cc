#include "transforms/reports/liveness.h"

namespace tenon {

Operation* AncestorIn(const Region& region, Operation* op) {
  while (op != nullptr && op->parent_region() != &region) op = op->parent_op();
  return op;
}

Liveness::Liveness(Region& region) : region_(region) {
  for (Block& block : region) sets_[&block];
  for (Block& block : region) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) Add(block.argument(i));
    for (Operation& op : block) {
      for (unsigned i = 0; i < op.num_results(); ++i) Add(op.result(i));
    }
  }
}

// Goes back from each block that reads the value to the block that has it.
void Liveness::Add(Value value) {
  const Block* const home = value.parent_block();
  std::vector<const Block*> work;
  const auto enter = [&](const Block* block) {
    Sets& sets = sets_.at(block);
    if (block == home || !sets.in_set.insert(value.impl()).second) return;
    sets.in.push_back(value);
    work.push_back(block);
  };
  for (OpOperand& use : value.uses()) {
    const Operation* const user = AncestorIn(region_, use.owner());
    if (user != nullptr) enter(user->block());
  }
  while (!work.empty()) {
    const Block* const block = work.back();
    work.pop_back();
    for (const BlockOperand* at = block->first_predecessor(); at != nullptr; at = at->next_use()) {
      const Block* const before = at->owner()->block();
      Sets& sets = sets_.at(before);
      if (sets.out_set.insert(value.impl()).second) sets.out.push_back(value);
      enter(before);
    }
  }
}

const std::vector<Value>& Liveness::LiveIn(const Block& block) const { return sets_.at(&block).in; }

const std::vector<Value>& Liveness::LiveOut(const Block& block) const {
  return sets_.at(&block).out;
}

bool Liveness::IsDeadAfter(Value value, const Operation& op) const {
  if (sets_.at(op.block()).out_set.contains(value.impl())) return false;
  for (OpOperand& use : value.uses()) {
    const Operation* const user = AncestorIn(region_, use.owner());
    if (user != nullptr && user->block() == op.block() && op.IsBeforeInBlock(user)) return false;
  }
  return true;
}

}  // namespace tenon
