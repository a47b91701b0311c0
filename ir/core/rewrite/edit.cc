#include "ir/core/rewrite/edit.h"

#include <memory>
#include <utility>
#include <vector>

#include "ir/core/context/context.h"
#include "ir/core/rewrite/told_edit.h"

namespace tenon {
namespace {

// `op` with other operands and attributes, in its place. `listener` may be null.
Operation* Remake(Operation* op, std::span<const Value> operands, std::span<const Attribute> slots,
                  IrListener* listener) {
  std::vector<Type> types;
  std::vector<Value> results;
  for (unsigned i = 0; i < op->num_results(); ++i) types.push_back(op->result(i).type());
  std::vector<Block*> successors;
  for (unsigned i = 0; i < op->num_successors(); ++i) successors.push_back(op->successor(i));
  Operation* made = Operation::Create(op->info(), op->location(), types, operands, slots,
                                      successors, op->num_regions());
  if (const Attribute attrs = op->discardable_attrs()) made->SetDiscardableAttrs(attrs);
  for (unsigned i = 0; i < op->num_regions(); ++i) made->region(i).TakeBody(op->region(i));
  for (unsigned i = 0; i < op->num_results(); ++i) results.push_back(made->result(i));
  if (op->block() != nullptr) op->block()->Insert(made, op);
  if (listener != nullptr) {
    listener->Created(made);
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (op->result(i).has_uses()) listener->Replaced(op->result(i), results[i]);
    }
  }
  op->ReplaceAllUsesWith(results);
  if (listener != nullptr) listener->Erasing(op);
  if (op->block() != nullptr) {
    op->Erase();
  } else {
    op->Destroy();
  }
  return made;
}

// The attributes of `op` with the size of one group in operandSegmentSizes.
std::vector<Attribute> WithSegment(const Operation& op, unsigned group, size_t size) {
  std::vector<Attribute> slots(op.slots().begin(), op.slots().end());
  const int slot = op.info().segment_slot();
  if (slot < 0) return slots;
  const std::span<const int64_t> old = slots[static_cast<size_t>(slot)].ints();
  std::vector<int64_t> sizes(old.begin(), old.end());
  sizes[group] = static_cast<int64_t>(size);
  slots[static_cast<size_t>(slot)] = Attribute::Ints(op.context(), DType::kI32, sizes);
  return slots;
}

}  // namespace

void SpliceOps(Operation* first, Operation* end, Block* to, Operation* before) {
  TENON_CHECK(to != nullptr && (before == nullptr || before->block() == to));
  TENON_CHECK(first == nullptr || end == nullptr || first->block() == end->block());
  if (before != nullptr && first != nullptr && before->block() == first->block()) {
    for (const Operation* op = first; op != end && op != nullptr; op = op->next())
      TENON_CHECK_MSG(op != before, "ops cannot move before one of themselves");
  }
  for (Operation *op = first, *next; op != end; op = next) {
    TENON_CHECK_MSG(op != nullptr, "the end of the range does not come behind its start");
    next = op->next();
    op->RemoveFromBlock();
    to->Insert(op, before);
  }
}

Block* SplitBlock(Operation* first) {
  Block* block = first->block();
  TENON_CHECK_MSG(block != nullptr && block->parent() != nullptr,
                  "a block in a region is needed to split it");
  auto owned = std::make_unique<Block>();
  Block* made = owned.get();
  block->parent()->Insert(std::move(owned), block->next());
  SpliceOps(first, nullptr, made, nullptr);
  return made;
}

void InlineBlock(Block* from, Block* to, Operation* before, std::span<const Value> arguments) {
  TENON_CHECK_MSG(from != to, "a block cannot be inlined into itself");
  TENON_CHECK_MSG(!from->has_predecessors(), "the block is a successor of a terminator");
  TENON_CHECK_MSG(arguments.size() == from->num_arguments(), "one value per argument is needed");
  for (unsigned i = 0; i < from->num_arguments(); ++i) {
    if (!from->argument(i).has_uses()) continue;
    TENON_CHECK_MSG(arguments[i] && arguments[i] != from->argument(i),
                    "an argument needs a value from outside of the block");
    from->argument(i).ReplaceAllUsesWith(arguments[i]);
  }
  SpliceOps(from->front(), nullptr, to, before);
  if (from->parent() != nullptr) from->parent()->Remove(from);
}

Operation* SetOperandGroup(Operation* op, unsigned group, std::span<const Value> values) {
  return SetOperandGroup(op, group, values, nullptr);
}

Operation* SetOperandGroup(Operation* op, unsigned group, std::span<const Value> values,
                           IrListener* listener) {
  const std::vector<OperandDef>& groups = op->info().def().operands;
  TENON_CHECK_MSG(group < groups.size(), op->name());
  TENON_CHECK_MSG(groups[group].arity == Arity::kVariadic || values.size() == 1 ||
                      (groups[group].arity == Arity::kOptional && values.empty()),
                  "the operand group cannot have so many values");
  const auto [first, count] = op->operand_group(group);
  const std::vector<Attribute> slots = WithSegment(*op, group, values.size());
  if (values.size() <= count) {
    for (unsigned i = 0; i < values.size(); ++i) op->set_operand(first + i, values[i]);
    EraseOperands(op, first + static_cast<unsigned>(values.size()),
                  count - static_cast<unsigned>(values.size()));
  } else {
    std::vector<Value> operands;
    operands.reserve(op->num_operands() + values.size());
    for (unsigned i = 0; i < first; ++i) operands.push_back(op->operand(i));
    operands.insert(operands.end(), values.begin(), values.end());
    for (unsigned i = first + count; i < op->num_operands(); ++i)
      operands.push_back(op->operand(i));
    return Remake(op, operands, slots, listener);
  }
  for (unsigned i = 0; i < slots.size(); ++i) op->set_slot(i, slots[i]);
  return op;
}

Operation* InsertOperands(Operation* op, unsigned at, std::span<const Value> values) {
  return InsertOperands(op, at, values, nullptr);
}

Operation* InsertOperands(Operation* op, unsigned at, std::span<const Value> values,
                          IrListener* listener) {
  TENON_CHECK_MSG(at <= op->num_operands(), op->name());
  if (values.empty()) return op;
  std::vector<Value> operands;
  operands.reserve(op->num_operands() + values.size());
  for (unsigned i = 0; i < at; ++i) operands.push_back(op->operand(i));
  operands.insert(operands.end(), values.begin(), values.end());
  for (unsigned i = at; i < op->num_operands(); ++i) operands.push_back(op->operand(i));
  return Remake(op, operands, op->slots(), listener);
}

void EraseOperands(Operation* op, unsigned first, unsigned count) {
  TENON_CHECK_MSG(first <= op->num_operands() && count <= op->num_operands() - first, op->name());
  if (count == 0) return;
  for (unsigned i = first; i + count < op->num_operands(); ++i)
    op->set_operand(i, op->operand(i + count));
  for (unsigned i = 0; i < count; ++i) op->EraseOperand(op->num_operands() - 1);
}

void ReplaceAndErase(Operation* op, std::span<const Value> values) {
  op->ReplaceAllUsesWith(values);
  op->Erase();
}

}  // namespace tenon
