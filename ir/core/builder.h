// Creates operations at an insertion point.
#ifndef TENON_IR_CORE_BUILDER_H_
#define TENON_IR_CORE_BUILDER_H_

#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/core/block.h"
#include "ir/core/context.h"

namespace tenon {

// The insertion point lies before an op or at the end of a block, and stays there: ops are inserted
// one after the other, each behind the last. Before an op means wherever that op is at the time: it
// may move, but while it is in no block nothing can be inserted, and once it is erased the builder
// needs another point. Without a point (no block was given, or the op was in none) ops are
// made detached, and the caller owns them.
class OpBuilder {
 public:
  explicit OpBuilder(Context& context) : context_(&context) {}
  static OpBuilder AtStart(Context& context, Block* block);
  static OpBuilder AtEnd(Context& context, Block* block);
  static OpBuilder Before(Operation* op);
  static OpBuilder After(Operation* op);

  Context& context() const { return *context_; }
  // Where the next op goes; null without an insertion point.
  Block* block() const { return before_ != nullptr ? before_->block() : block_; }
  // Before the block's first op of now, or at its end if it is empty.
  void SetInsertionPointToStart(Block* block) { block_ = block, before_ = block->front(); }
  void SetInsertionPointToEnd(Block* block) { block_ = block, before_ = nullptr; }
  void SetInsertionPointBefore(Operation* op) { block_ = op->block(), before_ = op; }
  // Before the op that follows `op` now, or at the end of its block; where `op` goes later does not
  // matter.
  void SetInsertionPointAfter(Operation* op) { block_ = op->block(), before_ = op->next(); }
  // Inserts a detached op at the insertion point, if there is one, and returns it.
  Operation* Insert(Operation* op);

  Operation* Create(const OperationState& state) { return Insert(Operation::Create(state)); }

  // Creates a registered op and infers its result types. `slots` by slot, nulls for defaults. The
  // error names the op and its location; nothing is created then.
  absl::StatusOr<Operation*> CreateInferred(const OpInfo& info, Location location,
                                            std::span<const Value> operands,
                                            std::span<const Attribute> slots);

 private:
  Context* context_;
  Block* block_ = nullptr;
  Operation* before_ = nullptr;
};

// Result types by the op's shape function. Slots must be complete (see FillDefaults).
absl::Status InferResultTypes(const OpInfo& info, Location location,
                              std::span<const Value> operands, std::span<const Attribute> slots,
                              ResultTypes& results);
absl::Status InferResultTypes(const OpInfo& info, Location location,
                              std::span<const Type> operand_types, std::span<const Attribute> slots,
                              ResultTypes& results);
// `slots` extended to all slots of `info`, nulls replaced by defaults.
absl::InlinedVector<Attribute, 6> FillDefaults(const OpInfo& info,
                                               std::span<const Attribute> slots);

// From old values and blocks to new ones, for cloning.
class IrMapping {
 public:
  void Map(Value from, Value to) { values_[from.impl()] = to; }
  void Map(Block* from, Block* to) { blocks_[from] = to; }
  // The image, or the argument itself if it has none.
  Value Lookup(Value from) const;
  Block* Lookup(Block* from) const;

 private:
  absl::flat_hash_map<ValueImpl*, Value> values_;
  absl::flat_hash_map<Block*, Block*> blocks_;
};

// A detached deep copy; operands and successors go through `mapping`, which learns the copies.
Operation* Clone(const Operation& op, IrMapping& mapping);
Operation* Clone(const Operation& op);
// Appends copies of all blocks of `from` to `to`.
void CloneRegion(const Region& from, Region& to, IrMapping& mapping);

// An empty module op, and an empty function in it with an entry block (block arguments = inputs).
OwnedOp CreateModule(Context& context, Location location = Location());
Operation* CreateFunction(Operation* module, std::string_view name, Type function_type,
                          Location location = Location());

}  // namespace tenon

#endif  // TENON_IR_CORE_BUILDER_H_
