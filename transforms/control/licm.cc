// licm: moves operations whose operands come from outside of a loop in front of it. Loops are
// ctl.for and ctl.while. An operation that may fail leaves a loop only if the loop surely runs it.
#include <memory>
#include <vector>

#include "ir/core/block.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "transforms/control/may_fail.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

bool IsLoop(const Operation& op) { return Isa<ctl::ForOp>(op) || Isa<ctl::WhileOp>(op); }

// Does every run of `loop` go through its region `r`?
bool SurelyRuns(const Operation& loop, unsigned r) {
  if (Isa<ctl::WhileOp>(loop)) return r == 0;
  int64_t bounds[3];
  for (unsigned i = 0; i < 3; ++i) {
    const core::ConstantOp constant = DefinedBy<core::ConstantOp>(loop.operand(i));
    if (!constant || constant.value().type().num_elements() != 1) return false;
    const std::optional<int64_t> value = constant.value().ElementAsInt(0);
    if (!value) return false;
    bounds[i] = *value;
  }
  const auto [lower, upper, step] = bounds;
  return step > 0 ? lower < upper : step < 0 && lower > upper;
}

class Licm : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    // Inner loops first: what leaves them may leave the loops around them too.
    std::vector<Operation*> loops;
    op->Walk([&](Operation* inner) {
      if (IsLoop(*inner)) loops.push_back(inner);
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
    if (loop.region(r).empty()) return 0;
    const bool surely = SurelyRuns(loop, r);
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
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<Licm>(); };
  return info;
}

}  // namespace tenon
