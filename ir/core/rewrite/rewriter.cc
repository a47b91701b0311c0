#include "ir/core/rewrite/rewriter.h"

#include <vector>

#include "ir/core/ranges.h"
#include "ir/core/rewrite/edit.h"
#include "ir/core/rewrite/told_edit.h"

namespace tenon {

void Rewriter::Replace(Operation* op, std::span<const Value> values) {
  TENON_CHECK(op != nullptr);
  TENON_CHECK_MSG(values.size() == op->num_results(), op->name());
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (!op->result(i).has_uses()) continue;
    TENON_CHECK_MSG(static_cast<bool>(values[i]), "a result with uses needs a value");
    TENON_CHECK_MSG(values[i].defining_op() != op, "an op cannot be replaced by its own results");
  }
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (op->result(i).has_uses()) ReplaceAllUses(op->result(i), values[i]);
  }
  Erase(op);
}

void Rewriter::ReplaceByResultsOf(Operation* op, Operation* made) {
  Replace(
      op,
      ResultRange(made->num_results() > 0 ? made->result(0) : Value(), made->num_results()).vec());
}

void Rewriter::ReplaceAllUses(Value was, Value now) {
  TENON_CHECK(was && now && was != now);
  if (listener() != nullptr) listener()->Replaced(was, now);
  was.ReplaceAllUsesWith(now);
}

void Rewriter::ReplaceUsesIf(Value was, Value now, absl::FunctionRef<bool(const OpOperand&)> take) {
  TENON_CHECK(was && now && was != now);
  std::vector<OpOperand*> taken;
  for (OpOperand& use : was.uses()) {
    if (take(use)) taken.push_back(&use);
  }
  for (OpOperand* use : taken) {
    use->set(now);
    Modified(use->owner());
  }
}

void Rewriter::TellErased(Operation* op) {
  if (listener() == nullptr) return;
  std::vector<Operation*> inside;
  op->Walk([&](Operation* inner) { inside.push_back(inner); });
  // Users before what defines their operands.
  for (auto it = inside.rbegin(); it != inside.rend(); ++it) listener()->Erasing(*it);
}

void Rewriter::Erase(Operation* op) {
  TENON_CHECK(op != nullptr);
  TENON_CHECK_MSG(!op->has_uses(), "an op whose results have uses cannot be erased");
  TENON_CHECK_MSG(op->block() != nullptr, "the op is in no block");
  TellErased(op);
  if (before_ != nullptr && op->IsAncestorOf(before_)) SetInsertionPointAfter(op);
  op->Erase();
}

void Rewriter::Erase(Block* block) {
  TENON_CHECK_MSG(block->parent() != nullptr, "the block is in no region");
  for (const BlockOperand* use = block->first_predecessor(); use != nullptr; use = use->next_use())
    TENON_CHECK_MSG(use->owner()->block() == block, "the block is a successor of a terminator");
  const auto is_inside = [block](const Operation* op) {
    while (op != nullptr && op->block() != block) op = op->parent_op();
    return op != nullptr;
  };
  const auto check = [&](Value value) {
    for (const OpOperand& use : value.uses()) {
      TENON_CHECK_MSG(is_inside(use.owner()), "a value of the block is used outside of it");
    }
  };
  for (unsigned i = 0; i < block->num_arguments(); ++i) check(block->argument(i));
  for (Operation& op : *block) {
    for (unsigned i = 0; i < op.num_results(); ++i) check(op.result(i));
  }
  for (Operation *op = block->back(), *previous; op != nullptr; op = previous) {
    previous = op->prev();
    TellErased(op);
  }
  if (block_ == block || (before_ != nullptr && is_inside(before_))) ClearInsertionPoint();
  // Values may be used in any order.
  block->DropAllReferences();
  while (block->back() != nullptr) block->back()->Erase();
  if (listener() != nullptr) listener()->BlockErasing(block);
  block->parent()->Remove(block);
}

void Rewriter::Modify(Operation* op, absl::FunctionRef<void()> change) {
  change();
  Modified(op);
}

void Rewriter::SetOperand(Operation* op, unsigned i, Value value) {
  TENON_CHECK_MSG(i < op->num_operands(), op->name());
  op->set_operand(i, value);
  Modified(op);
}

void Rewriter::SetAttr(Operation* op, std::string_view name, Attribute value) {
  op->SetAttr(name, value);
  Modified(op);
}

