// Which operations of a program a rule has to do with.
#ifndef TENON_DRR_EXPLAIN_OP_INDEX_H_
#define TENON_DRR_EXPLAIN_OP_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drr/compile/rule_list.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// The operations of a function that may be a part of a near miss, by what they are. Rules look up
// the few that concern them. Const functions are thread-safe.
class OpIndex {
 public:
  // Looks at what is below `top`, which must not change while the index lives.
  OpIndex(Operation* top, const RuleList& rules) {
    uint32_t position = 0;
    top->Walk([&](Operation* op) {
      rules.Note(op->id(), present_);
      if (op == top || op->num_results() == 0 || op->Has(Trait::kConstantLike)) return;
      ops_[op->id()].push_back({position++, op});
    });
  }

  // What operations the function has, for RuleList.
  const NeededOps& present() const { return present_; }
  // Returns the operations that are one of `ids`, in the order of the program.
  std::vector<Operation*> Find(const std::set<OpId>& ids) const {
    std::vector<std::pair<uint32_t, Operation*>> found;
    for (const OpId& id : ids) {
      const auto ops = ops_.find(id);
      if (ops != ops_.end()) found.insert(found.end(), ops->second.begin(), ops->second.end());
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Operation*> ops;
    ops.reserve(found.size());
    for (const auto& [position, op] : found) ops.push_back(op);
    return ops;
  }

 private:
  absl::flat_hash_map<OpId, std::vector<std::pair<uint32_t, Operation*>>> ops_;  // only looked up
  NeededOps present_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_EXPLAIN_OP_INDEX_H_
