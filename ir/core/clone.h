// Deep copies of operations and regions.
#ifndef TENON_IR_CORE_CLONE_H_
#define TENON_IR_CORE_CLONE_H_

#include "absl/container/flat_hash_map.h"
#include "ir/core/block.h"

namespace tenon {

// Maps old values and blocks to new ones while cloning.
class IrMapping {
 public:
  // Sets the image of `from`, in place of an earlier one.
  void Map(Value from, Value to) { values_[from.impl()] = to; }
  void Map(Block* from, Block* to) { blocks_[from] = to; }
  // Returns what `from` is mapped to, or `from` itself if it is not mapped.
  Value Lookup(Value from) const;
  Block* Lookup(Block* from) const;

 private:
  absl::flat_hash_map<ValueImpl*, Value> values_;
  absl::flat_hash_map<Block*, Block*> blocks_;
};

// Returns a detached deep copy of `op`, which the caller owns. Operands and successors are replaced
// by their images in `mapping`, which also receives all copied values and blocks. Operands without
// an image refer to the original values.
Operation* Clone(const Operation& op, IrMapping& mapping);
Operation* Clone(const Operation& op);
// Appends copies of all blocks of `from` to `to`. See Clone.
void CloneRegion(const Region& from, Region& to, IrMapping& mapping);

}  // namespace tenon

#endif  // TENON_IR_CORE_CLONE_H_
