// The operations that a driver still has to visit.
#ifndef TENON_DRR_REWRITE_WORKLIST_H_
#define TENON_DRR_REWRITE_WORKLIST_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// Operations to visit again, first in first out, each at most once at a time.
class Worklist {
 public:
  void Push(Operation* op) {
    if (position_.emplace(op, ops_.size()).second) ops_.push_back(op);
  }
  void Remove(Operation* op) {
    if (position_.empty()) return;
    auto it = position_.find(op);
    if (it == position_.end()) return;
    ops_[it->second] = nullptr;
    position_.erase(it);
  }
  Operation* Pop() {
    while (next_ < ops_.size()) {
      Operation* op = ops_[next_++];
      if (op == nullptr) continue;
      position_.erase(op);
      return op;
    }
    ops_.clear();
    next_ = 0;
    return nullptr;
  }

 private:
  std::vector<Operation*> ops_;
  size_t next_ = 0;
  absl::flat_hash_map<Operation*, size_t> position_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_WORKLIST_H_
