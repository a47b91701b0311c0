// Operations, their memory layout, and typed access to them.
#ifndef TENON_IR_CORE_OPERATION_H_
#define TENON_IR_CORE_OPERATION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "ir/base/check.h"
#include "ir/core/attribute.h"
#include "ir/core/context/op_info.h"
#include "ir/core/location.h"
#include "ir/core/type.h"
#include "ir/core/value.h"

namespace tenon {

class Block;
class Context;
class Region;
class BlockOperand;

// Everything needed to create an operation.
struct OperationState {
  const OpInfo* info = nullptr;               // the op to create; not null
  Location location;                          // where it comes from
  absl::InlinedVector<Value, 6> operands;     // of all groups, in order
  absl::InlinedVector<Type, 2> result_types;  // one per result
  // By slot of `info`; null and missing ones get their defaults.
  absl::InlinedVector<Attribute, 6> slots;
  Attribute discardable;                      // a dictionary or null
  absl::InlinedVector<Block*, 2> successors;  // blocks of the same region
  unsigned num_regions = 0;                   // made empty
};

// One operation: results, operands, attributes, successors and regions. It is one allocation. From
// low to high addresses lie the results in reverse order (16 bytes each) and this header (48). Then
// follow operands (24 each), attribute slots (8 each), successors (32 each) and regions (24 each).
//
// A block owns its operations; the caller owns a detached one. The address of an operation and the
// Values of its results stay valid until it is destroyed, also when it moves. Destroying it does
// not clear handles to it.
//
// Print, Clone and const functions may run in several threads on IR that nobody changes, with two
// exceptions. IsBeforeInBlock must not run beside Print or Clone. Clone must not run beside others
// if the copied op uses values from outside, because it changes their use lists. Different threads
// may change the contents of different ops that have the trait kIsolatedFromAbove, such as
// functions.
//
// Debug builds check every index. Release builds check those of which a comment says so.
class Operation {
 public:
  // Creates a detached operation, which the caller owns. Verifies nothing. Null and missing slots
  // get their defaults. Requires at most kMaxOperands operands, and so on (below).
  static Operation* Create(const OperationState& state);
  static Operation* Create(const OpInfo& info, Location location,
                           std::span<const Type> result_types, std::span<const Value> operands,
                           std::span<const Attribute> slots,
                           std::span<Block* const> successors = {}, unsigned num_regions = 0);
  // Destroys a detached operation and everything in it. Its results must have no uses: debug builds
  // abort, release builds set those uses to null.
  void Destroy();
  // Removes the operation from its block and destroys it. Requires what Destroy requires.
  void Erase();

  OpId id() const { return info_->id(); }                         // The hash of name().
  const OpInfo& info() const { return *info_; }                   // The definition.
  std::string_view name() const { return info_->name(); }         // With its dialect: "ten.add".
  Context& context() const { return info_->context(); }           // The owner of its memory.
  Location location() const { return location_; }                 // Where it comes from.
  void set_location(Location location) { location_ = location; }  // Must belong to context().
  // True if the definition has `trait`; false for unregistered ops.
  bool Has(Trait trait) const { return info_->Has(trait); }

  // ---- operands, by position and by operand group of the definition
  unsigned num_operands() const { return num_operands_; }  // The number of operands in all groups.
  // Operand `i`; null if it is dropped.
  Value operand(unsigned i) const {
    TENON_DCHECK(i < num_operands_);
    return operand_storage()[i].get();
  }
  // Makes operand `i` refer to `value`, which may be null.
  void set_operand(unsigned i, Value value) {
    TENON_DCHECK(i < num_operands_);
    operand_storage()[i].set(value);
  }
  // All operands in order. Valid until the operation is destroyed or loses an operand.
  std::span<OpOperand> operands() const { return {operand_storage(), num_operands_}; }
  // The position of the first operand of a group, and their number. Requires a registered op whose
  // operand count fits its definition.
  std::pair<unsigned, unsigned> operand_group(unsigned group) const;
  // The value of a single or optional group; null if it is absent. Requires the same.
  Value operand_or_null(unsigned group) const;
  // Removes operand `i` and moves later ones down. The caller must update operandSegmentSizes, if
  // the op has it. The memory of the operand stays with the operation. Checks `i`.
  void EraseOperand(unsigned i);

