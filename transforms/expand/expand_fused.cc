// expand-fused: fused operations that no CUDA kernel computes become the operations that they join.
// A linear layer with a norm becomes a linear layer and a norm, a group norm a layer norm of
// groups, and so on. The option `all` takes all of them apart.
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "transforms/expand/fused_parts.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class ExpandFused : public Pass {
 public:
  explicit ExpandFused(FusedExpansion expansion) : expansion_(expansion) {}

  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    std::vector<Operation*> ops;
    func->Walk([&](Operation* op) { ops.push_back(op); });
    int64_t expanded = 0;
    for (Operation* op : ops) {
      TENON_ASSIGN_OR_RETURN(const int64_t count, Expand(op));
      expanded += count;
    }
    if (expanded > 0) context.statistics->Add("expanded", expanded);
    return PassResult{expanded > 0};
  }

 private:
  // Expands an operation and then its parts. Returns how many were expanded.
  absl::StatusOr<int64_t> Expand(Operation* op) {
    Operation* const before = op->prev();
    Block* const block = op->block();
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> values, FusedPartsOf(*op, expansion_));
    if (values.empty()) return 0;
    Operation* const after = op->next();
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (op->result(i).has_uses()) op->result(i).ReplaceAllUsesWith(values[i]);
    }
    op->Erase();
    if (expansion_ == FusedExpansion::kPairs) return 1;
    int64_t count = 1;
    for (Operation *part = before != nullptr ? before->next() : block->front(), *next;
         part != after; part = next) {
      next = part->next();
      TENON_ASSIGN_OR_RETURN(const int64_t parts, Expand(part));
      count += parts;
    }
    return count;
  }

  const FusedExpansion expansion_;
};

}  // namespace

PassInfo ExpandFusedPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"expanded", "operations taken apart"}};
  info.options = {{"all", PassOption::Type::kBool, "false",
                   "all fused operations, not only those without a CUDA kernel"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<ExpandFused>(values.GetBool("all") ? FusedExpansion::kAll
                                                               : FusedExpansion::kPairs);
  };
  return info;
}

}  // namespace tenon
