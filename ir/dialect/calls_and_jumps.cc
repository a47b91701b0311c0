#include "ir/dialect/calls_and_jumps.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/cf_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/func_ops.h"

namespace tenon {

bool IsCall(const Operation& op) { return op.info().Find<CallInterface>() != nullptr; }

Operation* CalledFunction(const Operation& op) {
  const std::string_view callee = CalleeOf(op);
  if (callee.empty()) return nullptr;
  Operation* const found = LookupSymbolFrom(op, callee);
  return Isa<func::FuncOp>(found) ? found : nullptr;
}

OperandRange CallArguments(const Operation& call) {
  return call.info().Find<CallInterface>()->Arguments(call);
}

bool IsJump(const Operation& op) { return Isa<cf::BrOp>(op) || Isa<cf::CondBrOp>(op); }

bool IsReturn(const Operation& op) { return Isa<func::ReturnOp>(op); }

bool RunsOtherCode(const Operation& op) { return IsStructuredControl(op) || IsCall(op); }

bool IsTypePinned(Value value) {
  for (const OpOperand& use : value.uses()) {
    const Operation* user = use.owner();
    if (IsCall(*user)) return true;
    for (unsigned i = 0; i < user->num_successors(); ++i) {
      const auto [first, count] = user->successor_operands(i);
      if (use.index() >= first && use.index() < first + count) return true;
    }
  }
  return false;
}

Operation* AddJumpOperands(Operation* jump, std::span<const std::vector<Value>> more) {
  OpBuilder builder = OpBuilder::Before(jump);
  const auto longer = [&](std::vector<Value> values, size_t successor) {
    values.insert(values.end(), more[successor].begin(), more[successor].end());
    return values;
  };
  Operation* made = nullptr;
  if (auto br = DynCast<cf::BrOp>(jump)) {
    const absl::StatusOr<cf::BrOp> created =
        cf::BrOp::Create(builder, jump->location(), longer(br.args(), 0), br.dest());
    TENON_CHECK(created.ok());
    made = created->op();
  } else {
    auto cond = Cast<cf::CondBrOp>(jump);
    const absl::StatusOr<cf::CondBrOp> created = cf::CondBrOp::Create(
        builder, jump->location(), cond.condition(), longer(cond.true_args(), 0),
        longer(cond.false_args(), 1), cond.true_dest(), cond.false_dest());
    TENON_CHECK(created.ok());
    made = created->op();
  }
  made->SetDiscardableAttrs(jump->discardable_attrs());
  jump->Erase();
  return made;
}

Operation* JumpTo(Block* from, Block* to, std::span<const Value> values, Location location) {
  OpBuilder builder = OpBuilder::AtEnd(to->parent_op()->context(), from);
  const absl::StatusOr<cf::BrOp> created = cf::BrOp::Create(builder, location, values, to);
  TENON_CHECK(created.ok());
  return created->op();
}

std::vector<Block*> BlocksInDominanceOrder(Region& region) {
  std::vector<Block*> order;
  if (region.empty()) return order;
  if (&region.front() == &region.back()) return {&region.front()};
  absl::flat_hash_set<Block*> seen = {&region.front()};
  std::vector<std::pair<Block*, unsigned>> path = {
      {&region.front(), 0}};  // with the next successor
  while (!path.empty()) {
    Block* const block = path.back().first;
    Operation* const last = block->back();
    if (last == nullptr || path.back().second == last->num_successors()) {
      order.push_back(block);
      path.pop_back();
      continue;
    }
    Block* const next = last->successor(path.back().second++);
    if (next != nullptr && seen.insert(next).second) path.emplace_back(next, 0);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

int RemoveUnreachableBlocks(Region& region) {
  if (region.empty()) return 0;
  absl::flat_hash_set<Block*> reached = {&region.front()};
  std::vector<Block*> work = {&region.front()};
  while (!work.empty()) {
    Block* const block = work.back();
    work.pop_back();
    Operation* const last = block->back();
    for (unsigned i = 0; last != nullptr && i < last->num_successors(); ++i) {
      if (reached.insert(last->successor(i)).second) work.push_back(last->successor(i));
    }
  }
  std::vector<Block*> dead;
  for (Block& block : region) {
    if (!reached.contains(&block)) dead.push_back(&block);
  }
  // Dead blocks may use each other's values in any order.
  for (Block* block : dead) block->DropAllReferences();
  for (Block* block : dead) region.Remove(block);
  return static_cast<int>(dead.size());
}

}  // namespace tenon
