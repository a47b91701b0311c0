// Being told of changes of IR.
#ifndef TENON_IR_CORE_REWRITE_IR_LISTENER_H_
#define TENON_IR_CORE_REWRITE_IR_LISTENER_H_

#include "ir/core/value.h"

namespace tenon {

class Block;
class Operation;

// Is told of the changes that an OpBuilder or a Rewriter makes, one call for each. Ops, blocks and
// values are valid during the call. A listener must not change the IR.
class IrListener {
 public:
  virtual ~IrListener() = default;
  // `op` has been created, and is in its block if the builder has an insertion point. For a copy
  // with regions, the ops inside come first.
  virtual void Created(Operation* /*op*/) {}
  // `op` is about to be erased. The ops in its regions follow, those at the end first.
  virtual void Erasing(Operation* /*op*/) {}
  // All uses of `was` are about to be given to `now`.
  virtual void Replaced(Value /*was*/, Value /*now*/) {}
  // Operands, attributes, successors, results' types or the place of `op` have changed.
  virtual void Modified(Operation* /*op*/) {}
  // An empty block has been added to a region.
  virtual void BlockCreated(Block* /*block*/) {}
  // `block`, which has no ops any more, is about to be erased.
  virtual void BlockErasing(Block* /*block*/) {}
};

}  // namespace tenon

#endif  // TENON_IR_CORE_REWRITE_IR_LISTENER_H_