  // ---- results
  unsigned num_results() const { return num_results_; }  // The number of results.
  // Result `i`.
  Value result(unsigned i = 0) const {
    TENON_DCHECK(i < num_results_);
    return Value(reinterpret_cast<ValueImpl*>(const_cast<Operation*>(this)) - (i + 1));
  }
  // True if any result has uses.
  bool has_uses() const;
  // Replaces all uses of all results. Requires one value per result; the value of a result without
  // uses is ignored.
  void ReplaceAllUsesWith(std::span<const Value> values);

  // ---- attributes
  unsigned num_slots() const { return num_slots_; }  // The number of inherent attributes.
  // Inherent attribute `i`; null if it is empty.
  Attribute slot(unsigned i) const {
    TENON_DCHECK(i < num_slots_);
    return slot_storage()[i];
  }
  // Sets an inherent attribute. Null restores the default, and empties a slot without one. Checks
  // `i`.
  void set_slot(unsigned i, Attribute value);
  // All inherent attributes by slot.
  std::span<const Attribute> slots() const { return {slot_storage(), num_slots_}; }
  // Returns an inherent or discardable attribute by name; null if there is none.
  Attribute attr(std::string_view name) const;
  // Sets an attribute. It is inherent if the definition, or the properties of an unregistered op,
  // have that name; otherwise it is discardable. Null removes it; a slot gets its default.
  void SetAttr(std::string_view name, Attribute value);
  // Discardable attributes as a dictionary; null if there are none.
  Attribute discardable_attrs() const;
  // Replaces all of them. Null or an empty dictionary removes them.
  void SetDiscardableAttrs(Attribute dictionary_or_null);

  // ---- successors and regions
  unsigned num_successors() const { return num_successors_; }  // At most kMaxSuccessors.
  // Returns successor `i`, which may be null. Checks `i`.
  Block* successor(unsigned i) const;
  void set_successor(unsigned i, Block* block);  // `block` may be null. Checks `i`.
  // The operands that become the arguments of successor `i`: first position and count.
  std::pair<unsigned, unsigned> successor_operands(unsigned i) const;
  unsigned num_regions() const { return num_regions_; }  // At most kMaxRegions.
  Region& region(unsigned i = 0) const;                  // Checks `i`.

  // ---- position
  // The block that holds the operation; null for a detached one.
  Block* block() const { return block_; }
  Operation* next() const { return next_; }  // The next op of the block; null at its end.
  Operation* prev() const { return prev_; }  // The previous op; null at the start.
  // The operation that owns the surrounding region; null at the top.
  Operation* parent_op() const;
  Region* parent_region() const;  // The surrounding region; null if there is none.
  // Moves the operation, which may be detached, before `other`, another op that is in a block.
  void MoveBefore(Operation* other);
  void MoveAfter(Operation* other);  // The same, behind `other`.
  // Detaches the operation without destroying it. The caller owns it afterward.
  void RemoveFromBlock();
  // True if the operation comes before `other`. Requires two ops of one block. Takes amortized
  // constant time.
  bool IsBeforeInBlock(const Operation* other) const;
  // True if `other` is this operation or lies in one of its regions.
  bool IsAncestorOf(const Operation* other) const;
  // The position in the block, from 0. Requires that the block is unchanged since
  // Block::Renumber().
  size_t position_after_renumbering() const;

  // ---- traversal
  // Calls `f` for every operation in the regions, however deep, and last for this one: post-order.
  // `f` may erase or move the operation that it gets, and insert before it. It must not erase the
  // one after it.
  void Walk(const std::function<void(Operation*)>& f);
  // Pre-order: this operation first. If `f` returns false, the walk stops and returns false. `f`
  // must not erase the operation that it gets, nor the one after it.
  bool WalkPreOrder(const std::function<bool(Operation*)>& f);

  // The generic text without the bytes of large constants, for messages and debuggers.
  std::string text() const;

  // The size of an operation's allocation in bytes.
  static size_t AllocationSize(unsigned operands, unsigned results, unsigned slots,
                               unsigned successors, unsigned regions);

