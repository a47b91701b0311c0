// Creating operations at an insertion point.
#ifndef TENON_IR_CORE_BUILDER_H_
#define TENON_IR_CORE_BUILDER_H_

#include <span>

#include "absl/status/statusor.h"
#include "ir/core/block.h"
#include "ir/core/clone.h"  // IWYU pragma: export
#include "ir/core/context/context.h"
#include "ir/core/rewrite/ir_listener.h"

namespace tenon {

// Creates operations and inserts them at its insertion point. The point lies before an op or at the
// end of a block. It stays there: ops are inserted one after the other. A point before an op
// follows that op when it moves. While that op is in no block, nothing can be inserted; after it is
// erased, set another point. A builder without a point makes detached ops, which the caller owns.
class OpBuilder {
 public:
  explicit OpBuilder(Context& context) : context_(&context) {}  // Has no insertion point.
  static OpBuilder AtStart(Context& context, Block* block);     // See SetInsertionPointToStart.
  static OpBuilder AtEnd(Context& context, Block* block);       // See SetInsertionPointToEnd.
  static OpBuilder Before(Operation* op);                       // See SetInsertionPointBefore.
  static OpBuilder After(Operation* op);                        // See SetInsertionPointAfter.

  Context& context() const { return *context_; }  // The Context of the ops.
  // The block that gets the next op; null without an insertion point.
  Block* block() const { return before_ != nullptr ? before_->block() : block_; }
  // Before the first op that `block` has now, or at its end if it is empty.
  void SetInsertionPointToStart(Block* block) { block_ = block, before_ = block->front(); }
  // At the end of `block`.
  void SetInsertionPointToEnd(Block* block) { block_ = block, before_ = nullptr; }
  // Before `op`, an op in a block. The point follows `op` if it moves.
  void SetInsertionPointBefore(Operation* op) { block_ = op->block(), before_ = op; }
  // Before the op that follows `op` now, or at the end of the block. The point does not follow `op`
  // if it moves later.
  void SetInsertionPointAfter(Operation* op) { block_ = op->block(), before_ = op->next(); }
  // Without an insertion point from now on.
  void ClearInsertionPoint() { block_ = nullptr, before_ = nullptr; }
  // Is told of each op that the builder creates or inserts; null for nobody. Copies of the builder
  // have the same listener, which must outlive them all.
  IrListener* listener() const { return listener_; }
  void set_listener(IrListener* listener) { listener_ = listener; }  // See listener.
  // Inserts a detached op, if there is an insertion point, and returns it. Tells the listener.
  Operation* Insert(Operation* op);

  // Creates an op from `state` without any check, and inserts it.
  Operation* Create(const OperationState& state) { return Insert(Operation::Create(state)); }

  // Creates a registered op whose result types follow from its shape function. `operands` are in
  // the order of the definition. `slots` holds attributes by slot; null or missing ones get their
  // defaults.
  //
  // Emits an error at `location` and returns InvalidArgument if operands or attributes do not fit
  // the definition or the shape function refuses them. Nothing is created then. Generated classes
  // (`ten::AddOp::Create`) call this.
  absl::StatusOr<Operation*> CreateInferred(const OpInfo& info, Location location,
                                            std::span<const Value> operands,
                                            std::span<const Attribute> slots);

 protected:
  Block* block_ = nullptr;       // the end of it is the insertion point, unless `before_` is set
  Operation* before_ = nullptr;  // the op before which ops are inserted

 private:
  Context* context_;
  IrListener* listener_ = nullptr;
};

// Computes the result types of an op by its shape function. `slots` must be complete (see
// FillDefaults), and operands must not be null. FailedPrecondition if the op has no shape function;
// InvalidArgument if the operands do not fit the definition; else the error of the shape function.
// Emits no diagnostic.
absl::Status InferResultTypes(const OpInfo& info, Location location,
                              std::span<const Value> operands, std::span<const Attribute> slots,
                              ResultTypes& results);
absl::Status InferResultTypes(const OpInfo& info, Location location,
                              std::span<const Type> operand_types, std::span<const Attribute> slots,
                              ResultTypes& results);
// Returns `slots` extended to all slots of `info`, with nulls replaced by defaults. A slot without
// a default stays null.
absl::InlinedVector<Attribute, 6> FillDefaults(const OpInfo& info,
                                               std::span<const Attribute> slots);

// Returns an empty module. Ends the program if the dialect builtin is not registered.
OwnedOp CreateModule(Context& context, Location location = Location());
// Adds a function to `module` and returns it; the module owns it. `function_type` must be a
// function type. The function has an empty entry block with one argument per input; add a
// terminator. Ends the program if the dialect func is not registered.
Operation* CreateFunction(Operation* module, std::string_view name, Type function_type,
                          Location location = Location());

}  // namespace tenon

#endif  // TENON_IR_CORE_BUILDER_H_
