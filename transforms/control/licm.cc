// licm: moves operations whose operands come from outside of a loop in front of it. Loops are ops
// with LoopInterface. An operation that may fail leaves a loop only if the loop surely runs it.
#include <memory>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/dialect/ctl.h"
#include "transforms/control/may_fail.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class Licm : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    // Inner loops first: what leaves them may leave the loops around them too.
    std::vector<Operation*> loops;
    op->Walk([&](Operation* inner) {
      if (inner->info().Find<LoopInterface>() != nullptr) loops.push_back(inner);
    });
    int64_t moved = 0;
    for (Operation* loop : loops) {
      for (unsigned r = 0; r < loop->num_regions(); ++r) moved += Hoist(*loop, r);
    }
    if (moved > 0) context.statistics->Add("ops-moved", moved);
    return PassResult{moved > 0};
  }

 private:
  static int64_t Hoist(Operation& loop, unsigned r) {
    const LoopInterface& answers = *loop.info().Find<LoopInterface>();
    if (loop.region(r).empty() || !answers.Repeats(loop, r)) return 0;
    const bool surely = answers.RunsAlways(loop, r);
    int64_t moved = 0;
    for (Operation *op = loop.region(r).front().front(), *next; op != nullptr; op = next) {
      next = op->next();
      if (!MayMove(*op, loop, surely)) continue;
      op->MoveBefore(&loop);
      ++moved;
    }
    return moved;
  }

  static bool MayMove(Operation& op, const Operation& loop, bool surely) {
    if (op.Has(Trait::kTerminator) || op.num_results() == 0 || !op.info().is_registered() ||
        !EffectsOf(op).pure() || (!surely && MayFail(op))) {
      return false;
    }
    const auto is_inside = [&](Value value) {
      return loop.IsAncestorOf(value.parent_block()->parent_op());
    };
    for (OpOperand& operand : op.operands()) {
      if (is_inside(operand.get())) return false;
    }
    if (op.num_regions() == 0) return true;
    for (const Value value : CapturedValues(op)) {
      if (is_inside(value)) return false;
    }
    return true;
  }
};

}  // namespace

PassInfo LicmPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"ops-moved", "operations moved in front of a loop"}};
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<Licm>(); };
  return info;
}

}  // namespace tenon
