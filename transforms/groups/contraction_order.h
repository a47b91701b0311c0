// A topological order of the operations of a block that is maintained while operations are merged.
#ifndef TENON_TRANSFORMS_GROUPS_CONTRACTION_ORDER_H_
#define TENON_TRANSFORMS_GROUPS_CONTRACTION_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/core/block.h"
#include "ir/dialect/ctl.h"

namespace tenon {

// Nodes hold one operation, or several that are to run as one. A node comes after all nodes that it
// reads, also in nested regions. CanContract searches the nodes between two nodes in the order.
// Contract moves nodes where necessary. The block must not change meanwhile.
class ContractionOrder {
 public:
  explicit ContractionOrder(Block& block);

  // Returns the node that holds the operation. Nodes are numbered by the position of their first
  // operation.
  size_t NodeOf(const Operation* op) const { return node_of_[op->position_after_renumbering()]; }
  // The operations of a node, in the order of the block.
  const std::vector<Operation*>& OpsOf(size_t node) const { return nodes_[node].ops; }

  // True if both nodes could run as one: neither needs the other through a third node. Also false
  // if the search takes too long.
  bool CanContract(size_t a, size_t b);
  // Merges `b` into `a`. Requires CanContract(a, b).
  void Contract(size_t a, size_t b);

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct Node {
    std::vector<Operation*> ops;
    // The order: a list with labels that grow along it.
    size_t prev = kNone, next = kNone;
    uint64_t label = 0;
    uint64_t seen = 0;  // the number of the last search that visited it
  };

  // True if no node before `later` reads `earlier`, which can wait until then. False if `earlier`
  // has many readers.
  bool NothingReadsBetween(size_t earlier, size_t later) const;
  // The nodes after `earlier` on which `later` depends; nullopt if one of them depends on
  // `earlier`.
  std::optional<std::vector<size_t>> Between(size_t earlier, size_t later);
  template <typename Visit>
  void VisitReads(size_t node, Visit visit) const;
  void Unlink(size_t node);
  void LinkBefore(size_t node, size_t next);
  void Relabel();

  Block& block_;
  const CapturesByOp captured_;  // looked up, never iterated
  std::vector<size_t> node_of_;  // by position
  std::vector<Node> nodes_;
  size_t first_ = kNone;
  uint64_t searches_ = 0;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_GROUPS_CONTRACTION_ORDER_H_
