// SSA values and their uses.
#ifndef TENON_IR_CORE_VALUE_H_
#define TENON_IR_CORE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "ir/core/location.h"
#include "ir/core/type.h"

namespace tenon {

class Block;
class Operation;
class OpOperand;
class Value;

// Storage of a value, 16 bytes. The upper 16 bits of the type pointer hold the result index,
// saturated at kMaxIndex, a flag for block arguments and one for values with a name: user-space
// addresses fit 48 bits.
class ValueImpl {
 public:
  // See Value::type.
  Type type() const {
    return Type(reinterpret_cast<const TypeStorage*>(type_and_index_ & kPointerMask));
  }
  // See Value::set_type.
  void set_type(Type type) {
    type_and_index_ =
        (type_and_index_ & ~kPointerMask) | reinterpret_cast<uintptr_t>(type.storage());
  }
  // See Value::is_block_argument.
  bool is_block_argument() const { return (type_and_index_ & kArgumentFlag) != 0; }
  // See Value::has_name.
  bool has_name() const { return (type_and_index_ & kNamedFlag) != 0; }

 private:
  friend class Block;
  friend class BlockArgumentImpl;
  friend class OpOperand;
  friend class Operation;
  friend class Value;

  static constexpr uintptr_t kPointerMask = (uintptr_t{1} << 48) - 1;
  static constexpr uintptr_t kArgumentFlag = uintptr_t{1} << 63;
  static constexpr uintptr_t kNamedFlag = uintptr_t{1} << 62;
  static constexpr unsigned kMaxIndex = 0x3fff;

  ValueImpl(Type type, unsigned index, bool argument)
      : type_and_index_(reinterpret_cast<uintptr_t>(type.storage()) |
                        (uintptr_t{index < kMaxIndex ? index : kMaxIndex} << 48) |
                        (argument ? kArgumentFlag : 0)) {}
  unsigned stored_index() const { return static_cast<unsigned>(type_and_index_ >> 48) & kMaxIndex; }
  void DropName();  // at the end of the value, and for a value without a name

  OpOperand* first_use_ = nullptr;
  uintptr_t type_and_index_;
};

// Storage of a block argument.
class BlockArgumentImpl : public ValueImpl {
 public:
  // For Block::AddArgument.
  BlockArgumentImpl(Type type, Block* owner, uint32_t index, Location location)
      : ValueImpl(type, 0, true), owner(owner), index(index), location(location) {}
  ~BlockArgumentImpl() {
    if (has_name()) DropName();
  }
  Block* owner;       // the block that has the argument
  uint32_t index;     // its position in the block
  Location location;  // where it comes from
};

// A handle to the result of an operation or to an argument of a block. It stays valid until the op
// or argument is destroyed; handles are not cleared then. A default-constructed handle is null:
// test it before other calls.
class Value {
 public:
  Value() = default;
  explicit Value(ValueImpl* impl) : impl_(impl) {}  // Null makes a null handle.

  Type type() const { return impl_->type(); }  // Never null in valid IR.
  // The type is not checked; the verifier compares it with the shape function.
  void set_type(Type type) { impl_->set_type(type); }

  // True for the argument of a block.
  bool is_block_argument() const { return impl_->is_block_argument(); }
  // True for the result of an operation.
  bool is_result() const { return !impl_->is_block_argument(); }
  // The operation that computes the value; null for a block argument.
  Operation* defining_op() const { return is_result() ? owner_op() : nullptr; }
  // The position among the results of its operation. Requires is_result().
  unsigned result_index() const;
  // The block of the argument. Requires is_block_argument().
  Block* argument_owner() const;
  // The position in that block. Requires is_block_argument().
  unsigned argument_index() const;
  // The block of the op, or the block of the argument. Null if the op is detached.
  Block* parent_block() const;
  Location location() const;  // Of the operation or the argument.

  // A name is a hint for people: the printer shows the value under it. It changes no meaning, and
  // several values may have one name. Clones have it too, and ReplaceAllUsesWith hands it on.
  bool has_name() const { return impl_->has_name(); }
  // The name without "%"; empty if there is none.
  std::string name() const;
  // Sets the name. Characters that no name in text may have become "_". Empty text removes the
  // name, as do those that the printer itself gives: numbers, and "arg" with a number.
  void set_name(std::string_view name);

