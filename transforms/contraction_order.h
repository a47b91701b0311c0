// A topological order of a block's operations that is kept while some of them become one.
#ifndef TENON_TRANSFORMS_CONTRACTION_ORDER_H_
#define TENON_TRANSFORMS_CONTRACTION_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/block.h"

namespace tenon {

// Nodes are operations, or several that are to run at once. A node comes after all that it reads,
// reads of nested regions included. Asking whether two nodes may become one costs a search of what
// lies between them in the order, no more; becoming one moves what the later one reads before the
// earlier one, or the earlier one to the later where nothing between reads it. The block must not
// change meanwhile.
class ContractionOrder {
 public:
  explicit ContractionOrder(Block& block);

  // The number of the node that holds the operation. Nodes are numbered by the position of the
  // operation that they began with.
  size_t NodeOf(const Operation* op) const { return node_of_[op->position_after_renumbering()]; }
  // In the order of the block.
  const std::vector<Operation*>& OpsOf(size_t node) const { return nodes_[node].ops; }

  // Could both run at once? Not if one of them needs the other through a third node. The search
  // gives up (no) beyond a fixed number of nodes.
  bool CanContract(size_t a, size_t b);
  // Makes `b` a part of `a`. REQUIRES: CanContract(a, b).
  void Contract(size_t a, size_t b);

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct Node {
    std::vector<Operation*> ops;
    // The order: a list, with labels that grow along it.
    size_t prev = kNone, next = kNone;
    uint64_t label = 0;
    uint64_t seen = 0;  // by the search of that number
  };

  // Nothing before `later` reads `earlier`: that can wait until then. No (whatever is the case) if
  // it has many readers.
  bool NothingReadsBetween(size_t earlier, size_t later) const;
  // What `later` needs, directly or not, and comes after `earlier` in the order; nothing if that
  // needs `earlier`.
  std::optional<std::vector<size_t>> Between(size_t earlier, size_t later);
  template <typename Visit>
  void VisitReads(size_t node, Visit visit) const;
  void Unlink(size_t node);
  void LinkBefore(size_t node, size_t next);
  void Relabel();

  Block& block_;
  std::vector<size_t> node_of_;  // by position
  std::vector<Node> nodes_;
  absl::flat_hash_map<const Operation*, std::vector<Value>> captured_;  // looked up, never iterated
  size_t first_ = kNone;
  uint64_t searches_ = 0;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_CONTRACTION_ORDER_H_
