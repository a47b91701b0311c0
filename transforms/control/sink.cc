// sink: moves an operation to the branch that alone reads it: a region of a ctl.if, or a block that
// only the operation's block leads to. Then other paths do not compute it.
#include <memory>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/ctl_ops.h"
#include "transforms/general/visit_order.h"
#include "transforms/passes.h"
#include "transforms/reports/liveness.h"

namespace tenon {
namespace {

bool MaySink(const Operation& op) {
  return op.info().is_registered() && !op.Has(Trait::kConstantLike) &&
         !op.Has(Trait::kTerminator) && op.num_regions() == 0 && op.has_uses() &&
         EffectsOf(op).pure() && !DefinesDims(op);
}

class Sink : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    int64_t moved = 0;
    for (unsigned r = 0; r < op->num_regions(); ++r) moved += SinkIn(op->region(r));
    if (moved > 0) context.statistics->Add("ops-moved", moved);
    return PassResult{moved > 0};
  }

 private:
  // Users first, so that what they read can follow them, block after block on the way down; then
  // what is inside.
  static int64_t SinkIn(Region& region) {
    int64_t moved = 0;
    for (Block* const block : BlocksToVisit(region)) {
      for (Operation *op = block->back(), *previous; op != nullptr; op = previous) {
        previous = op->prev();
        if (!MaySink(*op)) continue;
        Block* const to = BranchThatReads(*op);
        if (to == nullptr) continue;
        Operation* const first = to->front();
        op->MoveBefore(first);
        ++moved;
      }
    }
    for (Block& block : region) {
      for (Operation& op : block) {
        for (unsigned r = 0; r < op.num_regions(); ++r) moved += SinkIn(op.region(r));
      }
    }
    return moved;
  }

  // The block of a branch in which all users lie; null if there is none.
  static Block* BranchThatReads(Operation& op) {
    Region& home = *op.parent_region();
    Block* to = nullptr;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      for (OpOperand& use : op.result(i).uses()) {
        Operation* const user = AncestorIn(home, use.owner());
        if (user == nullptr) return nullptr;
        Block* branch = nullptr;
        if (user->block() != op.block()) {
          branch = user->block();
          const BlockOperand* const only = branch->first_predecessor();
          if (only == nullptr || only->next_use() != nullptr ||
              only->owner()->block() != op.block()) {
            return nullptr;
          }
        } else if (Isa<ctl::IfOp>(user) && user != use.owner()) {
          for (unsigned r = 0; r < user->num_regions(); ++r) {
            if (AncestorIn(user->region(r), use.owner()) != nullptr) {
              branch = &user->region(r).front();
            }
          }
        }
        if (branch == nullptr || (to != nullptr && to != branch)) return nullptr;
        to = branch;
      }
    }
    // The only successor of a block is no branch.
    if (to != nullptr && to->parent() == &home && op.block()->back()->num_successors() < 2) {
      return nullptr;
    }
    return to;
  }
};

}  // namespace

PassInfo SinkPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"ops-moved", "operations moved into a branch"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<Sink>(); };
  return info;
}

}  // namespace tenon
