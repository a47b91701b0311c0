#include "ir/core/value.h"

#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"
#include "ir/core/use_list.h"

namespace tenon {

// Results lie directly before the operation's header, result i at distance (i + 1).
Operation* Value::owner_op() const {
  return const_cast<Operation*>(reinterpret_cast<const Operation*>(impl_ + result_index() + 1));
}

unsigned Value::result_index() const {
  TENON_CHECK_READ(impl_ != nullptr);
  // A result of a saturated index has at least kMaxIndex others before it, at higher addresses.
  unsigned beyond = 0;
  const ValueImpl* at = impl_;
  while (at->stored_index() == ValueImpl::kMaxIndex) {
    at += ValueImpl::kMaxIndex;
    beyond += ValueImpl::kMaxIndex;
  }
  return at->stored_index() + beyond;
}

Block* Value::argument_owner() const {
  TENON_CHECK_READ(impl_ != nullptr && is_block_argument());
  return static_cast<BlockArgumentImpl*>(impl_)->owner;
}

unsigned Value::argument_index() const {
  TENON_CHECK_READ(impl_ != nullptr && is_block_argument());
  return static_cast<BlockArgumentImpl*>(impl_)->index;
}

Block* Value::parent_block() const {
  TENON_CHECK_READ(impl_ != nullptr);
  return is_block_argument() ? argument_owner() : owner_op()->block();
}

Location Value::location() const {
  return is_block_argument() ? static_cast<BlockArgumentImpl*>(impl_)->location
                             : owner_op()->location();
}

size_t Value::num_uses() const {
  size_t n = 0;
  for (OpOperand* use = impl_->first_use_; use != nullptr; use = use->next_use()) ++n;
  return n;
}

void Value::ReplaceAllUsesWith(Value other) {
  TENON_CHECK(other != *this);
  while (impl_->first_use_ != nullptr) impl_->first_use_->set(other);
}

void Value::ReplaceAllUsesExcept(Value other, const Operation* except) {
  for (OpOperand *use = impl_->first_use_, *next; use != nullptr; use = next) {
    next = use->next_use();
    if (use->owner() != except) use->set(other);
  }
}

Operation* OpOperand::owner() const {
  return const_cast<Operation*>(reinterpret_cast<const Operation*>(this - index())) - 1;
}

unsigned OpOperand::index() const {
  // As for results, in the other direction.
  unsigned beyond = 0;
  const OpOperand* at = this;
  while ((at->back_and_index_ >> 48) == kMaxIndex) at -= kMaxIndex, beyond += kMaxIndex;
  return static_cast<unsigned>(at->back_and_index_ >> 48) + beyond;
}

void OpOperand::set(Value value) {
  Unlink();
  Link(value.impl());
}

}  // namespace tenon