Operation* Rewriter::TellRemade(Operation* op, absl::FunctionRef<Operation*()> edit, bool grows) {
  const bool is_before = before_ == op;
  Operation* now = edit();
  if (is_before) before_ = now;
  // An edit that makes the op anew has told the listener.
  if (listener() != nullptr && !grows) listener()->Modified(now);
  return now;
}

Operation* Rewriter::SetOperandGroup(Operation* op, unsigned group, std::span<const Value> values) {
  TENON_CHECK_MSG(group < op->info().def().operands.size(), op->name());
  const bool grows = values.size() > op->operand_group(group).second;
  return TellRemade(
      op, [&] { return tenon::SetOperandGroup(op, group, values, listener()); }, grows);
}

Operation* Rewriter::InsertOperands(Operation* op, unsigned at, std::span<const Value> values) {
  TENON_CHECK_MSG(at <= op->num_operands(), op->name());
  if (values.empty()) return op;
  return TellRemade(
      op, [&] { return tenon::InsertOperands(op, at, values, listener()); }, true);
}

void Rewriter::EraseOperands(Operation* op, unsigned first, unsigned count) {
  tenon::EraseOperands(op, first, count);
  Modified(op);
}

void Rewriter::MoveBefore(Operation* op, Operation* other) {
  TENON_CHECK_MSG(!op->IsAncestorOf(other), "an op cannot move into itself");
  op->MoveBefore(other);
  Modified(op);
}

void Rewriter::MoveAfter(Operation* op, Operation* other) {
  TENON_CHECK_MSG(!op->IsAncestorOf(other), "an op cannot move into itself");
  op->MoveAfter(other);
  Modified(op);
}

Operation* Rewriter::InsertClone(const Operation& op, IrMapping& mapping) {
  Operation* copy = Clone(op, mapping);
  if (listener() != nullptr) {
    copy->Walk([&](Operation* inner) {
      if (inner != copy) listener()->Created(inner);
    });
  }
  return Insert(copy);
}

Block* Rewriter::AddBlock(Region& region) {
  Block* block = region.AddBlock();
  if (listener() != nullptr) listener()->BlockCreated(block);
  return block;
}

void Rewriter::TellMoved(Operation* first, Operation* end) {
  if (listener() == nullptr) return;
  for (Operation* op = first; op != end; op = op->next()) listener()->Modified(op);
}

Block* Rewriter::SplitBlock(Operation* first) {
  Block* block = tenon::SplitBlock(first);
  if (listener() != nullptr) listener()->BlockCreated(block);
  TellMoved(block->front(), nullptr);
  return block;
}

void Rewriter::InlineBlock(Block* from, Block* to, Operation* before,
                           std::span<const Value> arguments) {
  TENON_CHECK_MSG(to != nullptr && from != to && !from->has_predecessors(),
                  "the block must be another one, and no successor of a terminator");
  for (const Operation* op = to->parent_op(); op != nullptr; op = op->parent_op())
    TENON_CHECK_MSG(op->block() != from, "a block cannot move into an op of its own");
  TENON_CHECK_MSG(arguments.size() == from->num_arguments(), "one value per argument is needed");
  for (unsigned i = 0; i < from->num_arguments(); ++i) {
    if (from->argument(i).has_uses()) ReplaceAllUses(from->argument(i), arguments[i]);
  }
  Operation* first = from->front();
  SpliceOps(first, nullptr, to, before);
  if (first != nullptr) TellMoved(first, before);
  if (listener() != nullptr) listener()->BlockErasing(from);
  if (block() == from || block_ == from) {
    block_ = to;
    if (before_ == nullptr) before_ = before;
  }
  tenon::InlineBlock(from, to, before, arguments);
}

void Rewriter::MoveBlocks(Region& from, Region& to) {
  TENON_CHECK_MSG(&from != &to, "a region cannot move into itself");
  for (const Operation* op = to.parent(); op != nullptr; op = op->parent_op())
    TENON_CHECK_MSG(op->parent_region() != &from, "a region cannot move into an op of its own");
  Block* first = from.empty() ? nullptr : &from.front();
  to.TakeBody(from);
  for (Block* block = first; block != nullptr; block = block->next())
    TellMoved(block->front(), nullptr);
}

}  // namespace tenon