  class UseIterator;
  struct UseRange;
  // All uses, the most recent first. Setting an operand removes its use from the list, so read
  // next_use() before.
  UseRange uses() const;
  bool has_uses() const { return impl_->first_use_ != nullptr; }  // True if it is an operand.
  bool has_one_use() const;  // True if it is the value of exactly one operand.
  // Takes time linear in the number of uses.
  size_t num_uses() const;
  // Makes all uses refer to `other`, which must be a different value. Types may differ; the
  // verifier checks them. `other` takes over the name, if it has none.
  void ReplaceAllUsesWith(Value other);
  // The same, but keeps the uses by the op `except`.
  void ReplaceAllUsesExcept(Value other, const Operation* except);

  explicit operator bool() const { return impl_ != nullptr; }  // False for a null handle.
  bool operator==(const Value&) const = default;
  ValueImpl* impl() const { return impl_; }  // Identity, for hashing.

 private:
  Operation* owner_op() const;
  ValueImpl* impl_ = nullptr;
};

// One operand of an operation: a link in the use list of its value. The upper 16 bits of the back
// link hold its index, from which the owner follows.
class OpOperand {
 public:
  // Null for an operand whose value has been destroyed or dropped.
  Value get() const { return Value(value_); }
  // Makes the operand refer to `value`, which may be null.
  void set(Value value);
  Operation* owner() const;                      // The operation that has the operand.
  unsigned index() const;                        // The position in its operation.
  OpOperand* next_use() const { return next_; }  // Null at the end of the list.

  OpOperand(const OpOperand&) = delete;
  OpOperand& operator=(const OpOperand&) = delete;

 private:
  friend class Operation;
  friend class Value;
  static constexpr uintptr_t kPointerMask = (uintptr_t{1} << 48) - 1;
  static constexpr unsigned kMaxIndex = 0xffff;

  explicit OpOperand(unsigned index)
      : back_and_index_(uintptr_t{index < kMaxIndex ? index : kMaxIndex} << 48) {}
  void Link(ValueImpl* value);
  void Unlink();
  OpOperand** back() const { return reinterpret_cast<OpOperand**>(back_and_index_ & kPointerMask); }
  void set_back(OpOperand** back) {
    back_and_index_ = (back_and_index_ & ~kPointerMask) | reinterpret_cast<uintptr_t>(back);
  }

  ValueImpl* value_ = nullptr;
  OpOperand* next_ = nullptr;
  uintptr_t back_and_index_;
};

// Iterates over the uses of a value. An iterator is valid while its operand has that value.
class Value::UseIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = OpOperand;
  using reference = OpOperand&;
  using pointer = OpOperand*;
  using iterator_category = std::forward_iterator_tag;
  UseIterator() = default;
  explicit UseIterator(OpOperand* use) : use_(use) {}  // Null is the end.
  OpOperand& operator*() const { return *use_; }       // Requires that this is not the end.
  OpOperand* operator->() const { return use_; }       // The same.
  // Moves to the next use. Requires that this is not the end.
  UseIterator& operator++() {
    use_ = use_->next_use();
    return *this;
  }
  // The same, but returns a copy made before the move.
  UseIterator operator++(int) {
    UseIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const UseIterator&) const = default;

 private:
  OpOperand* use_ = nullptr;
};

// The uses of a value, for range-based loops.
struct Value::UseRange {
  OpOperand* first;                                         // null if there is no use
  UseIterator begin() const { return UseIterator(first); }  // At the first use.
  UseIterator end() const { return UseIterator(); }         // Behind the last use.
};

inline Value::UseRange Value::uses() const { return {impl_->first_use_}; }
inline bool Value::has_one_use() const {
  return impl_->first_use_ != nullptr && impl_->first_use_->next_use() == nullptr;
}

}  // namespace tenon

#endif  // TENON_IR_CORE_VALUE_H_
