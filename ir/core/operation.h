// Operations: one allocation each, holding results, header, operands, attribute slots, successors,
// regions.
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
#include "ir/core/attribute.h"
#include "ir/core/check.h"
#include "ir/core/location.h"
#include "ir/core/op_info.h"
#include "ir/core/type.h"
#include "ir/core/value.h"

namespace tenon {

class Block;
class Context;
class Region;
class BlockOperand;

// Everything needed to create an operation.
struct OperationState {
  const OpInfo* info = nullptr;
  Location location;
  absl::InlinedVector<Value, 6> operands;
  absl::InlinedVector<Type, 2> result_types;
  // By slot of `info`; missing ones are filled with defaults.
  absl::InlinedVector<Attribute, 6> slots;
  Attribute discardable;  // dictionary or null
  absl::InlinedVector<Block*, 2> successors;
  unsigned num_regions = 0;
};

// Memory, from low to high addresses: results in reverse order (16 bytes each), this header (48),
// operands (24 each), attribute slots (8 each), successors (32 each), regions (24 each).
//
// An operation is owned by its block, a detached one by whoever made it. Its address, and with it
// the Values of its results, stay valid until it is destroyed, also when it moves; handles are not
// counted. Print, Clone and const functions may run in several threads on IR that nobody changes
// (IsBeforeInBlock not beside the first two; Clone only of what uses no values of others, whose use
// lists it changes). One thread at a time changes what is below an op isolated from above.
class Operation {
 public:
  // Creates a detached operation in its context's pool. Nothing is verified.
  static Operation* Create(const OperationState& state);
  static Operation* Create(const OpInfo& info, Location location,
                           std::span<const Type> result_types, std::span<const Value> operands,
                           std::span<const Attribute> slots,
                           std::span<Block* const> successors = {}, unsigned num_regions = 0);
  // Frees a detached operation and all in it. REQUIRES: no uses of its results (else: left null).
  void Destroy();
  // Removes from its block and destroys. REQUIRES: as Destroy.
  void Erase();

  OpId id() const { return info_->id(); }
  const OpInfo& info() const { return *info_; }
  std::string_view name() const { return info_->name(); }
  Context& context() const { return info_->context(); }
  Location location() const { return location_; }
  void set_location(Location location) { location_ = location; }
  bool Has(Trait trait) const { return info_->Has(trait); }

  // ---- operands, by position and by group of the definition
  unsigned num_operands() const { return num_operands_; }
  Value operand(unsigned i) const { return operand_storage()[i].get(); }
  void set_operand(unsigned i, Value value) { operand_storage()[i].set(value); }
  std::span<OpOperand> operands() const { return {operand_storage(), num_operands_}; }
  // First operand and size of a group of the definition. REQUIRES: registered op with valid
  // segments.
  std::pair<unsigned, unsigned> operand_group(unsigned group) const;
  // The value of a single or optional group; null if absent.
  Value operand_or_null(unsigned group) const;
  // Removes operand i and moves up those after it; the caller keeps segment sizes right. The room
  // stays with the operation.
  void EraseOperand(unsigned i);

  // ---- results
  unsigned num_results() const { return num_results_; }
  Value result(unsigned i = 0) const {
    return Value(reinterpret_cast<ValueImpl*>(const_cast<Operation*>(this)) - (i + 1));
  }
  bool has_uses() const;
  // Replaces all uses of all results. REQUIRES: values.size() == num_results().
  void ReplaceAllUsesWith(std::span<const Value> values);

  // ---- attributes
  unsigned num_slots() const { return num_slots_; }
  Attribute slot(unsigned i) const { return slot_storage()[i]; }
  // Null gives the slot its default again, and leaves it empty where there is none.
  void set_slot(unsigned i, Attribute value);
  std::span<const Attribute> slots() const { return {slot_storage(), num_slots_}; }
  // Inherent or discardable attribute by name; null if absent.
  Attribute attr(std::string_view name) const;
  // Sets an inherent attribute if the definition, or the properties of an unregistered op, have one
  // of that name, a discardable one otherwise. Null takes it away: a slot gets its default again.
  void SetAttr(std::string_view name, Attribute value);
  Attribute discardable_attrs() const;  // dictionary, or null if there is none
  void SetDiscardableAttrs(Attribute dictionary_or_null);

