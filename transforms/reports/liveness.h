// Which values are alive where.
#ifndef TENON_TRANSFORMS_REPORTS_LIVENESS_H_
#define TENON_TRANSFORMS_REPORTS_LIVENESS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon {

// Returns the op of a block of `region` in which `op` lies, or which it is. Null if there is none.
Operation* AncestorIn(const Region& region, Operation* op);

// The live values of the blocks of one region. Uses in regions inside count for the block around
// them. A snapshot: make a new one after changes. Takes time in proportion to the sizes of the
// region and of the answers.
class Liveness {
 public:
  explicit Liveness(Region& region);
  // Values of other blocks of the region that `block`, or a block that it leads to, reads; in the
  // order of the text. Arguments of the block are not among them.
  const std::vector<Value>& LiveIn(const Block& block) const;
  // Values that a block reads to which `block` leads; in the order of the text.
  const std::vector<Value>& LiveOut(const Block& block) const;
  // True if nothing reads `value` behind `op`, an op of a block of the region.
  bool IsDeadAfter(Value value, const Operation& op) const;

 private:
  struct Sets {
    std::vector<Value> in, out;
    absl::flat_hash_set<ValueImpl*> in_set, out_set;
  };
  void Add(Value value);
  const Region& region_;
  absl::flat_hash_map<const Block*, Sets> sets_;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_REPORTS_LIVENESS_H_