 private:
  friend class Block;
  friend class OpOperand;
  friend class Value;
  friend class BlockOperand;

  Operation(const OpInfo& info, Location location, unsigned operands, unsigned results,
            unsigned slots, unsigned successors, unsigned regions);
  OpOperand* operand_storage() const {
    return reinterpret_cast<OpOperand*>(const_cast<Operation*>(this) + 1);
  }
  Attribute* slot_storage() const {
    return reinterpret_cast<Attribute*>(operand_storage() + num_operands_cap());
  }
  BlockOperand* successor_storage() const;
  Region* region_storage() const;
  // Operands for which Create made room. The number of erased ones is kept in the room of the first
  // of them.
  unsigned num_operands_cap() const {
    return num_operands_ + (has_erased_operands_ ? num_erased_operands() : 0);
  }
  uint32_t& num_erased_operands() const {
    return *reinterpret_cast<uint32_t*>(operand_storage() + num_operands_);
  }

  uint32_t order() const { return order_.load(std::memory_order_relaxed); }
  void set_order(uint32_t order) const { order_.store(order, std::memory_order_relaxed); }

  const OpInfo* info_;
  Block* block_ = nullptr;
  Operation* prev_ = nullptr;
  Operation* next_ = nullptr;
  Location location_;
  mutable std::atomic<uint32_t> order_ = 0;  // written by readers too: Block::Renumber
  uint32_t num_operands_ : 31;
  uint32_t has_erased_operands_ : 1;
  uint16_t num_results_;
  uint8_t num_slots_;
  uint8_t num_successors_ : 3;
  uint8_t num_regions_ : 4;
  mutable uint8_t has_discardable_ : 1;
};
static_assert(sizeof(ValueImpl) == 16 && sizeof(OpOperand) == 24);

// Limits of one operation. Parser, importer and Context::RegisterDialect refuse more.
inline constexpr unsigned kMaxOperands = (1u << 20) - 1;
inline constexpr unsigned kMaxResults = 65535;  // See kMaxOperands.
inline constexpr unsigned kMaxSuccessors = 7;   // See kMaxOperands.
inline constexpr unsigned kMaxRegions = 15;     // See kMaxOperands.

// Lets OwnedOp destroy its operation.
struct OperationDeleter {
  void operator()(Operation* op) const { op->Destroy(); }  // Requires a detached op.
};
// Owns a detached operation, usually a module.
using OwnedOp = std::unique_ptr<Operation, OperationDeleter>;

// The base of generated op classes: a copyable handle with typed access to an operation. Each
// generated class has a constant kId, the OpId of its op. The functions below compare it to tell
// whether an operation is of that class.
class OpHandle {
 public:
  OpHandle() = default;
  explicit OpHandle(Operation* op) : op_(op) {}              // Does not check the class.
  Operation* op() const { return op_; }                      // Null for a null handle.
  Operation* operator->() const { return op_; }              // Requires a handle that is not null.
  explicit operator bool() const { return op_ != nullptr; }  // False for a null handle.

 protected:
  Operation* op_ = nullptr;  // not owned
};

// True if `op` is not null and is of class Op.
template <typename Op>
bool Isa(const Operation* op) {
  return op != nullptr && op->id() == Op::kId;
}
// True if `op` is of class Op.
template <typename Op>
bool Isa(const Operation& op) {
  return op.id() == Op::kId;
}
// The op as class Op; a null handle if it is of another.
template <typename Op>
Op DynCast(Operation* op) {
  return Isa<Op>(op) ? Op(op) : Op();
}
// The op as class Op, which it must be; ends the program otherwise.
template <typename Op>
Op Cast(Operation* op) {
  TENON_CHECK(Isa<Op>(op));
  return Op(op);
}
// The operation that defines `value`, as class Op. A null handle if it is of another class, or if
// `value` is null or a block argument.
template <typename Op>
Op DefinedBy(Value value) {
  return value ? DynCast<Op>(value.defining_op()) : Op();
}

// One folded result. Exactly one member is set.
struct FoldResult {
  Value value;          // an existing value
  Attribute attribute;  // a constant
};

}  // namespace tenon

#endif  // TENON_IR_CORE_OPERATION_H_