  // ---- successors and regions
  unsigned num_successors() const { return num_successors_; }
  Block* successor(unsigned i) const;
  void set_successor(unsigned i, Block* block);
  // Operands passed to successor i's arguments: first and count.
  std::pair<unsigned, unsigned> successor_operands(unsigned i) const;
  unsigned num_regions() const { return num_regions_; }
  Region& region(unsigned i = 0) const;

  // ---- position
  Block* block() const { return block_; }
  Operation* next() const { return next_; }
  Operation* prev() const { return prev_; }
  Operation* parent_op() const;  // op that owns the region it is in; null at the top
  Region* parent_region() const;
  void MoveBefore(Operation* other);
  void MoveAfter(Operation* other);
  void RemoveFromBlock();  // detaches without destroying
  // REQUIRES: same block. Amortised constant time.
  bool IsBeforeInBlock(const Operation* other) const;
  bool IsAncestorOf(const Operation* other) const;  // or equal
  // Position in its block. REQUIRES: Block::Renumber() was called and the block is unchanged since.
  size_t position_after_renumbering() const;

  // ---- traversal
  // Post-order (regions first) over all ops below and including this one, nested however deep; `f`
  // may erase or move the op it gets, and insert before it, but not erase the op after it.
  void Walk(const std::function<void(Operation*)>& f);
  // Pre-order; returning false stops and makes the walk return false. `f` must not erase the op it
  // gets, nor the one after it.
  bool WalkPreOrder(const std::function<bool(Operation*)>& f);

  std::string text() const;  // generic form, for messages and debuggers

  // Bytes of an operation's allocation.
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
  // Operands that Create made room for. How many are erased stands in the room of the first of
  // them.
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

// Limits of one operation: parser, importers and Context::RegisterDialect refuse more.
inline constexpr unsigned kMaxOperands = (1u << 20) - 1;
inline constexpr unsigned kMaxResults = 65535;
inline constexpr unsigned kMaxSuccessors = 7;
inline constexpr unsigned kMaxRegions = 15;

struct OperationDeleter {
  void operator()(Operation* op) const { op->Destroy(); }
};
// Owns a detached operation, usually a module.
using OwnedOp = std::unique_ptr<Operation, OperationDeleter>;

// Typed access to operations: a copyable handle from which the generated classes derive. Each of
// them has a constant kId, the OpId of its operation, by which the functions below tell whether an
// operation is one of that class.
class OpHandle {
 public:
  OpHandle() = default;
  explicit OpHandle(Operation* op) : op_(op) {}
  Operation* op() const { return op_; }
  Operation* operator->() const { return op_; }
  explicit operator bool() const { return op_ != nullptr; }

 protected:
  Operation* op_ = nullptr;
};

template <typename Op>
bool Isa(const Operation* op) {
  return op != nullptr && op->id() == Op::kId;
}
template <typename Op>
bool Isa(const Operation& op) {
  return op.id() == Op::kId;
}
template <typename Op>
Op DynCast(Operation* op) {
  return Isa<Op>(op) ? Op(op) : Op();
}
template <typename Op>
Op Cast(Operation* op) {
  TENON_CHECK(Isa<Op>(op));
  return Op(op);
}
// The op of that kind which defines the value; a null handle otherwise.
template <typename Op>
Op DefinedBy(Value value) {
  return value ? DynCast<Op>(value.defining_op()) : Op();
}

struct FoldResult {
  Value value;          // an existing value …
  Attribute attribute;  // … or a constant
};

}  // namespace tenon

#endif  // TENON_IR_CORE_OPERATION_H_
